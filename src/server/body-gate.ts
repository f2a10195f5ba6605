// Limits the request bodies in memory: the size of each, the sum of all, the sum of one client address, and the time
// within which a body must arrive. A body counts with its Content-Length, from the arrival of the headers until the
// response is closed, or until the body has arrived if the client accepts an event stream.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { refuse, type Refusal } from './refuse.ts'

/** Maximum number of bytes of all bodies of the process. A larger body is accepted if it is the only one. */
export const TOTAL_BODY_BYTES = 64 * 1024 * 1024
/** Maximum number of bytes of the bodies from one client address. */
export const ADDRESS_BODY_BYTES = TOTAL_BODY_BYTES / 2
/** Header that declares a batch of turns or facts, for which the larger limit applies (batch-body.ts). */
export const BATCH_HEADER = 'x-batch'
/** Interval of the checks for late bodies, ms. */
const CHECK_MS = 500

export type BodyLimits = { bodyBytes: number; batchBodyBytes: number; bodyTimeoutMs: number }

export type BodyGate = {
  /** Number of bytes of all counted bodies. */
  readonly used: number
  /** Counts the body and returns true, or refuses the request and returns false. */
  admit(request: IncomingMessage, response: ServerResponse): boolean
  close(): void
}

type Arriving = { request: IncomingMessage; response: ServerResponse; deadline: number }

/** Returns the reason to refuse a body by its headers alone; null if there is none. */
export function bodyRefusal(
  headers: IncomingMessage['headers'],
  { bodyBytes, batchBodyBytes }: BodyLimits,
): Refusal | null {
  const length = headers['content-length']
  if (length === undefined) {
    return { status: 411, code: 'LENGTH_REQUIRED', message: 'The Content-Length header is missing.' }
  }
  const isBatch = headers[BATCH_HEADER] === '1'
  const limit = isBatch ? batchBodyBytes : bodyBytes
  if (Number(length) <= limit) return null
  const hint =
    isBatch || batchBodyBytes <= bodyBytes
      ? ''
      : ` To append a batch of turns of at most ${batchBodyBytes} bytes, send the header "${BATCH_HEADER}: 1".`
  return {
    status: 413,
    code: 'BODY_TOO_LARGE',
    message: `The body has ${length} bytes; at most ${limit} are accepted.${hint}`,
  }
}

export function createBodyGate(limits: BodyLimits): BodyGate {
  const byAddress = new Map<string, number>()
  const arriving = new Set<Arriving>()
  let used = 0

  const timer = setInterval(() => {
    const now = performance.now()
    for (const late of arriving) {
      if (late.request.complete) arriving.delete(late)
      else if (now >= late.deadline) {
        arriving.delete(late)
        const message = `The body did not arrive within ${limits.bodyTimeoutMs / 1000} s.`
        refuse(late.response, { status: 408, code: 'BODY_TIMEOUT', message })
        late.response.once('finish', () => late.request.destroy())
      }
    }
  }, CHECK_MS)
  timer.unref()

  function count(address: string, bytes: number): () => void {
    used += bytes
    byAddress.set(address, (byAddress.get(address) ?? 0) + bytes)
    let isCounted = true
    return () => {
      if (!isCounted) return
      isCounted = false
      used -= bytes
      const rest = byAddress.get(address)! - bytes
      if (rest > 0) byAddress.set(address, rest)
      else byAddress.delete(address)
    }
  }

  function busy(address: string, bytes: number): Refusal | null {
    const [limit, scope] =
      used > 0 && used + bytes > TOTAL_BODY_BYTES
        ? [TOTAL_BODY_BYTES, 'of all clients']
        : byAddress.has(address) && byAddress.get(address)! + bytes > ADDRESS_BODY_BYTES
          ? [ADDRESS_BODY_BYTES, 'from your address']
          : []
    if (limit === undefined) return null
    const message = `The bodies of the requests in progress ${scope} would exceed ${limit} bytes. Try again later.`
    return { status: 503, code: 'SERVER_BUSY', message, retryAfter: 1 }
  }

  return {
    get used() {
      return used
    },
    admit(request, response) {
      const bytes = Number(request.headers['content-length'] ?? 0)
      const address = request.socket.remoteAddress ?? ''
      const refusal = bodyRefusal(request.headers, limits) ?? busy(address, bytes)
      if (refusal) {
        refuse(response, refusal)
        return false
      }
      const release = count(address, bytes)
      response.once('close', release)
      if (request.headers.accept?.includes('text/event-stream')) request.once('end', release)
      const entry: Arriving = { request, response, deadline: performance.now() + limits.bodyTimeoutMs }
      arriving.add(entry)
      request.once('close', () => arriving.delete(entry))
      return true
    },
    close: () => clearInterval(timer),
  }
}
