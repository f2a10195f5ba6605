// Reads the wake-ups that wait for an answer: not answered, not dropped, and about a turn that the participant still
// sees. Named statements of pg: inboxes read them for each batch of events.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Viewer } from '../../../db/scope.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'
import { visible } from '../../kernel/visible.ts'

/** A wake-up that waits for an answer. `at`: time at which the turn woke up the participant. */
export type WakeUpRow = { turnId: string; actor: string; conversationId: string; at: Date }

/** A wake-up with the live claim that keeps the participant from answering; the claim's columns are null for none. */
export type ClaimedWakeUpRow = WakeUpRow & {
  holder: string | null
  slot: string | null
  /** Null while a streaming turn keeps the claim. */
  expiresAt: Date | null
}

/** Position of a wake-up in a list, which is in the order of `at`, then `turnId`. */
export type WakeUpPosition = Pick<WakeUpRow, 'at' | 'turnId'>

const COLUMNS = raw(`w.turn_id AS "turnId", w.actor, w.conversation_id AS "conversationId", w.created_at AS at`)

const WAITING: Sql = sql`
  w.answered_at IS NULL AND w.dropped_reason IS NULL
  AND EXISTS (
    SELECT FROM participant p JOIN turn t ON t.id = w.turn_id AND t.conversation_id = w.conversation_id
    WHERE p.conversation_id = w.conversation_id AND p.actor = w.actor AND p.left_at IS NULL
      AND t.status = 'COMMITTED' AND ${visible('t', 'p')})`

/** The live claim `k` that keeps the participant of wake-up `w` from answering. At most one is live. */
const LIVE_CLAIM: Sql = raw(`(
  SELECT k.actor, k.slot, k.answer_id, k.expires_at FROM claim k
  WHERE k.turn_id = w.turn_id AND k.slot IN ('', w.actor) AND k.ended_at IS NULL
    AND (k.answer_id IS NOT NULL OR k.expires_at > now()) LIMIT 1)`)

/** The run `r` of the server that answers wake-up `w` and has not ended. Uses the index run_client_id. */
export const LIVE_RUN: Sql = raw(`(
  SELECT r.id, r.actor FROM run r
  WHERE w.attempts > 0 AND r.conversation_id = w.conversation_id AND r.viewer = w.actor
    AND r.client_id = 'wake-up:' || w.turn_id || ':' || w.attempts AND r.ended_at IS NULL)`)

/** Wake-ups that a process may claim: neither claimed nor answered by a run, which may wait for tools or approval. */
const UNCLAIMED: Sql = sql`${WAITING} AND NOT EXISTS ${LIVE_CLAIM} AND NOT EXISTS ${LIVE_RUN}`

const READ_PAGE = sql`
  SELECT ${COLUMNS} FROM wake_up w
  WHERE w.tenant = $1::text AND w.actor = $2::text
    AND ($3::timestamptz IS NULL OR (w.created_at, w.turn_id) > ($3::timestamptz, $4::text)) AND ${UNCLAIMED}
  ORDER BY w.created_at, w.turn_id LIMIT $5::integer`.text

/** The viewer's wake-ups without a live claim, oldest first, after the position `after`. Uses the index wake_up_pending. */
export async function readUnclaimedWakeUps(
  pool: Pool,
  { tenant, actor }: Viewer,
  after: WakeUpPosition | null,
  limit: number,
): Promise<WakeUpRow[]> {
  const values = [tenant, actor, after?.at ?? null, after?.turnId ?? null, limit]
  const { rows } = await pool.query<WakeUpRow>({
    scope: tenant,
    name: 'read-unclaimed-wake-ups',
    text: READ_PAGE,
    values,
  })
  return rows
}

const READ_CLAIMED_PAGE = sql`
  SELECT ${COLUMNS}, k.actor AS holder, k.slot, CASE WHEN k.answer_id IS NULL THEN k.expires_at END AS "expiresAt"
  FROM wake_up w LEFT JOIN LATERAL ${LIVE_CLAIM} k ON true
  WHERE w.tenant = $1::text AND w.actor = $2::text
    AND ($3::timestamptz IS NULL OR (w.created_at, w.turn_id) > ($3::timestamptz, $4::text)) AND ${WAITING}
  ORDER BY w.created_at, w.turn_id LIMIT $5::integer`.text

/** The viewer's wake-ups, with or without a claim, in the same order. */
export async function readWakeUps(
  pool: Pool,
  { tenant, actor }: Viewer,
  after: WakeUpPosition | null,
  limit: number,
): Promise<ClaimedWakeUpRow[]> {
  const { rows } = await pool.query<ClaimedWakeUpRow>({
    scope: tenant,
    name: 'read-wake-ups',
    text: READ_CLAIMED_PAGE,
    values: [tenant, actor, after?.at ?? null, after?.turnId ?? null, limit],
  })
  return rows
}

const READ_OF_TURNS = sql`
  SELECT ${COLUMNS} FROM wake_up w
  WHERE w.turn_id = ANY ($1::text[]) AND w.actor = ANY ($2::text[]) AND ${UNCLAIMED}
  ORDER BY w.created_at, w.turn_id`.text

/** The unclaimed wake-ups of the actors about the turns, oldest first. Uses the primary key. */
export async function readWakeUpsOfTurns(
  pool: Pool,
  tenant: string,
  turnIds: readonly string[],
  actors: readonly string[],
): Promise<WakeUpRow[]> {
  const values = [turnIds, actors]
  const { rows } = await pool.query<WakeUpRow>({
    scope: tenant,
    name: 'read-wake-ups-of-turns',
    text: READ_OF_TURNS,
    values,
  })
  return rows
}

const READ_OFFERED = sql`
  SELECT ${COLUMNS} FROM (
    SELECT w.* FROM unnest($3::timestamptz[], $4::timestamptz[]) AS s(since, until)
    JOIN wake_up w ON w.tenant = $1::text AND w.actor = ANY ($2::text[])
                  AND w.created_at > s.since AND w.created_at <= s.until
    WHERE w.answered_at IS NULL AND w.dropped_reason IS NULL
    UNION
    SELECT w.* FROM unnest($3::timestamptz[], $4::timestamptz[]) AS s(since, until)
    JOIN claim k ON k.tenant = $1::text AND k.ended_at > s.since AND k.ended_at <= s.until
    JOIN wake_up w ON w.turn_id = k.turn_id AND k.slot IN ('', w.actor) AND w.actor = ANY ($2::text[])) w
  WHERE ${UNCLAIMED}
  ORDER BY w.created_at, w.turn_id LIMIT $5::integer`.text

/** A span of time, without its beginning. */
export type Span = { since: Date; until: Date }

/**
 * The unclaimed wake-ups of the actors that were created, or whose last claim ended, within one of the spans, oldest
 * first. Uses the indexes wake_up_pending and claim_ended.
 */
export async function readOfferedWakeUps(
  pool: Pool,
  tenant: string,
  { actors, spans }: { actors: readonly string[]; spans: readonly Span[] },
  limit: number,
): Promise<WakeUpRow[]> {
  const { rows } = await pool.query<WakeUpRow>({
    scope: tenant,
    name: 'read-offered-wake-ups',
    text: READ_OFFERED,
    values: [tenant, actors, spans.map(({ since }) => since), spans.map(({ until }) => until), limit],
  })
  return rows
}
