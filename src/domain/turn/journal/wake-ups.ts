// The wake-ups that inboxes deliver: those that wait when an inbox opens, those of new turns, and those whose claim
// ended without an answer. An unclaimed wake-up is delivered again at growing intervals, because the bus may lose the
// message that announced it, and consumers may fail. Repetitions are harmless, because consumers claim a turn before
// they answer it.

import { every } from '../../../runtime/clock.ts'
import { readTime } from '../../../store/sql/turn/journal/moments.ts'
import {
  readOfferedWakeUps,
  readUnclaimedWakeUps,
  readWakeUpsOfTurns,
  type Span,
  type WakeUpPosition,
  type WakeUpRow,
} from '../../../store/sql/agent/wake-up/read-wake-ups.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { JournalEvent } from './event.ts'

/** Maximum number of wake-ups per read. */
const PAGE = 100

/** Yields the viewer's wake-ups without a live claim, oldest first. Pages are read as they are consumed. */
export async function* unclaimedWakeUps(
  { gates, reads }: Pick<Platform, 'gates' | 'reads'>,
  viewer: Viewer,
): AsyncGenerator<WakeUpRow, void> {
  let last: WakeUpPosition | null = null
  for (;;) {
    const page: WakeUpRow[] = await gates.reads.run(viewer.tenant, () =>
      readUnclaimedWakeUps(reads.pool, viewer, last, PAGE),
    )
    yield* page
    if (page.length < PAGE) return
    last = page.at(-1)!
  }
}

/** Returns the id of the turn about which an event may cause wake-ups to be delivered; null for none. */
export function offeredTurn(event: JournalEvent): string | null {
  switch (event.type) {
    case 'TurnAppended':
    case 'TurnCommitted':
    case 'ClaimReleased':
      return event.turn.id
    default:
      return null
  }
}

/** Returns the unclaimed wake-ups of the actors about the turns. */
export const wakeUpsOfTurns = async (
  { pool }: Pick<Platform, 'pool'>,
  tenant: string,
  turnIds: readonly string[],
  actors: readonly string[],
): Promise<WakeUpRow[]> =>
  turnIds.length === 0 || actors.length === 0 ? [] : readWakeUpsOfTurns(pool, tenant, turnIds, actors)

/** Interval of the checks for unclaimed wake-ups, ms. */
export const REPEAT_MS = 10_000
/** Number of times that an unclaimed wake-up is delivered again; the last time after REPEAT_MS * 2 ** (REPEATS - 1). */
export const REPEATS = 13
/** Maximum number of wake-ups that one check delivers again. Later checks and new inboxes deliver the others. */
const MAX_REPEATED = 1_000

/**
 * Returns the spans of time for a check at `now`. A wake-up that was created, or whose last claim ended, in one of them
 * is delivered again: since the check at `previous`, its age has reached REPEAT_MS, twice that, four times that, and so
 * on. The spans of consecutive checks are adjacent, so that each age is reached in one check only.
 * @internal
 */
export const spansOf = (previous: Date, now: Date): Span[] =>
  Array.from({ length: REPEATS }, (_, nth) => {
    const age = REPEAT_MS * 2 ** nth
    return { since: new Date(previous.getTime() - age), until: new Date(now.getTime() - age) }
  })

/**
 * Checks every REPEAT_MS for unclaimed wake-ups of the actors in the spans of `spansOf`, and delivers them. Ages are
 * measured by the database's clock. Returns a function that stops the checks.
 */
export function repeatWakeUps(
  deps: Pick<Platform, 'clock' | 'pool' | 'log'>,
  tenant: string,
  actors: () => readonly string[],
  deliver: (wakeUp: WakeUpRow) => void,
): () => Promise<void> {
  let previous: Date | null = null
  async function check(): Promise<void> {
    try {
      const now = await readTime(deps.pool, tenant)
      const spans = spansOf(previous ?? new Date(now.getTime() - REPEAT_MS), now)
      const offered = await readOfferedWakeUps(deps.pool, tenant, { actors: actors(), spans }, MAX_REPEATED)
      for (const each of offered) deliver(each)
      previous = now
    } catch (error) {
      deps.log.warn({ err: error, tenant }, 'could not read the unclaimed wake-ups')
    }
  }
  return every(deps.clock, REPEAT_MS, check)
}
