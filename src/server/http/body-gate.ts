// Limits the request bodies in memory: the size of each, the sum of all, the sum of one client address, and the time and
// rate at which a body must arrive. A body counts with the bytes that have arrived, until the response is closed, or until
// the whole body has arrived if the client accepts an event stream. Content-Length only refuses bodies that are too large:
// it costs a client nothing to declare one.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { every, type Clock } from '../../runtime/clock.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import { createTally } from '../../runtime/limits/tally.ts'
import { BUSY, refuse, type Refusal } from './refuse.ts'

/** Minimum of `total`, in bytes. @internal */
export const TOTAL_BODY_BYTES = 64 * 1024 * 1024
/** Number of the largest bodies that fit into `total`. */
const LARGEST_BODIES = 4
/** Part of the total for the bodies from one client address, and for all large bodies. */
const SHARES = { address: 1 / 2, large: 3 / 4 }
/** @internal */
export const ADDRESS_BODY_BYTES = TOTAL_BODY_BYTES * SHARES.address
/** @internal */
export const LARGE_BODY_BYTES = TOTAL_BODY_BYTES * SHARES.large
/** Maximum time before a body must arrive at the minimum rate, ms. */
const MAX_GRACE_MS = 5_000
/** Time before a large body must arrive at the minimum rate while its viewer sends another one, ms. */
const LARGE_GRACE_MS = 1_000
/** Header that declares a batch of turns or facts, for which the larger limit applies (batch-body.ts). */
const BATCH_HEADER = 'x-batch'
/** Interval of the checks for late and slow bodies, ms. */
const CHECK_MS = 500

/** `bodyRate` is the minimum rate at which a body must arrive, in bytes per second. */
export type BodyLimits = {
  bodyBytes: number
  batchBodyBytes: number
  /** Maximum size of the body of an upload. */
  fileBytes: number
  bodyTimeoutMs: number
  bodyRate: number
}

/** The client that sends a body, its address, and the maximum size of the body if it is no operation. */
type BodySender = { viewer: Viewer; address: string; maximum?: number | undefined }

export type BodyGate = {
  /** Number of bytes of all counted bodies. */
  readonly used: number
  /**
   * Counts the body while it arrives and returns true, or refuses the request and returns false. The caller must read the
   * body by the event `data`. A body that exceeds a limit later is refused, and emits no further event.
   */
  admit(request: IncomingMessage, response: ServerResponse, sender: BodySender): boolean
  close(): void
}

/** A counted body. `received` is 0 once it no longer counts. */
type Body = {
  request: IncomingMessage
  response: ServerResponse
  address: string
  isLarge: boolean
  received: number
  startedAt: number
}

/** Returns the reason to refuse a body by its headers alone; null if there is none. @internal */
export function bodyRefusal(
  headers: IncomingMessage['headers'],
  { bodyBytes, batchBodyBytes }: Pick<BodyLimits, 'bodyBytes' | 'batchBodyBytes'>,
  maximum?: number,
): Refusal | null {
  const length = headers['content-length']
  if (length === undefined) {
    return { status: 411, code: 'LENGTH_REQUIRED', message: 'The Content-Length header is missing.' }
  }
  const isBatch = headers[BATCH_HEADER] === '1'
  const limit = maximum ?? (isBatch ? batchBodyBytes : bodyBytes)
  if (Number(length) <= limit) return null
  const hint =
    maximum !== undefined || isBatch || batchBodyBytes <= bodyBytes
      ? ''
      : ` To append a batch of turns of at most ${batchBodyBytes} bytes, send the header "${BATCH_HEADER}: 1".`
  return {
    status: 413,
    code: 'BODY_TOO_LARGE',
    message: `The body has ${length} bytes; at most ${limit} are accepted.${hint}`,
  }
}

/** Bytes per second at which the body has arrived; infinite within the grace period. */
const rateOf = ({ received, startedAt }: Body, now: number, graceMs: number) =>
  now - startedAt < graceMs ? Infinity : (received * 1000) / (now - startedAt)

/** A limit that is exceeded: its maximum, its subject in a message, and the bodies that it counts. */
type Exceeded = { maximum: number; whose: string; counts(body: Body): boolean }

/** Returns the body that has arrived most slowly; of several, the largest. */
function slowestOf(body: Body, others: readonly Body[], now: number, graceMs: number): Body {
  let slowest = body
  for (const each of others) {
    const [rate, slowestRate] = [rateOf(each, now, graceMs), rateOf(slowest, now, graceMs)]
    if (rate < slowestRate || (rate === slowestRate && each.received > slowest.received)) slowest = each
  }
  return slowest
}

