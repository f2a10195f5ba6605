// Reads as of a moment in the past: what was known then. `asOf` returns dependencies whose database is the past, so every
// read works as in the present (store/db/past.ts). They share no cache with the present, and mark nothing as recalled.

import { z } from 'zod'
import type { Clock } from '../../runtime/clock.ts'
import { InvalidInput, NotFound } from '../../errors.ts'
import { pastDb, pastPool } from '../../store/db/past.ts'
import { createPostgresVectors } from '../../store/vectors/postgres-vectors.ts'
import type { Moment } from '../../store/db/scope.ts'
import { readEntryTime, readTime } from '../../store/sql/turn/journal/moments.ts'
import { authorize, isWithinReach } from '../kernel/rights/authorize.ts'
import type { ContextDeps } from './context/deps.ts'
import { createTurnGuesses } from './context/material/turn-guesses.ts'
import { count, id, parse, time } from '../kernel/input.ts'
import { createIndexCache } from './recall/index/index-cache.ts'
import { createScopeGuesses } from './recall/scope-guesses.ts'
import type { RecalledFacts } from './fact/index/recalled.ts'
import type { Viewer } from '../kernel/view.ts'

const moment = z
  .object({ time: time.nullish(), seq: count.nullish() })
  .refine((given) => (given.time == null) !== (given.seq == null), 'give either time or seq')
const asOfInput = z.object({ asOf: moment, conversationId: id('conversation').nullish() })

/**
 * `asOf.time`: a time by the clock of the database, not in the future. `asOf.seq`: the number of an entry in the journal
 * of the conversation `conversationId`; 0 is the time before the first entry. Exactly one of them.
 */
export type AsOfInput = z.input<typeof asOfInput>

const NOT_RECALLED: RecalledFacts = { add() {}, stop: async () => {} }

/**
 * Returns dependencies for reads as of the moment, which return what a server that was stopped then would return, except
 * that the viewer has the rights of today, and content that was erased since is missing. A write with them fails, but for
 * appends. If the moment is an entry, its conversation is read as of the entry, and everything else as of the time of the
 * entry.
 * @throws InvalidInput, also for `seq` without a conversation, and for a moment in the future
 * @throws NotFound if `seq` is given and the viewer sees no such conversation
 */
export async function asOf<D extends ContextDeps>(deps: D, viewer: Viewer, input: AsOfInput): Promise<D> {
  return inThePast(deps, await momentOf(deps, viewer, input))
}

/** Returns the moment. @throws as `asOf` */
export async function momentOf({ pool }: Pick<ContextDeps, 'pool'>, viewer: Viewer, input: AsOfInput): Promise<Moment> {
  authorize(viewer, 'momentOf')
  const {
    asOf: { time: at, seq },
    conversationId,
  } = parse(asOfInput, input)
  if (at != null) {
    const now = await readTime(pool, viewer.tenant)
    if (at > now) throw InvalidInput.at('asOf.time', `is in the future; it must be at most ${now.toISOString()}`)
    return { at, entry: null }
  }
  if (conversationId == null)
    throw InvalidInput.at('asOf.seq', 'is a number in the journal of a conversation, so it requires a conversation')
  const found = isWithinReach(viewer, conversationId) ? await readEntryTime(pool, viewer, conversationId, seq!) : null
  if (!found) throw new NotFound('conversation', conversationId)
  const { lastSeq } = found
  if (seq! > lastSeq) throw InvalidInput.at('asOf.seq', `is ${seq}; the newest entry of the conversation is ${lastSeq}`)
  return { at: found.at, entry: { conversationId, seq: seq! } }
}

/** Returns the clock, whose time of day stands still at the moment. Its timers and its measure of durations run on. */
const clockAt = (clock: Clock, at: Date): Clock => ({
  setTimeout: clock.setTimeout,
  clearTimeout: clock.clearTimeout,
  setInterval: clock.setInterval,
  clearInterval: clock.clearInterval,
  performance: clock.performance,
  Date: class extends Date {
    constructor() {
      super(at)
    }
    static override now() {
      return at.getTime()
    }
  },
})

/** Returns the dependencies for reads as of the moment. */
export function inThePast<D extends ContextDeps>(deps: D, at: Moment): D {
  const db = pastDb(deps.db, at)
  return {
    ...deps,
    moment: at,
    clock: clockAt(deps.clock, at.at),
    pool: pastPool(deps.pool, at),
    db,
    replica: null,
    vectors: createPostgresVectors(db, { exactTurns: Infinity }),
    indexes: createIndexCache(0),
    scopes: createScopeGuesses(),
    turnGuesses: createTurnGuesses(),
    recalledFacts: NOT_RECALLED,
  }
}
