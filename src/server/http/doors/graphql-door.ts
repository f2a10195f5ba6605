// The door of GraphQL over HTTP: passes a request for /graphql to its transport.

import type { Door } from './door.ts'
import { forgeryRefusal } from '../guard.ts'
import { asksForStream, mediaRefusal } from '../media-types.ts'
import { answerPost, type PostServices } from '../post.ts'

export function createGraphqlDoor(services: PostServices): Door {
  const { yoga, streams } = services
  return {
    refusalOf: ({ method, headers }) => mediaRefusal(method, headers) ?? forgeryRefusal(headers),
    hasBody: ({ method }) => method === 'POST',
    async answer(visit) {
      const { request, response, identity, body, leave } = visit
      if (body) return answerPost(services, { ...visit, body })
      response.once('close', leave)
      const mayStream = request.method === 'GET' && asksForStream(request.headers.accept)
      if (mayStream && (await streams.answer(identity, request, response, null, leave))) return
      await yoga(request, response, { viewer: identity.viewer })
    },
  }
}
