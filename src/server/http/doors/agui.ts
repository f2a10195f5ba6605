// The door of AG-UI (src/faces/agui): a POST contains the input of a run, and the answer is the stream of its events.
// http.ts loads this file when the first request arrives.

import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQLError } from 'graphql'
import type { Deps } from '../../../domain/deps.ts'
import { InvalidInput } from '../../../errors.ts'
import { readInput } from '../../../faces/agui/input.ts'
import type { AguiEvent } from '../../../faces/agui/protocol.ts'
import { openRun, type OpenRun } from '../../../faces/agui/run.ts'
import { failureOf } from '../../../faces/agui/thread.ts'
import { VerbFailed } from '../../../faces/call.ts'
import { GRAPHQL } from '../../../faces/paths.ts'
import { bodyOf, failureResponse } from '../../../faces/rest/respond.ts'
import { createLocalFetch } from '../../graphql/local-fetch.ts'
import { startStream } from '../../live/event-stream.ts'
import { counters } from '../../../runtime/counters.ts'
import { parseBody } from '../body.ts'
import { restForgeryRefusal } from '../guard.ts'
import { aguiMediaRefusal } from '../media-types.ts'
import { searchOf } from '../parameters.ts'
import { sendJson } from '../send-json.ts'
import type { Yoga } from '../../graphql/yoga.ts'
import type { Door, Visit } from './door.ts'
import { fileBodyBytes } from './file-body.ts'
import { answerUpload } from './files.ts'

type Services = {
  deps: Deps
  yoga: Yoga
  /** Logs an unexpected error, and returns an error that hides it from clients. */
  mask(error: unknown): GraphQLError
}

export type Agui = {
  door: Door
  /** Ends all streams with an error, so that their clients run again. */
  close(): void
}

/** Returns the error as one that the door can answer; others as they are. */
function answerable(error: unknown): unknown {
  if (!(error instanceof InvalidInput)) return failureOf(error)
  return new VerbFailed(error.code, error.message, { issues: error.issues })
}

async function refuse(response: ServerResponse, { headers }: IncomingMessage, error: unknown): Promise<void> {
  const refused = failureResponse(answerable(error), headers)
  if (!response.destroyed) await sendJson(response, refused, refused.body, 0)
}

/** Writes the event. Returns false if the connection accepts no more for now. */
const write = (response: ServerResponse, event: AguiEvent) => response.write(`data: ${JSON.stringify(event)}\n\n`)

/** Resolves when the connection accepts more, or when the signal is aborted. */
const drained = (response: ServerResponse, signal: AbortSignal): Promise<unknown> =>
  once(response, 'drain', { signal }).catch(() => {})

/** The error with which a stream ends. */
type Ending = { code: string; message: string }
const CLOSING: Ending = { code: 'SERVER_BUSY', message: 'The server shuts down. Run again.' }

/** Returns the URL of the GraphQL endpoint, as the client of the request sees this server. */
const endpointOf = ({ headers }: IncomingMessage): string =>
  `${headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'}://${headers.host}${GRAPHQL}`

export function createAgui({ deps, yoga, mask }: Services): Agui {
  /** Functions that end a stream with an error. */
  const streams = new Set<(error: Ending) => void>()
  let isClosing = false

  /** Sends the events of the run until it has ended, the client has disconnected, or its token has ended. */
  async function stream({ response, identity }: Visit, run: OpenRun): Promise<void> {
    const ending = new AbortController()
    const { signal } = ending
    const end = (error?: Ending) => {
      if (signal.aborted) return
      ending.abort()
      // An error is the last event.
      if (error) write(response, { type: 'RUN_ERROR', code: error.code, message: error.message })
    }
    response.once('close', () => end())
    if (response.destroyed) end()
    else startStream(response, deps.clock)
    if (isClosing) end(CLOSING)
    streams.add(end)
    counters.eventStreams += 1
    const unwatch = identity.watch(end)
    try {
      for await (const event of run.events(signal)) {
        if (signal.aborted) break
        if (!write(response, event)) await drained(response, signal)
      }
    } catch (error) {
      const refusal = answerable(error)
      if (refusal instanceof VerbFailed) end(refusal)
      else end({ code: 'INTERNAL_SERVER_ERROR', message: mask(error).message })
    } finally {
      unwatch()
      streams.delete(end)
      counters.eventStreams -= 1
      if (isClosing) response.shouldKeepAlive = false
      response.end()
    }
  }

  async function answer(visit: Visit): Promise<void> {
    const { request, response, identity, body, leave } = visit
    const query = searchOf(request.url)
    const { viewer } = identity
    const fetch = createLocalFetch(yoga, {
      viewer,
      isGone: () => response.destroyed,
      upload: (url, contentType, file) => answerUpload(deps, { viewer, url, contentType, body: file }),
    })
    let run: OpenRun
    try {
      const input = readInput(await bodyOf(body ?? Buffer.alloc(0), parseBody))
      run = await openRun(input, { url: endpointOf(request), fetch, agent: query.get('agent'), as: query.get('as') })
    } catch (error) {
      return await refuse(response, request, error)
    } finally {
      leave()
    }
    await stream(visit, run)
  }

  return {
    door: {
      // A message may contain files.
      bodyBytes: fileBodyBytes(deps.files.limits),
      refusalOf: ({ method, headers }) => aguiMediaRefusal(method, headers) ?? restForgeryRefusal(method, headers),
      hasBody: () => true,
      answer,
    },
    close() {
      isClosing = true
      for (const end of streams) end(CLOSING)
    },
  }
}
