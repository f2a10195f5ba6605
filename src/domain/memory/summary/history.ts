// Reads a conversation's newest history, in which summaries replace the turns that they cover. The history also
// contains the turns that summaries never cover, such as turns with an audience.

import { InvalidInput } from '../../../errors.ts'
import { pageTurns } from '../../../store/sql/turn/page-turns.ts'
import { readNeverCoveredTurns } from '../../../store/sql/memory/summary/read-never-covered-turns.ts'
import { authorize, withinReach } from '../../kernel/rights/authorize.ts'
import type { Platform } from '../../kernel/platform.ts'
import { HISTORY_BYTES, historyPage, shareOf, wholeHistory, type HistoryArgs } from '../../turn/history.ts'
import { withContentSoFar, type Turn } from '../../turn/turn.ts'
import type { Viewer } from '../../kernel/view.ts'
import { coveringSummaries, type Summary } from './summary.ts'

/** Greater than every seq and every position. */
const MAX_SEQ = 2 ** 31 - 1

export const isSummary = (item: Turn | Summary): item is Summary => 'fromPosition' in item
const positionOf = (item: Turn | Summary) => (isSummary(item) ? item.fromPosition : item.position)

/**
 * Returns each conversation's newest turns and summaries, at most `limit` of both together, oldest first. A summary
 * replaces the turns it covers, at the position of the first of them. `beforePosition` excludes turns with an equal or
 * greater position, and summaries with an equal or greater fromPosition; null includes all. `historyPage` defines the
 * default and the maximum of `limit`.
 * @throws InvalidInput, also if the turns would exceed HISTORY_BYTES, or the conversation's share of it
 */
export async function historyWithSummaries(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: HistoryArgs,
): Promise<Map<string, (Turn | Summary)[]>> {
  authorize(viewer, 'historyWithSummaries')
  const { size, before, after } = historyPage(deps, args)
  if (after !== null) throw InvalidInput.at('afterPosition', 'is exclusive with includeSummaries')
  const end = before ?? MAX_SEQ
  const maxBytes = shareOf(HISTORY_BYTES, conversationIds.length)
  const covering = await coveringSummaries(deps, viewer, conversationIds)
  const histories = new Map<string, (Turn | Summary)[]>()
  for (const conversationId of withinReach(viewer, conversationIds)) {
    const summaries = (covering.get(conversationId) ?? []).filter(({ fromPosition }) => fromPosition < end)
    const through = covering.get(conversationId)?.at(-1)?.toPosition ?? 0
    const newer = await pageTurns(deps.pool, viewer, [conversationId], {
      limit: size,
      maxBytes,
      from: 'newest',
      after: { position: through, seq: MAX_SEQ },
      before: { position: end, seq: 0 },
    })
    const page = { through, before: end, limit: size }
    const older = through ? await readNeverCoveredTurns(deps.pool, viewer, conversationId, page) : []
    const turns = [...wholeHistory(newer.get(conversationId), maxBytes), ...older]
    await withContentSoFar(deps, viewer.tenant, turns)
    histories.set(conversationId, [...turns, ...summaries].sort((a, b) => positionOf(a) - positionOf(b)).slice(-size))
  }
  return histories
}

/**
 * Returns, by conversation id, the newest version of the last turn that the summaries cover. A conversation without
 * summaries has no key.
 */
export async function summarizedThrough(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, Turn>> {
  authorize(viewer, 'summarizedThrough')
  const lastTurns = new Map<string, Turn>()
  for (const [conversationId, summaries] of await coveringSummaries(deps, viewer, conversationIds)) {
    const toPosition = summaries.at(-1)!.toPosition
    const turns = await pageTurns(deps.pool, viewer, [conversationId], {
      limit: 1,
      maxBytes: HISTORY_BYTES,
      from: 'newest',
      after: { position: toPosition - 1, seq: MAX_SEQ },
      before: { position: toPosition + 1, seq: 0 },
    })
    const turn = turns.get(conversationId)?.turns[0]
    if (turn) lastTurns.set(conversationId, turn)
  }
  return lastTurns
}
