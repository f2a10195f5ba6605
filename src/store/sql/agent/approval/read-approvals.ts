// Reads the approvals that a viewer sees, which are those of tool calls in visible turns: by id, as a list, or by run.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { ApprovalState } from '../../../generated/enums.ts'
import { empty, join, raw, sql, type Sql } from '../../kernel/sql.ts'
import { views, visible } from '../../kernel/visible.ts'
import type { Viewer } from '../../../db/scope.ts'

export type ApprovalRow = {
  id: string
  conversationId: string
  runId: string
  /** The turn with the call. */
  turnId: string
  callId: string
  toolName: string
  /** Hash of the call (callHash); null after its erasure, and if an older version of the server requested the approval. */
  callHash: string | null
  state: ApprovalState
  /** Arguments given with the decision; null to use those of the turn. */
  editedArguments: unknown
  reason: string | null
  decidedBy: string | null
  decidedAt: Date | null
  requestedAt: Date
  expiresAt: Date
}

const APPROVAL_COLUMNS = raw(`
  a.id, a.conversation_id AS "conversationId", a.run_id AS "runId", a.turn_id AS "turnId", a.call_id AS "callId",
  a.tool_name AS "toolName", a.call_hash AS "callHash", a.state, a.edited_arguments AS "editedArguments", a.reason, a.decided_by AS "decidedBy",
  a.decided_at AS "decidedAt", a.requested_at AS "requestedAt", a.expires_at AS "expiresAt"`)

const seen = (viewer: Viewer): Sql => sql`
  JOIN turn t ON t.id = a.turn_id AND t.conversation_id = a.conversation_id CROSS JOIN LATERAL (${views(viewer, raw('c.id = a.conversation_id'))}) v`

/** The visible approvals among the ids, unordered. Uses the primary key. */
export const readApprovals = (db: Tx, viewer: Viewer, ids: readonly string[]): Promise<ApprovalRow[]> =>
  db.$queryRaw<ApprovalRow[]>`
    SELECT ${APPROVAL_COLUMNS} FROM approval a ${seen(viewer)} WHERE a.id = ANY (${ids}::text[]) AND ${visible()}`

/** A position in a list of approvals. */
export type ApprovalPosition = { requestedAt: Date; id: string }

type Between = {
  limit: number
  /** Only approvals further down the list than `after`, and further up than `before`. */
  after: ApprovalPosition | null
  before: ApprovalPosition | null
  backwards: boolean
}

type ApprovalList = Between & {
  state: ApprovalState | null
  /** Null for all conversations. */
  conversationIds: readonly string[] | null
}

const place = ({ requestedAt, id }: ApprovalPosition): Sql => sql`(${requestedAt}::timestamptz, ${id}::text)`

/**
 * The visible approvals that match, newest request first unless `backwards`. Uses the index approval_newest or
 * approval_pending.
 */
export function pageApprovals(db: Db, viewer: Viewer, list: ApprovalList): Promise<ApprovalRow[]> {
  const { state, conversationIds, after, before, backwards, limit } = list
  const conditions = [sql`a.tenant = ${viewer.tenant}::text`, visible()]
  // Not a parameter, so that the planner can use the index of pending approvals.
  if (state === 'PENDING') conditions.push(raw(`a.state = 'PENDING'`))
  else if (state !== null) conditions.push(sql`a.state = ${state}::approval_state`)
  if (conversationIds !== null) conditions.push(sql`a.conversation_id = ANY (${conversationIds}::text[])`)
  if (after) conditions.push(sql`(a.requested_at, a.id) < ${place(after)}`)
  if (before) conditions.push(sql`(a.requested_at, a.id) > ${place(before)}`)
  const order = raw(backwards ? 'a.requested_at, a.id' : 'a.requested_at DESC, a.id DESC')
  return db.of(viewer.tenant).$queryRaw<ApprovalRow[]>`
    SELECT ${APPROVAL_COLUMNS} FROM approval a ${seen(viewer)} WHERE ${join(conditions, ' AND ')}
    ORDER BY ${order} LIMIT ${limit}::integer`
}

/** For each run, its visible approvals in the order of their requests, at most `limit`. Uses the index approval_run. */
export function pageApprovalsOfRuns(
  db: Db,
  viewer: Viewer,
  runIds: readonly string[],
  { after, before, backwards, limit }: Between,
): Promise<ApprovalRow[]> {
  const order = raw(backwards ? 'a.requested_at DESC, a.id DESC' : 'a.requested_at, a.id')
  return db.of(viewer.tenant).$queryRaw<ApprovalRow[]>`
    SELECT x.* FROM unnest(${runIds}::text[]) AS r(id) CROSS JOIN LATERAL (
      SELECT ${APPROVAL_COLUMNS} FROM approval a ${seen(viewer)}
      WHERE a.run_id = r.id AND ${visible()}
        ${after ? sql`AND (a.requested_at, a.id) > ${place(after)}` : empty}
        ${before ? sql`AND (a.requested_at, a.id) < ${place(before)}` : empty}
      ORDER BY ${order} LIMIT ${limit}::integer) x`
}

/** The approvals, by id, without regard to any view. For the journal, whose entries carry the visibility of the turn. */
export async function readApprovalsById(
  pool: Pool,
  tenant: string,
  ids: readonly string[],
): Promise<Map<string, ApprovalRow>> {
  const { rows } = await pool.query<ApprovalRow>({
    scope: tenant,
    name: 'journal-approvals',
    text: sql`SELECT ${APPROVAL_COLUMNS} FROM approval a WHERE a.id = ANY ($1::text[])`.text,
    values: [ids],
  })
  return new Map(rows.map((approval) => [approval.id, approval]))
}
