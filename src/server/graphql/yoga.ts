// Configures graphql-yoga: the schema, plugins, masked errors, and the context of each request.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { GraphQLError } from 'graphql'
import { createYoga, type GraphQLParams, type Plugin } from 'graphql-yoga'
import type { Deps } from '../../domain/deps.ts'
import type { PresenceHolder } from '../../domain/conversation/presence.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import { GRAPHQL } from '../../faces/paths.ts'
import { toGraphQLError } from '../../graphql/kernel/errors.ts'
import { useCoercionInSteps } from '../../graphql/kernel/execution/coerce-in-steps.ts'
import { useLimits } from '../../graphql/kernel/limits/plugin.ts'
import { useNestedRefusals } from '../../graphql/kernel/rights/nested-refusals.ts'
import { useExecutor } from '../../graphql/kernel/execution/executor.ts'
import type { Client, HeldAnswer } from '../../graphql/kernel/limits/work.ts'
import { createRequestContext, type RequestContext } from '../../graphql/kernel/request.ts'
import { schema } from '../../graphql/schema.ts'
import { useView } from '../../graphql/kernel/view/enter.ts'
import { useBatchBodies } from '../http/batch-body.ts'
import { useFailures, withCode } from './failures.ts'
import { useDocumentCounts, useMeasures } from '../load/measure.ts'
import { createDocumentCache, useKnownDocuments, type WithResult, type KnownDocuments } from './known-documents.ts'
import { useLargeAnswers } from '../load/large-answers.ts'
import { holdAnswerOf } from '../live/unread-data.ts'
import type { ServerConfig } from '../server-config.ts'

/** Context with the parsed body of a request that contains an object in JSON. */
export type WithBody = { parsedBody?: GraphQLParams }

/** Gives yoga the body that doors/graphql.ts has already parsed, so that yoga does not parse a large body again at once. */
const useParsedBody = (): Plugin<object, WithBody> => ({
  onRequestParse({ serverContext: { parsedBody }, setRequestParser }) {
    if (parsedBody !== undefined) setRequestParser(() => parsedBody)
  },
})

/**
 * The context of an operation over a WebSocket: the socket's presence holder, whether the operation has ended, and a
 * function that releases a large answer when it has been written.
 */
export type Connected = { holder: PresenceHolder; isGone(): boolean; holdAnswer(answer: HeldAnswer): void }

/** The context of any operation. http.ts and ws.ts determine the viewer. */
type ServerContext = { viewer: Viewer; req?: IncomingMessage; res?: ServerResponse } & Partial<Connected>
  & WithResult
  & WithBody

/**
 * Whether the error is a mistake of the client, reported by graphql-js or by this server. If it concerns a field, it was
 * thrown for an argument, and has nodes, or has a code: a scalar that cannot serialise a resolver's value throws an error
 * without either.
 */
function isOfClient({ path, originalError: original }: GraphQLError): boolean {
  if (!original) return true
  return (
    original instanceof GraphQLError
    && (!path || original.nodes !== undefined || original.extensions.code !== undefined)
  )
}

/** Returns a function that logs an unexpected error and hides it from clients; expected errors keep their code. */
export const maskWith =
  (deps: Pick<Deps, 'log'>) =>
  (error: unknown): GraphQLError => {
    const original = error instanceof GraphQLError ? error.originalError : error
    const expected = toGraphQLError(error)
    if (expected) return expected
    if (error instanceof GraphQLError && isOfClient(error)) return withCode(error)
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

/** Creates the yoga server. Adds each document that yoga validates to `documents`. */
export function createYogaServer(
  deps: Deps,
  config: ServerConfig,
  mask: (error: unknown) => GraphQLError,
  documents: KnownDocuments,
) {
  return createYoga<ServerContext, RequestContext>({
    schema,
    graphqlEndpoint: GRAPHQL,
    landingPage: false,
    batching: false,
    multipart: false,
    logging: false,
    cors: config.allowedOrigins.length ? { origin: [...config.allowedOrigins], credentials: false } : false,
    maskedErrors: { maskError: mask },
    // src/server/pages serves GraphiQL.
    graphiql: false,
    parserAndValidationCache: { documentCache: createDocumentCache(), errorCache: NO_CACHE },
    // Yoga calls the hooks of the plugins in this order. A plugin that wraps the executor calls the one before it. The
    // place of a plugin without a reason does not matter.
    plugins: [
      // First, so that the time of all others counts.
      useMeasures(),
      useFailures(),
      useKnownDocuments(documents),
      useParsedBody(),
      // Before those that wrap the executor.
      useExecutor(),
      // Before useLimits, so that a refused body takes no points.
      useBatchBodies(config.limits.bodyBytes),
      useCoercionInSteps(),
      // The last one that wraps the executor, so that the coercion is limited too.
      useLimits(deps, config.operationLimits),
      // After useLimits, so that an operation beyond the limits does not read the actor.
      useView(),
      // After useView, because the refused credential may act as another actor.
      useNestedRefusals(),
      // After useLimits, which replaces errors of the parser.
      useDocumentCounts(),
      // Last, because others change the result.
      useLargeAnswers(),
    ],
    context({ res, viewer, holder, isGone, holdAnswer }) {
      const client = res ? clientOf(res, viewer) : isGone && { isGone, holdAnswer }
      return createRequestContext(deps, viewer, config.operationLimits, { holder, client })
    },
  })
}

export type Yoga = ReturnType<typeof createYogaServer>
