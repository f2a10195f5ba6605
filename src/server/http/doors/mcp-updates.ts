// Notifies an MCP client of changes in the resources that its session subscribes to. The subscriptions are stored, so a
// message of the bus, and a regular look, say when they have changed.

import { every, type Clock } from '../../../runtime/clock.ts'
import type { Deps } from '../../../domain/deps.ts'
import { noteNotified, useSession, watchSession, type SessionKey } from '../../../domain/kernel/live/mcp-session.ts'
import type { Viewer } from '../../../domain/kernel/view.ts'
import type { Caller } from '../../../faces/mcp/caller.ts'
import { changesOf } from '../../../faces/mcp/resources.ts'

/** Minimum time between two notifications of one resource, ms. */
const QUIET_MS = 1_000
/** Interval at which the stored subscriptions are read, because messages of the bus may be lost, ms. */
const LOOK_MS = 10_000

/**
 * One resource, and journal numbers: of the newest event, of the newest one that the client has been notified of, and
 * the stored one.
 */
type Followed = { seq: number; notified: number; stored: number; stop: AbortController }

/** Returns a function that calls `notify` at once, but at most once per QUIET_MS. */
function createThrottle({ setTimeout, performance }: Clock, signal: AbortSignal, notify: () => void): () => void {
  let last = -Infinity
  let isWaiting = false
  return () => {
    if (isWaiting) return
    isWaiting = true
    setTimeout(
      () => {
        isWaiting = false
        last = performance.now()
        if (!signal.aborted) notify()
      },
      Math.max(0, last + QUIET_MS - performance.now()),
    ).unref()
  }
}

/**
 * Starts the notifications, which end when the signal is aborted.
 * @param notify called with the URI of a changed resource
 * @param end called if the session has ended
 */
export async function startUpdates(
  deps: Pick<Deps, 'db' | 'bus' | 'clock' | 'log'>,
  { viewer, caller, session }: { viewer: Viewer; caller: Caller; session: SessionKey },
  signal: AbortSignal,
  { notify, end }: { notify(uri: string): void; end(): void },
): Promise<void> {
  const { clock, log } = deps
  const followed = new Map<string, Followed>()

  async function follow(uri: string, resource: Followed): Promise<void> {
    const ended = AbortSignal.any([signal, resource.stop.signal])
    const changed = createThrottle(clock, ended, () => {
      resource.notified = resource.seq
      notify(uri)
    })
    const { types, ...name } = changesOf(uri)
    const { lastSeq } = await caller.call('conversation', name)
    if (lastSeq > resource.seq) changed()
    resource.seq = lastSeq
    for await (const event of caller.follow({ ...name, types, afterSeq: lastSeq }, ended)) {
      resource.seq = (event.__typename === 'Gap' ? event.resumeAfterSeq : event.seq) ?? resource.seq
      changed()
    }
  }

  /** Stores the journal numbers that have changed. */
  async function store(): Promise<void> {
    const moved = [...followed].filter(([, { notified, stored }]) => notified > stored)
    if (moved.length === 0) return
    await noteNotified(deps, session, Object.fromEntries(moved.map(([uri, { notified }]) => [uri, notified])))
    for (const [, resource] of moved) resource.stored = resource.notified
  }

  /** Follows exactly the resources that the session subscribes to. */
  async function look(): Promise<void> {
    await store()
    const found = await useSession(deps, viewer, session.id)
    if (signal.aborted) return
    if (!found) return end()
    for (const [uri, { stop }] of followed) {
      if (uri in found.subscriptions) continue
      stop.abort()
      followed.delete(uri)
    }
    for (const [uri, seq] of Object.entries(found.subscriptions)) {
      if (followed.has(uri)) continue
      const resource = { seq, notified: seq, stored: seq, stop: new AbortController() }
      followed.set(uri, resource)
      // A conversation that was deleted, or is no longer visible, has changed for the last time.
      void follow(uri, resource)
        .catch((err: unknown) => log.debug({ err, uri }, 'an MCP subscription ended'))
        .finally(() => {
          if (!signal.aborted && !resource.stop.signal.aborted) notify(uri)
        })
    }
  }

  /** The looks, one after the other. */
  let looking = Promise.resolve()
  const lookAgain = (): Promise<void> =>
    (looking = looking.then(look).catch((err: unknown) => log.warn({ err }, 'could not read an MCP session')))

  const unwatch = await watchSession(deps, session, () => void lookAgain())
  const stop = every(clock, LOOK_MS, lookAgain)
  signal.addEventListener(
    'abort',
    () => {
      void stop()
      void unwatch()
      // After a failure, the client is notified of the same changes again.
      void store().catch(() => {})
    },
    { once: true },
  )
  await lookAgain()
}
