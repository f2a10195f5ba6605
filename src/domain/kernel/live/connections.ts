// Counts the open connections of each actor: WebSockets and event streams. When the last one on any process ends, the
// actor's presence ends, even if it was set over HTTP.

import { randomUUID } from 'node:crypto'
import type { PresentActor } from '../../../bus/presence.ts'
import { every } from '../../../runtime/clock.ts'
import { announceState, reportPresence, type PresenceDeps } from './announced-presence.ts'

/** Time that an actor has to connect again before its presence ends, ms. A reload of a page takes less. @internal */
export const GRACE_MS = 1_000

export type Connections = {
  /** Counts a connection of the actor. Returns a function that ends it; further calls do nothing. */
  open(actor: PresentActor): () => void
  /** Ends the presence of the actors that are waiting to connect again. */
  close(): Promise<void>
}

/** The connections of an actor. `ending` is the timer that ends its presence; null while a connection is open. */
type Connected = { actor: PresentActor; count: number; ending: NodeJS.Timeout | null }

export function createConnections(deps: PresenceDeps): Connections {
  const { clock, presence, presenceTtlMs } = deps
  const id = randomUUID()
  const connected = new Map<string, Connected>()

  const record = (actor: PresentActor) =>
    presence
      .connect(actor, id, presenceTtlMs)
      .catch((error: unknown) => reportPresence(deps, error, 'could not record a connection'))

  const stopRenewing = every(clock, presenceTtlMs / 3, () => {
    for (const { actor } of connected.values()) void record(actor)
  })

  /** Ends the actor's presence unless another process has a connection of the actor. */
  async function end(key: string, { actor, ending }: Connected): Promise<void> {
    if (ending !== null) clock.clearTimeout(ending)
    connected.delete(key)
    try {
      const conversationIds = await presence.disconnect(actor, id)
      for (const conversationId of conversationIds) await announceState(deps, { conversationId, actor: actor.actor })
    } catch (error) {
      reportPresence(deps, error, 'could not end the presence of an actor without connections')
    }
  }

  return {
    open({ tenant, actor }) {
      const key = JSON.stringify([tenant, actor])
      let found = connected.get(key)
      if (!found) {
        connected.set(key, (found = { actor: { tenant, actor }, count: 0, ending: null }))
        void record(found.actor)
      }
      const entry = found
      if (entry.ending !== null) clock.clearTimeout(entry.ending)
      entry.ending = null
      entry.count += 1
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        entry.count -= 1
        if (entry.count === 0) entry.ending = clock.setTimeout(() => void end(key, entry), GRACE_MS).unref()
      }
    },
    async close() {
      await stopRenewing()
      await Promise.all([...connected].filter(([, { ending }]) => ending !== null).map((each) => end(...each)))
    },
  }
}
