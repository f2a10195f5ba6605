// The door of GraphQL over HTTP: passes a request for /graphql to its transport.

import type { GraphQLError } from 'graphql'
import type { ServerResponse } from 'node:http'
import type { Door } from './door.ts'
import { forgeryRefusal } from './guard.ts'
import { asksForStream, mediaRefusal } from './media-types.ts'
import { answerPost, type PostServices } from './post.ts'

type Services = PostServices & {
  mask(error: unknown): GraphQLError
  /** Answers a request whose handling has rejected. */
  fail(response: ServerResponse): (error: unknown) => void
}

export function createGraphqlDoor(services: Services): Door {
  const { yoga, streams, fail } = services
  return {
    refusalOf: ({ method, headers }) => mediaRefusal(method, headers) ?? forgeryRefusal(headers),
    hasBody: ({ method }) => method === 'POST',
    answer(request, response, identity, leave) {
      if (request.method === 'POST') return answerPost(services, identity, request, response, leave)
      response.once('close', leave)
      const { viewer } = identity
      if (request.method !== 'GET' || !asksForStream(request.headers.accept)) {
        return void yoga(request, response, { viewer })
      }
      const answered = streams.answer(identity, request, response, null, leave)
      answered
        .then((isAnswered) => (isAnswered ? undefined : yoga(request, response, { viewer })))
        .catch(fail(response))
    },
  }
}