/** Counts the bytes of all bodies, of the large ones, and of each address. @param total maximum number of bytes */
function createCounts(total: number) {
  const byAddress = createTally()
  const counts = {
    large: 0,
    get used() {
      return byAddress.total
    },
    add(body: Body, bytes: number): void {
      body.received += bytes
      if (body.isLarge) counts.large += bytes
      byAddress.add(body.address, bytes)
    },
    /** Returns the limit that the bodies with this one exceed; null if they exceed none. */
    exceededBy({ address, isLarge }: Body): Exceeded | null {
      const [ofAddress, ofLarge] = [total * SHARES.address, total * SHARES.large]
      if (byAddress.of(address) > ofAddress) {
        return { maximum: ofAddress, whose: 'from your address', counts: (body) => body.address === address }
      }
      if (isLarge && counts.large > ofLarge) {
        return { maximum: ofLarge, whose: 'that are large', counts: (body) => body.isLarge }
      }
      return byAddress.total > total ? { maximum: total, whose: 'of all clients', counts: () => true } : null
    },
  }
  return counts
}

/**
 * Gives each viewer a place for one large body, until its response is closed. Returns a function that takes the place, or
 * returns a refusal. `endSlow` refuses the body that has the place, and returns true, if it arrives too slowly.
 */
function createLargePlaces(bodyBytes: number, endSlow: (body: Body, refusal: Refusal) => boolean) {
  const places = new Map<string, Body>()
  const message = `One body of more than ${bodyBytes} bytes of one viewer may be in progress. Try again later.`
  const refusal = { ...BUSY, message }
  return (body: Body, { tenant, actor }: Viewer): Refusal | null => {
    const key = JSON.stringify([tenant, actor])
    const other = places.get(key)
    if (other && !endSlow(other, refusal)) return refusal
    places.set(key, body)
    body.response.once('close', () => {
      if (places.get(key) === body) places.delete(key)
    })
    return null
  }
}

export function createBodyGate(limits: BodyLimits, clock: Clock): BodyGate {
  const { bodyBytes, batchBodyBytes, fileBytes, bodyTimeoutMs, bodyRate } = limits
  const total = Math.max(TOTAL_BODY_BYTES, LARGEST_BODIES * Math.max(bodyBytes, batchBodyBytes, fileBytes))
  const graceMs = Math.min(MAX_GRACE_MS, bodyTimeoutMs / 2)
  const counts = createCounts(total)
  /** The bodies that have not arrived completely, in the order of their arrival. */
  const arriving = new Set<Body>()

  const release = (body: Body) => counts.add(body, -body.received)
  /** Refuses a body that has not arrived completely, and closes its connection. */
  function end(body: Body, refusal: Refusal): void {
    const { request, response } = body
    arriving.delete(body)
    release(body)
    request.pause()
    response.once('finish', () => request.destroy())
    refuse(response, refusal)
  }

  /** Counts a part of the body. Above a limit, refuses the slowest body that the limit counts; of several, the largest. */
  function receive(body: Body, bytes: number): void {
    if (!arriving.has(body)) return
    counts.add(body, bytes)
    for (let exceeded = counts.exceededBy(body); exceeded && arriving.has(body); exceeded = counts.exceededBy(body)) {
      const slowest = slowestOf(body, [...arriving].filter(exceeded.counts), clock.performance.now(), graceMs)
      const message = `The bodies of the requests in progress ${exceeded.whose} exceed ${exceeded.maximum} bytes. Try again later.`
      end(slowest, { ...BUSY, message })
    }
  }

  const stop = every(clock, CHECK_MS, () => {
    const now = clock.performance.now()
    for (const body of arriving) {
      if (now - body.startedAt >= bodyTimeoutMs) {
        const message = `The body did not arrive within ${bodyTimeoutMs / 1000} s.`
        end(body, { status: 408, code: 'BODY_TIMEOUT', message })
      } else if (rateOf(body, now, graceMs) < bodyRate) {
        const message = `The body arrives too slowly: send at least ${bodyRate} bytes per second.`
        end(body, { status: 408, code: 'BODY_TIMEOUT', message })
      }
    }
  })

  const enterLarge = createLargePlaces(bodyBytes, (other, refusal) => {
    const isSlow = arriving.has(other) && rateOf(other, clock.performance.now(), LARGE_GRACE_MS) <= bodyRate
    if (isSlow) end(other, refusal)
    return isSlow
  })

  return {
    get used() {
      return counts.used
    },
    admit(request, response, sender) {
      const { viewer, address, maximum } = sender
      const isLarge = Number(request.headers['content-length']) > bodyBytes
      const body: Body = { request, response, address, isLarge, received: 0, startedAt: clock.performance.now() }
      const refusal = bodyRefusal(request.headers, limits, maximum) ?? (isLarge ? enterLarge(body, viewer) : null)
      if (refusal) {
        refuse(response, refusal)
        return false
      }
      arriving.add(body)
      request.on('data', (part: Buffer) => receive(body, part.length))
      request.once('end', () => {
        arriving.delete(body)
        if (request.headers.accept?.includes('text/event-stream')) release(body)
      })
      response.once('close', () => {
        arriving.delete(body)
        release(body)
      })
      return true
    },
    close: () => void stop(),
  }
}
