// A budget of bytes that clients share, for example for the data that is buffered for them. A request waits until it fits
// into the budget, the share of its tenant and the share of its viewer. Waiting tenants, and the waiting viewers of each
// tenant, are served in rotation.

import { QueueFull } from '../../../errors.ts'
import { createTally } from '../../../runtime/limits/tally.ts'
import type { Viewer } from '../view.ts'

export type ByteShare = {
  /**
   * Resolves when the bytes are granted, or after `release`. Rejects with QueueFull if the request is withdrawn for one of
   * a tenant with fewer waiting requests.
   */
  readonly granted: Promise<void>
  /** Replaces the requested number of bytes with the actual number. Has no effect after `release`. */
  resize(bytes: number): void
  /** Returns the bytes to the budget, or withdraws the request. Releasing twice has no effect. */
  release(): void
}

export type ByteBudget = {
  /** Number of bytes granted and not released. */
  readonly used: number
  /** Number of requests that wait. */
  readonly waiting: number
  /**
   * Requests the bytes.
   * @throws QueueFull if the maximum number of requests waits, unless another tenant has at least two more of them
   */
  take(viewer: Viewer, bytes: number): ByteShare
  /** Whether a request waits for bytes that the viewer has, so that it might be granted if the viewer released them. */
  isBlockedBy(viewer: Viewer): boolean
}

/** Maximum number of waiting requests of one viewer, and of all viewers. */
type MaxWaiting = { perViewer: number; total: number }

/** Maximum fraction of the budget that one tenant may use. */
const TENANT_SHARE = 1 / 2
/** Maximum fraction of the budget that one viewer may use. */
const VIEWER_SHARE = 1 / 8

type Request = {
  viewer: Viewer
  bytes: number
  state: 'waiting' | 'granted' | 'released'
  grant(): void
  reject(error: QueueFull): void
}

/** Returns a waiting request, and the promise that it settles. */
function createRequest(viewer: Viewer, bytes: number): { request: Request; granted: Promise<void> } {
  const request: Request = { viewer, bytes, state: 'waiting', grant: () => {}, reject: () => {} }
  const granted = new Promise<void>((resolve, reject) => Object.assign(request, { grant: resolve, reject }))
  // The rejection may precede the first use of the promise.
  granted.catch(() => {})
  return { request, granted }
}

const keyOf = ({ tenant, actor }: Viewer) => JSON.stringify([tenant, actor])

/** Waiting requests by viewer. */
type Viewers = Map<string, Request[]>

const sizeOf = (viewers: Viewers) => [...viewers.values()].reduce((sum, queue) => sum + queue.length, 0)

/**
 * Returns the newest request of the viewer with most requests in the tenant with most requests; null unless that tenant
 * has at least two more than `own`, so that the other tenant does not have more of them afterwards.
 */
function lastOf(tenants: ReadonlyMap<string, Viewers>, own: Viewers): Request | null {
  let largest: Viewers = new Map()
  for (const viewers of tenants.values()) if (sizeOf(viewers) > sizeOf(largest)) largest = viewers
  if (sizeOf(largest) < sizeOf(own) + 2) return null
  let longest: Request[] = []
  for (const queue of largest.values()) if (queue.length > longest.length) longest = queue
  return longest.at(-1) ?? null
}

/**
 * Creates the queues of waiting requests: those of each viewer, in order of arrival, by tenant. Tenants, and the viewers of
 * a tenant, are in the order in which they are served next.
 */
