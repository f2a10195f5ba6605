// The door of the MCP server (src/faces/mcp), by the transport "Streamable HTTP": a POST contains messages of the client,
// a GET opens the stream of notifications, and a DELETE ends the session. Requests need no session, except for
// subscriptions. http.ts loads this file when the first request arrives.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import type { GraphQLError } from 'graphql'
import { counters } from '../../../runtime/counters.ts'
import type { Deps } from '../../../domain/deps.ts'
import {
  createSession,
  endSession,
  subscribe,
  unsubscribe,
  useSession,
  type SessionKey,
} from '../../../domain/kernel/live/mcp-session.ts'
import type { Viewer } from '../../../domain/kernel/view.ts'
import { DomainError } from '../../../errors.ts'
import { VerbFailed } from '../../../faces/call.ts'
import type { Caller } from '../../../faces/mcp/caller.ts'
import { changesOf } from '../../../faces/mcp/resources.ts'
import { createMcpServer, type Subscriptions } from '../../../faces/mcp/server.ts'
import { ownVersion } from '../../../runtime/package-versions.ts'
import type { Identity } from '../../auth/authenticator.ts'
import { parseBody } from '../body.ts'
import type { Door } from './door.ts'
import { createCaller } from './mcp-caller.ts'
import { startUpdates } from './mcp-updates.ts'
import { mcpMediaRefusal } from '../media-types.ts'
import { refuse, type Refusal } from '../refuse.ts'
import { sendWebResponse, webRequest } from '../web-response.ts'
import type { Yoga } from '../../graphql/yoga.ts'

type Services = {
  deps: Deps
  yoga: Yoga
  /** Logs an unexpected error, and returns an error that hides it from clients. */
  mask(error: unknown): GraphQLError
  /** Answers a request whose handling has rejected. */
  fail(response: ServerResponse): (error: unknown) => void
}

export type Mcp = {
  door: Door
  /** Ends all streams of notifications, so that their clients connect again. */
  close(): void
}

const SESSION = 'mcp-session-id'
/** The headers that the transport reads. */
const HEADERS = ['accept', 'content-type', 'mcp-protocol-version']
/** Points of the rate limit that each request takes, in addition to those of its verbs. */
const POINTS = 1

const NO_SESSION: Refusal = {
  status: 404,
  code: 'NOT_FOUND',
  message: 'The session has ended, or never existed. Initialize a new one.',
}
const SESSION_REQUIRED: Refusal = {
  status: 400,
  code: 'BAD_REQUEST',
  message: 'Send the header Mcp-Session-Id, which the answer to initialize contained.',
}
const NOT_JSON: Refusal = { status: 400, code: 'BAD_REQUEST', message: 'The body is not JSON.' }

/** A request, with the caller who sent it. */
type Asked = { request: IncomingMessage; response: ServerResponse; viewer: Viewer; caller: Caller }

/** Returns the subscriptions of a session. */
const subscriptionsOf = (deps: Deps, { caller }: Asked, session: SessionKey): Subscriptions => ({
  async add(uri) {
    const { types: _, ...name } = changesOf(uri)
    // The call fails for a conversation that the caller does not see.
    const { lastSeq } = await caller.call('conversation', name)
    try {
      await subscribe(deps, session, uri, lastSeq)
    } catch (error) {
      throw error instanceof DomainError ? new VerbFailed(error.code, error.message) : error
    }
  },
  remove: (uri) => unsubscribe(deps, session, uri),
})

/** Returns the session that the request names, null if it names none, or its refusal. */
async function sessionOf(deps: Deps, { request, viewer }: Asked): Promise<SessionKey | Refusal | null> {
  const id = request.headers[SESSION]
  return id === undefined ? null : ((await useSession(deps, viewer, String(id))) ?? NO_SESSION)
}

const isRefusal = (value: object | null): value is Refusal => value !== null && 'status' in value

/** What the requests of one process share. */
type Context = Services & {
  version: string
  /** The open streams of notifications. */
  streams: Set<WebStandardStreamableHTTPServerTransport>
  isClosing: boolean
}

