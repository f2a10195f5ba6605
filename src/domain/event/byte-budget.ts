// A budget of bytes that readers share while they buffer data for their clients. A request waits until it fits into the
// budget, the share of its tenant and the share of its viewer; waiting viewers are served in rotation.

import type { Viewer } from '../view.ts'

export type ByteShare = {
  /** Resolves when the bytes are granted, or after `release`. */
  readonly granted: Promise<void>
  /** Replaces the requested number of bytes with the actual number. */
  resize(bytes: number): void
  /** Returns the bytes to the budget, or withdraws the request. Releasing twice has no effect. */
  release(): void
}

export type ByteBudget = {
  /** Number of bytes granted and not released. */
  readonly used: number
  /** Number of requests that wait. */
  readonly waiting: number
  /** Requests the bytes. */
  take(viewer: Viewer, bytes: number): ByteShare
}

/** Maximum fraction of the budget that one tenant may use. */
const TENANT_SHARE = 1 / 2
/** Maximum fraction of the budget that one viewer may use. */
const VIEWER_SHARE = 1 / 8

type Request = { viewer: Viewer; bytes: number; state: 'waiting' | 'granted' | 'released'; grant(): void }

/** Counts the bytes in use by key. */
function createByteCounts() {
  const bytesByKey = new Map<string, number>()
  return {
    of: (key: string) => bytesByKey.get(key) ?? 0,
    add(key: string, bytes: number): void {
      const sum = (bytesByKey.get(key) ?? 0) + bytes
      if (sum === 0) bytesByKey.delete(key)
      else bytesByKey.set(key, sum)
    },
  }
}

const keyOf = ({ tenant, actor }: Viewer) => JSON.stringify([tenant, actor])

/**
 * @param total maximum number of bytes. A request that exceeds the total or a share by itself is granted while no other
 * bytes of this total or share are in use.
 */
export function createByteBudget(total: number): ByteBudget {
  let used = 0
  const tenants = createByteCounts()
  const viewers = createByteCounts()
  /** Waiting requests by viewer, in order of arrival. The viewer after the last one served is the first key. */
  const queues = new Map<string, Request[]>()

  const fits = ({ viewer, bytes }: Request) =>
    (used === 0 || used + bytes <= total)
    && (tenants.of(viewer.tenant) === 0 || tenants.of(viewer.tenant) + bytes <= total * TENANT_SHARE)
    && (viewers.of(keyOf(viewer)) === 0 || viewers.of(keyOf(viewer)) + bytes <= total * VIEWER_SHARE)

  function addUsed({ viewer }: Request, bytes: number): void {
    used += bytes
    tenants.add(viewer.tenant, bytes)
    viewers.add(keyOf(viewer), bytes)
  }

  function grant(request: Request): void {
    request.state = 'granted'
    addUsed(request, request.bytes)
    request.grant()
  }

  /** Grants waiting requests that fit, one per viewer in each round. */
  function grantNext(): void {
    for (let granted = true; granted && queues.size > 0;) {
      granted = false
      for (const [key, queue] of [...queues]) {
        if (used >= total) return
        if (!fits(queue[0]!)) continue
        granted = true
        const request = queue.shift()!
        queues.delete(key)
        if (queue.length > 0) queues.set(key, queue)
        grant(request)
      }
    }
  }

  function withdraw(request: Request): void {
    const key = keyOf(request.viewer)
    const rest = queues.get(key)!.filter((each) => each !== request)
    if (rest.length > 0) queues.set(key, rest)
    else queues.delete(key)
    request.grant()
  }

  return {
    get used() {
      return used
    },
    get waiting() {
      return [...queues.values()].reduce((sum, queue) => sum + queue.length, 0)
    },
    take(viewer, bytes) {
      const request: Request = { viewer, bytes, state: 'waiting', grant: () => {} }
      const granted = new Promise<void>((resolve) => (request.grant = resolve))
      const key = keyOf(viewer)
      const queue = queues.get(key)
      if (queue) queue.push(request)
      else if (fits(request)) grant(request)
      else queues.set(key, [request])
      return {
        granted,
        resize(actual) {
          if (request.state !== 'granted') return
          addUsed(request, actual - request.bytes)
          request.bytes = actual
          grantNext()
        },
        release() {
          const { state } = request
          request.state = 'released'
          if (state === 'waiting') withdraw(request)
          if (state !== 'granted') return
          addUsed(request, -request.bytes)
          grantNext()
        },
      }
    },
  }
}
