// Makes the authors of turns present while they write: appending a turn, opening a streaming turn, and each delta. An
// author that has no other presence is ONLINE until presenceTtlMs after its last write.
//
// Invariant: a process reads and sets the presence of a writer in a conversation at most once per RENEW_MS, and publishes
// it only if the writer was OFFLINE, so that deltas cost nothing.

import { LRUCache } from 'lru-cache'
import { WRITER_HOLDER, type PresentActor } from '../../../bus/presence.ts'
import type { Db } from '../../../store/db/db.ts'
import { announceState, reportPresence, stateOf, type PresenceDeps } from './announced-presence.ts'

/** Minimum time between two renewals, ms; less if presence expires within less than three times as long. */
const RENEW_MS = 5_000
/** Maximum number of writers and of streaming turns that are remembered, about 2 MB each. */
const MAX_WRITERS = 10_000

export type Writers = {
  /** Makes the actor present in the conversation. Never fails, and returns before the presence is set. */
  wrote(actor: PresentActor, conversationId: string): void
  /** Makes the author of a streaming turn present. */
  wroteInto(tenant: string, turnId: string): void
}

export function createWriters(deps: PresenceDeps & { db: Db }): Writers {
  const { clock, db, presence, presenceTtlMs } = deps
  const ttl = Math.min(RENEW_MS, Math.floor(presenceTtlMs / 3))
  const renewed = new LRUCache<string, true>({ max: MAX_WRITERS, ttl, perf: clock.performance })

  /** Calls `renew` unless it was called with this key within `ttl`. */
  function atMostOnce(key: string, renew: () => Promise<void>): void {
    if (renewed.has(key)) return
    renewed.set(key, true)
    renew().catch((error: unknown) => reportPresence(deps, error, 'could not set the presence of a writer'))
  }

  async function renew({ tenant, actor }: PresentActor, conversationId: string): Promise<void> {
    const before = await stateOf(deps, conversationId, actor)
    await presence.set({ tenant, conversationId, actor, holder: WRITER_HOLDER }, 'ONLINE', presenceTtlMs)
    if (before === 'OFFLINE') await announceState(deps, { conversationId, actor })
  }

  function wrote(actor: PresentActor, conversationId: string): void {
    atMostOnce(JSON.stringify([conversationId, actor.actor]), () => renew(actor, conversationId))
  }

  return {
    wrote,
    wroteInto(tenant, turnId) {
      atMostOnce(turnId, async () => {
        const select = { conversationId: true, actor: true }
        const turn = await db.of(tenant).turn.findFirst({ where: { id: turnId }, select })
        if (turn) wrote({ tenant, actor: turn.actor }, turn.conversationId)
      })
    },
  }
}
