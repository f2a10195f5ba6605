// Reads a turn with the claims on it, by primary keys, in one statement: it suffices to refuse a call.

import type { Tx } from '../../../db/db.ts'
import type { TurnStatus } from '../../../generated/enums.ts'
import type { Viewer } from '../../../db/scope.ts'
import { raw, sql } from '../../kernel/sql.ts'
import { views, visible } from '../../kernel/visible.ts'
import { LIVE_RUN } from '../wake-up/read-wake-ups.ts'
import { CLAIM_COLUMNS, type ClaimRow } from './claim-columns.ts'

/** A turn that the viewer sees, and the newest claim of each slot on it. */
export type ClaimableTurn = {
  conversationId: string
  /** Id of the first version. */
  firstId: string
  /** Status of the first version. */
  status: TurnStatus
  /** Whether the viewer is in the conversation. */
  isPresent: boolean
  /** Whether the viewer's wake-up was answered or dismissed, and the turn that answered; null for none. */
  isWakeUpOver: boolean
  wakeUpAnswerId: string | null
  /** A run of the server that answers the turn and has not ended, the viewer's first; null for none. */
  runId: string | null
  runActor: string | null
  claims: ClaimRow[]
}

/** The turn, given by the id of any version; null if the viewer does not see that version. */
export async function readClaimableTurn(db: Tx, viewer: Viewer, turnId: string): Promise<ClaimableTurn | null> {
  type Flat = Omit<ClaimableTurn, 'claims' | 'conversationId'> & { inConversation: string } & (
      | ClaimRow
      | { slot: null }
    )
  const rows = await db.$queryRaw<Flat[]>(sql`
    SELECT t.conversation_id AS "inConversation", f.id AS "firstId", f.status, p.actor IS NOT NULL AS "isPresent",
           w.answered_at IS NOT NULL AS "isWakeUpOver", w.answer_id AS "wakeUpAnswerId",
           x.id AS "runId", x.actor AS "runActor", ${CLAIM_COLUMNS}
    FROM turn t
    JOIN LATERAL (${views(viewer, raw('c.id = t.conversation_id'))}) v ON ${visible('t', 'v')}
    JOIN turn f ON f.conversation_id = t.conversation_id AND f.root_seq = t.root_seq AND f.seq = t.root_seq
    LEFT JOIN participant p ON p.conversation_id = t.conversation_id AND p.actor = ${viewer.actor}::text AND p.left_at IS NULL
    LEFT JOIN wake_up w ON w.turn_id = f.id AND w.actor = ${viewer.actor}::text
    LEFT JOIN LATERAL (
      SELECT r.id, r.actor FROM wake_up w CROSS JOIN LATERAL ${LIVE_RUN} r
      WHERE w.turn_id = f.id ORDER BY r.actor = ${viewer.actor}::text DESC LIMIT 1) x ON true
    LEFT JOIN claim k ON k.turn_id = f.id
    WHERE t.id = ${turnId}::text
    ORDER BY k.slot`)
  const [first] = rows
  if (!first) return null
  const { inConversation, firstId, status, isPresent, isWakeUpOver, wakeUpAnswerId, runId, runActor } = first
  const claims = rows.filter((row): row is Flat & ClaimRow => row.slot !== null)
  const turn = { firstId, status, isPresent, isWakeUpOver, wakeUpAnswerId, runId, runActor }
  return { conversationId: inConversation, ...turn, claims }
}
