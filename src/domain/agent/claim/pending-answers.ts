// The answers that a conversation waits for, so that a client knows whether a turn will be answered.

import { readPendingAnswers, type PendingAnswerRow } from '../../../store/sql/agent/wake-up/read-pending-answers.ts'
import { authorize, withinReach } from '../../kernel/rights/authorize.ts'
import { requireStrings } from '../../kernel/input.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

export type PendingAnswer = PendingAnswerRow

/** Maximum number of pending answers of a conversation that a read returns. */
export const MAX_PENDING_ANSWERS = 100

/**
 * Returns the answers that each conversation waits for, oldest first: of participants that a turn in the viewer's view
 * woke up, and of runs that the viewer sees. An answer is pending until it is committed, or is given up. Returns the
 * newest MAX_PENDING_ANSWERS.
 */
export async function getPendingAnswers(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, PendingAnswer[]>> {
  authorize(viewer, 'getPendingAnswers')
  requireStrings(conversationIds, 'conversationIds')
  const rows = await readPendingAnswers(pool, viewer, withinReach(viewer, conversationIds), MAX_PENDING_ANSWERS)
  const answersOf = new Map<string, PendingAnswer[]>(conversationIds.map((id) => [id, []]))
  for (const row of rows) answersOf.get(row.conversationId)!.push(row)
  return answersOf
}
