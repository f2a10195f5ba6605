// Reads summaries. A summary covers the committed turns without an audience from position fromPosition to toPosition;
// turns with an audience, aborted turns and streaming turns are never covered. A viewer may read a summary only if the
// viewer sees every turn version from which it was made; every other viewer receives the turns instead.

import {
  currentSummariesRead,
  readSummaries,
  type SummaryWithWindows,
  type SummaryRow,
} from '../../../store/sql/memory/summary/read-summaries.ts'
import { readOne, type Read } from '../../../store/db/read.ts'
import type { Platform } from '../../kernel/platform.ts'
import { authorize, isWithinReach, withinReach } from '../../kernel/rights/authorize.ts'
import { requireStrings } from '../../kernel/input.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import { paging, slice, type Page, type Paging } from '../../kernel/page.ts'
import { kindOf } from '../../kernel/id.ts'
import { seesNoneOf, seesAllOf, type Viewer } from '../../kernel/view.ts'

/** A summary that a viewer sees, without the columns that determine its visibility. */
export type Summary = Omit<SummaryRow, 'newestSeq' | 'turns'>

const toSummary = ({ windows, newestSeq, turns, ...summary }: SummaryWithWindows): Summary => summary

/**
 * Returns the current summaries that cover the oldest turns in the viewer's view, oldest first; a conversation without
 * such summaries has no key. Each committed turn without an audience that the viewer sees, up to the last toPosition,
 * is covered by exactly one of them. So the list ends before the first summary that covers some turns that the viewer
 * sees and some that the viewer does not see.
 */
export async function coveringSummaries(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, Summary[]>> {
  authorize(viewer, 'coveringSummaries')
  return covering(
    await readOne(pool, viewer.tenant, currentSummariesRead(viewer, withinReach(viewer, conversationIds))),
  )
}

/** Selects from the current summaries those that `coveringSummaries` returns. */
function covering(current: readonly SummaryWithWindows[]): Map<string, Summary[]> {
  const found = new Map<string, Summary[]>()
  const ended = new Set<string>()
  for (const row of current) {
    const conversationId = row.conversationId
    if (ended.has(conversationId) || seesNoneOf(row, row)) continue
    if (!seesAllOf(row, row)) ended.add(conversationId)
    else if (found.has(conversationId)) found.get(conversationId)!.push(toSummary(row))
    else found.set(conversationId, [toSummary(row)])
  }
  return found
}

const CURSOR = cursorFormat<number>(
  (position) => `summary:${position}`,
  /^summary:(\d{1,10})$/,
  (position) => Number(position),
)

/** Returns the cursor of a summary: the position of the first turn that it covers. */
export const summaryCursor = ({ fromPosition }: Summary): string => CURSOR.encode(fromPosition)

/** Returns a page of one conversation's `coveringSummaries`. @throws InvalidInput */
export function pageOfSummaries(
  { limits }: Pick<Platform, 'limits'>,
  summaries: readonly Summary[],
  args: Paging,
): Page<Summary> {
  const page = paging(args, limits.pageSize)
  const after = page.after === null ? -Infinity : CURSOR.decode(page.after, 'after')
  const before = page.before === null ? Infinity : CURSOR.decode(page.before, 'before')
  const between = summaries.filter(({ fromPosition }) => fromPosition > after && fromPosition < before)
  return slice(page.backwards ? between.toReversed() : between, page)
}

/** Returns the `coveringSummaries` of one conversation; empty if there are none. */
export const getCoveringSummaries = (
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  conversationId: string,
): Promise<Summary[]> => readOne(pool, viewer.tenant, coveringSummariesRead(viewer, conversationId))

/** The read of `getCoveringSummaries`. */
export function coveringSummariesRead(viewer: Viewer, conversationId: string): Read<Summary[]> {
  authorize(viewer, 'getCoveringSummaries')
  const { statement, toResult } = currentSummariesRead(viewer, withinReach(viewer, [conversationId]))
  return { statement, toResult: (rows) => covering(toResult(rows)).get(conversationId) ?? [] }
}

/**
 * Returns the given summaries that the viewer may read, by id, superseded ones included. A stale summary, which an edit
 * made outdated, has no key.
 */
export async function getSummaries(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Summary>> {
  authorize(viewer, 'getSummaries')
  requireStrings(ids, 'ids')
  const rows = await readSummaries(
    db,
    viewer,
    ids.filter((each) => kindOf(each) === 'summary'),
  )
  const seen = rows.filter((row) => seesAllOf(row, row) && isWithinReach(viewer, row.conversationId))
  return new Map(seen.map((row) => [row.id, toSummary(row)]))
}
