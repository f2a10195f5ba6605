// The wake-ups that inboxes deliver: those that wait when an inbox opens, those of new turns, and those whose claim ended
// without an answer. Each wake-up that nobody has claimed shortly after it was offered is delivered once more, because
// the bus may lose the message that announced it. Consumers claim a turn before they answer, so repetitions do no harm.

import {
  readOfferedWakeUps,
  readTimeBefore,
  readUnclaimedWakeUps,
  readWakeUpsOfTurns,
  type WakeUpPosition,
  type WakeUpRow,
} from '../../store/sql/wake-up/read-wake-ups.ts'
import { startPeriodic } from '../job/periodic.ts'
import type { Platform } from '../platform.ts'
import type { Viewer } from '../view.ts'
import type { JournalEvent } from './event.ts'

/** Wake-ups per read. */
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

/** Returns the id of the turn that the event may offer to participants; null for none. */
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

/** Interval of the check for wake-ups that nobody has claimed, and their minimum age, in ms. */
export const REPEAT_MS = 10_000
/** Maximum number of wake-ups that one check delivers again. Inboxes that open later deliver the others. */
const MAX_REPEATED = 1_000

/**
 * Delivers each wake-up of the actors once more that is unclaimed 1 to 2 times REPEAT_MS after it was offered. The
 * intervals adjoin by the database's clock, so no wake-up is in two of them. Returns a function that stops the checks.
 */
export function repeatWakeUps(
  deps: Pick<Platform, 'pool' | 'log'>,
  tenant: string,
  actors: () => readonly string[],
  deliver: (wakeUp: WakeUpRow) => void,
): () => Promise<void> {
  let from: Date | null = null
  async function check(): Promise<void> {
    try {
      const to = await readTimeBefore(deps.pool, tenant, REPEAT_MS)
      const since = from ?? new Date(to.getTime() - REPEAT_MS)
      from = to
      for (const each of await readOfferedWakeUps(deps.pool, tenant, actors(), { from: since, to }, MAX_REPEATED)) {
        deliver(each)
      }
    } catch (error) {
      deps.log.warn({ err: error, tenant }, 'could not read the wake-ups that nobody has claimed')
    }
  }
  return startPeriodic(REPEAT_MS, check)
}
