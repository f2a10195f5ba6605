// Configures graphql-yoga: the schema, plugins, GraphiQL, masked errors, and the context of each request.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention'
import { GraphQLError } from 'graphql'
import { createYoga } from 'graphql-yoga'
import type { ServerConfig } from './server-config.ts'
import type { Deps } from '../domain/deps.ts'
import type { PresenceHolder } from '../domain/presence.ts'
import type { Viewer } from '../domain/view.ts'
import { toGraphQLError } from '../graphql/errors.ts'
import { useLimits } from '../graphql/limits/plugin.ts'
import { usePlans } from '../graphql/plan/plugin.ts'
import { createRequestContext, type RequestContext } from '../graphql/request.ts'
import { schema } from '../graphql/schema.ts'
import { useBatchBodies } from './batch-body.ts'
import { viewerFrom } from './auth.ts'
import { createDocumentCache, useKnownDocuments, type WithResult, type KnownDocuments } from './known-documents.ts'

/**
 * The context of an operation over a WebSocket: the viewer and presence holder of the connection, and whether it is
 * closed.
 */
export type Connected = { viewer: Viewer; holder: PresenceHolder; isGone(): boolean }

/** Returns a function that logs an unexpected error and hides it from clients; expected errors keep their code. */
export const maskWith =
  (deps: Deps) =>
  (error: unknown): GraphQLError => {
    const original = error instanceof GraphQLError ? error.originalError : error
    const expected = toGraphQLError(error)
    if (expected) return expected
    // Syntax, validation and coercion errors are caused by the client, and reveal nothing.
    if (error instanceof GraphQLError && (!original || original instanceof GraphQLError)) return error
    deps.log.error({ err: original }, 'unexpected error')
    const { nodes, source, positions, path } = error instanceof GraphQLError ? error : ({} as Partial<GraphQLError>)
    const extensions = { code: 'INTERNAL_SERVER_ERROR' }
    return new GraphQLError('Unexpected error.', { nodes, source, positions, path, extensions })
  }

/** Documents with a syntax error are parsed again, because their errors would fill the memory. */
const NO_CACHE = { get: () => undefined, set() {} }

/** @param documents receives each document that yoga validates */
export function createYogaServer(
  deps: Deps,
  config: ServerConfig,
  mask: (error: unknown) => GraphQLError,
  documents: KnownDocuments,
) {
  return createYoga<{ req?: IncomingMessage; res?: ServerResponse } & Partial<Connected> & WithResult, RequestContext>({
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
      useCSRFPrevention(),
      useKnownDocuments(documents),
      ...(config.queryPlans ? [usePlans(deps.log)] : []),
      useBatchBodies(config.limits.bodyBytes),
      useLimits(deps, config.operationLimits),
    ],
    context: ({ request, res, viewer, holder, isGone = () => res?.destroyed === true && !res.writableFinished }) =>
      createRequestContext(
        deps,
        viewer ?? viewerFrom((header) => request.headers.get(header)),
        holder ?? null,
        config.operationLimits,
        isGone,
      ),
  })
}

export type Yoga = ReturnType<typeof createYogaServer>
