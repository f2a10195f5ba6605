// A conversation's newest history with summaries in the place of what they cover. What they never cover stands where it stood.

import { pageTurns } from '../../store/sql/turn/page-turns.ts'
import { readNeverCoveredTurns } from '../../store/sql/summary/read-never-covered-turns.ts'
import type { Platform } from '../platform.ts'
import { historyPage, type HistoryArgs } from '../turn/history.ts'
import { withTextSoFar, type Turn } from '../turn/turn.ts'
import type { Viewer } from '../view.ts'
import { coveringSummaries, type Summary } from './summary.ts'

/** Beyond every version of a place. */
const END = 2 ** 31 - 1

export const isSummary = (entry: Turn | Summary): entry is Summary => 'fromSeq' in entry
const placeOf = (entry: Turn | Summary) => (isSummary(entry) ? entry.fromSeq : entry.rootSeq)

/**
 * Each conversation's newest turns and summaries, at most `limit` (50) of them, oldest first: a summary at the place where what
 * it covers begins, the turns that it covers left out. With a place before seq `before`.
 * @throws InvalidInput
 */
export async function historyWithSummaries(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: HistoryArgs,
): Promise<Map<string, (Turn | Summary)[]>> {
  const { size, before } = historyPage(deps, args)
  const edge = before ?? END
  const covering = await coveringSummaries(deps, viewer, conversationIds)
  const found = new Map<string, (Turn | Summary)[]>()
  for (const conversationId of conversationIds) {
    const summaries = (covering.get(conversationId) ?? []).filter(({ fromSeq }) => fromSeq < edge)
    const through = covering.get(conversationId)?.at(-1)?.toSeq ?? 0
    const after = await pageTurns(deps.pool, viewer, [conversationId], {
      limit: size,
      from: 'newest',
      after: { rootSeq: through, seq: END },
      before: { rootSeq: edge, seq: 0 },
    })
    const standing = through ? await readNeverCoveredTurns(deps.pool, viewer, conversationId, through, edge, size) : []
    const turns = [...(after.get(conversationId) ?? []), ...standing]
    await withTextSoFar(deps, viewer.tenant, turns)
    found.set(conversationId, [...turns, ...summaries].sort((a, b) => placeOf(a) - placeOf(b)).slice(-size))
  }
  return found
}

/** For each conversation, the newest version of the last turn that its summaries cover; without summaries, no key. */
export async function summarizedThrough(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, Turn>> {
  const found = new Map<string, Turn>()
  for (const [conversationId, summaries] of await coveringSummaries(deps, viewer, conversationIds)) {
    const place = summaries.at(-1)!.toSeq
    const turns = await pageTurns(deps.pool, viewer, [conversationId], {
      limit: 1,
      from: 'newest',
      after: { rootSeq: place - 1, seq: END },
      before: { rootSeq: place + 1, seq: 0 },
    })
    const turn = turns.get(conversationId)?.[0]
    if (turn) found.set(conversationId, turn)
  }
  return found
}
