// Summaries as the product speaks of them, and who may have one. A summary stands for the committed turns without
// audience at the places fromSeq to toSeq; turns with an audience, broken-off ones and open ones are never in it. It is
// for those alone whose view spans all that it was made of: for everybody else these turns stand verbatim.

import {
  readCurrentSummaries,
  readSummaries,
  type SeenSummary,
  type SummaryRow,
} from '../../store/sql/summary/read-summaries.ts'
import type { Platform } from '../platform.ts'
import { kindOf } from '../id.ts'
import { seesNothingOf, spans, type Viewer } from '../view.ts'

/** A summary that a viewer sees, without the columns that decide who sees it. */
export type Summary = Omit<SummaryRow, 'newestSeq' | 'turns'>

const toSummary = ({ windows, newestSeq, turns, ...summary }: SeenSummary): Summary => summary

/**
 * The current summaries of each conversation that stand for its oldest turns in the viewer's view, oldest first; a conversation without
 * any has no key. They leave no turn out: of the committed turns without audience that the viewer sees, each one up to
 * the last toSeq is covered by exactly one of them. Hence they end before the first that the viewer sees but a part of.
 */
export async function coveringSummaries(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, Summary[]>> {
  const found = new Map<string, Summary[]>()
  const ended = new Set<string>()
  for (const row of await readCurrentSummaries(db, viewer, conversationIds)) {
    const conversationId = row.conversationId
    if (ended.has(conversationId) || seesNothingOf(row, row)) continue
    if (!spans(row, row)) ended.add(conversationId)
    else if (found.has(conversationId)) found.get(conversationId)!.push(toSummary(row))
    else found.set(conversationId, [toSummary(row)])
  }
  return found
}

/** `coveringSummaries` of one conversation; empty where there are none, or none for this viewer. */
export async function getCoveringSummaries(
  deps: Pick<Platform, 'db'>,
  viewer: Viewer,
  conversationId: string,
): Promise<Summary[]> {
  return (await coveringSummaries(deps, viewer, [conversationId])).get(conversationId) ?? []
}

/** The summaries that the viewer may see, by id, superseded ones included. A stale summary, which an edit made untrue, has no key. */
export async function getSummaries(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Summary>> {
  const rows = await readSummaries(
    db,
    viewer,
    ids.filter((each) => kindOf(each) === 'summary'),
  )
  return new Map(rows.filter((row) => spans(row, row)).map((row) => [row.id, toSummary(row)]))
}