function createQueues(maxWaiting: MaxWaiting) {
  const tenants = new Map<string, Viewers>()
  const queues = {
    /** Number of waiting requests. */
    waiting: 0,
    has: (viewer: Viewer) => tenants.get(viewer.tenant)?.has(keyOf(viewer)) === true,
    /** @throws QueueFull */
    add(request: Request): void {
      const { viewer } = request
      const viewers = tenants.get(viewer.tenant) ?? (new Map() as Viewers)
      const queue = viewers.get(keyOf(viewer)) ?? []
      if (queue.length >= maxWaiting.perViewer) throw new QueueFull(maxWaiting.perViewer, 'of your viewer')
      if (queues.waiting >= maxWaiting.total) {
        const error = new QueueFull(maxWaiting.total, 'of all viewers')
        const last = lastOf(tenants, viewers)
        if (!last) throw error
        queues.remove(last)
        last.state = 'released'
        last.reject(error)
      }
      queue.push(request)
      viewers.set(keyOf(viewer), queue)
      tenants.set(viewer.tenant, viewers)
      queues.waiting += 1
    },
    remove(request: Request): void {
      const { viewer } = request
      const viewers = tenants.get(viewer.tenant)!
      const rest = viewers.get(keyOf(viewer))!.filter((each) => each !== request)
      if (rest.length > 0) viewers.set(keyOf(viewer), rest)
      else viewers.delete(keyOf(viewer))
      if (viewers.size === 0) tenants.delete(viewer.tenant)
      queues.waiting -= 1
    },
    /** Moves the viewer and its tenant to the end of their orders. */
    serveLast(viewer: Viewer): void {
      const viewers = tenants.get(viewer.tenant)
      const queue = viewers?.get(keyOf(viewer))
      if (viewers && queue) {
        viewers.delete(keyOf(viewer))
        viewers.set(keyOf(viewer), queue)
      }
      if (viewers) {
        tenants.delete(viewer.tenant)
        tenants.set(viewer.tenant, viewers)
      }
    },
    /** Returns the first request of each viewer, by tenant. */
    heads: () => [...tenants.values()].map((viewers) => [...viewers.values()].map(([first]) => first!)),
  }
  return queues
}

/**
 * @param total maximum number of bytes. A request that exceeds the total or a share by itself is granted while no other
 * bytes of this total or share are in use.
 * @param maxWaiting absent for no limit
 */
export function createByteBudget(
  total: number,
  maxWaiting: MaxWaiting = { perViewer: Infinity, total: Infinity },
): ByteBudget {
  /** The bytes in use. */
  const tenants = createTally()
  const viewers = createTally()
  const queues = createQueues(maxWaiting)

  const fitsInto = (share: number, inUse: number, bytes: number) => inUse === 0 || inUse + bytes <= share
  const fitsViewer = ({ viewer, bytes }: Request) => fitsInto(total * VIEWER_SHARE, viewers.of(keyOf(viewer)), bytes)
  const fitsTenant = ({ viewer: { tenant }, bytes }: Request) =>
    fitsInto(total * TENANT_SHARE, tenants.of(tenant), bytes)
  const fits = (request: Request) =>
    fitsInto(total, tenants.total, request.bytes) && fitsTenant(request) && fitsViewer(request)

  function addUsed({ viewer }: Request, bytes: number): void {
    tenants.add(viewer.tenant, bytes)
    viewers.add(keyOf(viewer), bytes)
  }

  function grant(request: Request): void {
    request.state = 'granted'
    addUsed(request, request.bytes)
    request.grant()
  }

  /** Grants waiting requests that fit, one per tenant in each round. */
  function grantNext(): void {
    for (let granted = true; granted && queues.waiting > 0;) {
      granted = false
      for (const heads of queues.heads()) {
        if (tenants.total >= total) return
        const request = heads.find(fits)
        if (!request) continue
        granted = true
        queues.remove(request)
        queues.serveLast(request.viewer)
        grant(request)
      }
    }
  }

  return {
    get used() {
      return tenants.total
    },
    get waiting() {
      return queues.waiting
    },
    isBlockedBy(viewer) {
      return queues.heads().some((heads) =>
        heads.some((request) => {
          if (!fitsViewer(request)) return keyOf(request.viewer) === keyOf(viewer)
          return fitsTenant(request) || request.viewer.tenant === viewer.tenant
        }),
      )
    },
    take(viewer, bytes) {
      const { request, granted } = createRequest(viewer, bytes)
      if (!queues.has(viewer) && fits(request)) grant(request)
      else queues.add(request)
      return {
        granted,
        resize(actual) {
          if (request.state === 'released') return
          if (request.state === 'granted') addUsed(request, actual - request.bytes)
          request.bytes = actual
          grantNext()
        },
        release() {
          const { state } = request
          request.state = 'released'
          if (state === 'waiting') {
            queues.remove(request)
            request.grant()
          }
          if (state !== 'granted') return
          addUsed(request, -request.bytes)
          grantNext()
        },
      }
    },
  }
}

/** Intended maximum number of bytes of all large answers that are being rendered or wait to be written. */
export const ANSWER_BYTES = 64 * 1024 * 1024

/** Maximum number of operations that wait for the budget. Each may have read some MB already. */
const MAX_WAITING_FOR_BYTES = { perViewer: 8, total: 32 }

/**
 * Creates the budget of the memory for the large answers of this process, from the reads of an operation until its
 * answer is written to the connection.
 */
export const createAnswerBudget = (): ByteBudget => createByteBudget(ANSWER_BYTES, MAX_WAITING_FOR_BYTES)
