// Configures graphql-yoga: the schema, plugins, masked errors, and the context of each request.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { GraphQLError } from 'graphql'
import { createYoga } from 'graphql-yoga'
import type { ServerConfig } from './server-config.ts'
import type { Deps } from '../domain/deps.ts'
import type { PresenceHolder } from '../domain/presence.ts'
import type { Viewer } from '../domain/view.ts'
import { toGraphQLError } from '../graphql/errors.ts'
import { useCoercionInSteps } from '../graphql/coerce-in-steps.ts'
import { checkExecutor } from '../graphql/limits/executor-check.ts'
import { useLimits } from '../graphql/limits/plugin.ts'
import { useNestedRefusals } from '../graphql/nested-refusals.ts'
import { usePlans } from '../graphql/plan/plugin.ts'
import type { Client, HeldAnswer } from '../graphql/limits/work.ts'
import { createRequestContext, type RequestContext } from '../graphql/request.ts'
import { schema } from '../graphql/schema.ts'
import { useView } from '../graphql/view/plugin.ts'
import { useBatchBodies } from './batch-body.ts'
import { useFailures, withCode } from './failures.ts'
import { useParsedBody, type WithBody } from './parsed-body.ts'
import { useDocumentCounts, useMeasures } from './measure.ts'
import { createDocumentCache, useKnownDocuments, type WithResult, type KnownDocuments } from './known-documents.ts'
import { useLargeAnswers } from './large-answers.ts'
import { holdAnswerOf } from './unread-data.ts'

/**
 * The context of an operation over a WebSocket: the socket's presence holder, whether the operation has ended, and a
 * function that releases a large answer when it has been written.
 */
export type Connected = { holder: PresenceHolder; isGone(): boolean; holdAnswer(answer: HeldAnswer): void }

/** The context of any operation. http.ts and ws.ts determine the viewer. */
type ServerContext = { viewer: Viewer; req?: IncomingMessage; res?: ServerResponse } & Partial<Connected>
  & WithResult
  & WithBody

/** Returns a function that logs an unexpected error and hides it from clients; expected errors keep their code. */
export const maskWith =
  (deps: Deps) =>
  (error: unknown): GraphQLError => {
    const original = error instanceof GraphQLError ? error.originalError : error
    const expected = toGraphQLError(error)
    if (expected) return expected
    // Syntax, validation and coercion errors are caused by the client, and reveal nothing.
    if (error instanceof GraphQLError && (!original || original instanceof GraphQLError)) return withCode(error)
    deps.log.error({ err: original }, 'unexpected error')
    const { nodes, source, positions, path } = error instanceof GraphQLError ? error : ({} as Partial<GraphQLError>)
    const extensions = { code: 'INTERNAL_SERVER_ERROR' }
    return new GraphQLError('Unexpected error.', { nodes, source, positions, path, extensions })
  }

/** Returns the client of an operation over HTTP. */
const clientOf = (response: ServerResponse, viewer: Viewer): Client => ({
  isGone: () => response.destroyed && !response.writableFinished,
  holdAnswer: (answer) => holdAnswerOf(response, viewer, answer),
})

/** A cache that stores nothing. Syntax errors are not cached, because clients could fill the memory with them. */
const NO_CACHE = { get: () => undefined, set() {} }

/** Creates the yoga server. Adds each document that yoga validates to `documents`. @throws WrongExecutor */
export function createYogaServer(
  deps: Deps,
  config: ServerConfig,
  mask: (error: unknown) => GraphQLError,
  documents: KnownDocuments,
) {
  checkExecutor()
  return createYoga<ServerContext, RequestContext>({
    schema,
    graphqlEndpoint: '/graphql',
    landingPage: false,
    batching: false,
    multipart: false,
    logging: false,
    cors: config.allowedOrigins.length ? { origin: [...config.allowedOrigins], credentials: false } : false,
    maskedErrors: { maskError: mask },
    // graphiql-page.ts serves GraphiQL.
    graphiql: false,
    parserAndValidationCache: { documentCache: createDocumentCache(), errorCache: NO_CACHE },
    plugins: [
      useMeasures(),
      useFailures(),
      useKnownDocuments(documents),
      useParsedBody(),
      ...(config.queryPlans ? [usePlans(deps.log)] : []),
      useBatchBodies(config.limits.bodyBytes),
      useCoercionInSteps(),
      useLimits(deps, config.operationLimits),
      useView(),
      useNestedRefusals(),
      useDocumentCounts(),
      useLargeAnswers(),
    ],
    context({ res, viewer, holder, isGone, holdAnswer }) {
      const client = res ? clientOf(res, viewer) : isGone && { isGone, holdAnswer }
      return createRequestContext(deps, viewer, holder ?? null, config.operationLimits, client)
    },
  })
}

export type Yoga = ReturnType<typeof createYogaServer>