/** Creates the server that answers one request. @param newSession the session of a request to initialize one */
async function connect(
  { deps, version, mask }: Context,
  asked: Asked,
  session: SessionKey | null,
  newSession: SessionKey | null,
) {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: newSession ? () => newSession.id : undefined,
  })
  const mcp = createMcpServer({
    caller: asked.caller,
    subscriptions: session && subscriptionsOf(deps, asked, session),
    version,
    mask: (error) => mask(error).message,
  })
  await mcp.connect(transport)
  // Closing aborts the running calls.
  asked.response.once('close', () => void transport.close())
  return { transport, mcp }
}

/** Answers messages of a client. */
async function post(context: Context, asked: Asked, body: Buffer): Promise<void> {
  const { request, response, viewer } = asked
  let parsed: unknown
  try {
    parsed = await parseBody(body)
  } catch {
    return refuse(response, NOT_JSON)
  }
  const isStart = isInitializeRequest(parsed)
  const session = isStart ? null : await sessionOf(context.deps, asked)
  if (isRefusal(session)) return refuse(response, session)
  if (response.destroyed) return
  const newSession = isStart ? await createSession(context.deps, viewer) : null
  const { transport } = await connect(context, asked, session, newSession)
  const answer = await transport.handleRequest(webRequest(request, HEADERS), { parsedBody: parsed })
  await sendWebResponse(response, answer)
}

/** Opens the stream of notifications of a session. Resolves when it is open. */
async function openStream(context: Context, asked: Asked, identity: Identity): Promise<void> {
  const { deps, streams, fail } = context
  const { request, response, viewer, caller } = asked
  const session = (await sessionOf(deps, asked)) ?? SESSION_REQUIRED
  if (isRefusal(session)) return refuse(response, session)
  if (response.destroyed || context.isClosing) return void response.destroy()
  const { transport, mcp } = await connect(context, asked, session, null)
  const closed = new AbortController()
  const unwatch = identity.watch(() => void transport.close())
  streams.add(transport)
  counters.eventStreams += 1
  response.once('close', () => {
    closed.abort()
    unwatch()
    streams.delete(transport)
    counters.eventStreams -= 1
  })
  const answer = await transport.handleRequest(webRequest(request, HEADERS))
  sendWebResponse(response, answer).catch(fail(response))
  await startUpdates(deps, { viewer, caller, session }, closed.signal, {
    notify: (uri) => void mcp.sendResourceUpdated({ uri }),
    end: () => void transport.close(),
  })
}

/** Ends the session of the client. */
async function end({ deps }: Context, asked: Asked): Promise<void> {
  const session = (await sessionOf(deps, asked)) ?? SESSION_REQUIRED
  if (isRefusal(session)) return refuse(asked.response, session)
  await endSession(deps, session)
  asked.response.writeHead(204).end()
}

/** Returns the refusal of a viewer who has too few points left; null for others. */
async function rateRefusal({ rates }: Deps, { tenant, actor }: Viewer): Promise<Refusal | null> {
  const retryAfterMs = (await rates?.take(`${tenant}\0${actor}`, POINTS)) ?? null
  if (retryAfterMs === null) return null
  const retryAfter = Math.ceil(retryAfterMs / 1000)
  return { status: 429, code: 'RATE_LIMITED', message: `Try again after ${retryAfter} s.`, retryAfter }
}

export function createMcp(services: Services): Mcp {
  const { deps, yoga } = services
  const context: Context = { ...services, version: ownVersion(), streams: new Set(), isClosing: false }
  return {
    door: {
      refusalOf: ({ method, headers }) => mcpMediaRefusal(method, headers),
      hasBody: ({ method }) => method === 'POST',
      async answer({ request, response, identity, body, leave }) {
        const { viewer } = identity
        response.once('close', leave)
        const asked: Asked = { request, response, viewer, caller: createCaller(yoga, viewer, response, leave) }
        const refusal = await rateRefusal(deps, viewer)
        if (refusal) return refuse(response, refusal)
        if (response.destroyed) return
        if (body) return post(context, asked, body)
        const isStream = request.method === 'GET'
        await (isStream ? openStream(context, asked, identity) : end(context, asked)).finally(leave)
      },
    },
    close() {
      context.isClosing = true
      for (const transport of context.streams) void transport.close()
    },
  }
}
