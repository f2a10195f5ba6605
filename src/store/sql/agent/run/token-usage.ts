// Reads the tokens that runs have used: today's for quotas, and the sums over the runs that a viewer sees. Reserves tokens
// for calls in progress.

import type { Db } from '../../../db/db.ts'
import type { Pool } from '../../../db/tenant-pool.ts'
import type { Viewer } from '../../../db/scope.ts'
import { among, howMany, views } from '../../kernel/visible.ts'
import { runVisible } from './run-columns.ts'

/** `limit` is null for no quota. `reserved` excludes the tokens that the run itself has reserved. */
export type Quota = { limit: number | null; used: number; reserved: number }
type Quotas = { participant: Quota; tenant: Quota; resetsAt: Date }

/**
 * Today's (UTC) used tokens and their limits: of the participant in the conversation, and of the tenant. `resetsAt` is
 * the next midnight (UTC). Reserved tokens are not read.
 */
export async function readQuotas(pool: Pool, tenant: string, conversationId: string, actor: string): Promise<Quotas> {
  type Row = {
    participantLimit: number | null
    participantUsed: number
    tenantLimit: number | null
    tenantUsed: number
    resetsAt: Date
  }
  const { rows } = await pool.query<Row>({
    scope: tenant,
    name: 'read-token-quotas',
    text: `SELECT (SELECT (p.agent->>'tokensPerDay')::integer FROM participant p WHERE p.conversation_id = $2 AND p.actor = $3) AS "participantLimit",
                  coalesce((SELECT u.prompt_tokens + u.completion_tokens FROM token_usage u
                            WHERE u.conversation_id = $2 AND u.actor = $3 AND u.day = d.day), 0) AS "participantUsed",
                  (SELECT s.tokens_per_day FROM tenant_settings s WHERE s.tenant = $1) AS "tenantLimit",
                  coalesce((SELECT u.prompt_tokens + u.completion_tokens FROM tenant_usage u
                            WHERE u.tenant = $1 AND u.day = d.day), 0) AS "tenantUsed",
                  (d.day + 1)::timestamp AT TIME ZONE 'UTC' AS "resetsAt"
           FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS day) d`,
    values: [tenant, conversationId, actor],
  })
  const { participantLimit, participantUsed, tenantLimit, tenantUsed, resetsAt } = rows[0]!
  return {
    participant: { limit: participantLimit, used: participantUsed, reserved: 0 },
    tenant: { limit: tenantLimit, used: tenantUsed, reserved: 0 },
    resetsAt,
  }
}

/**
 * Reserves tokens for the next call of the run, if the quotas allow the call to begin (prisma/functions/reserve_tokens.sql).
 * Returns whether it may begin, and the quotas; null if the process no longer has the lease of the run.
 */
export async function reserveTokens(
  pool: Pool,
  { tenant, runId, holder, leaseMs }: { tenant: string; runId: string; holder: string; leaseMs: number },
  tokens: number,
): Promise<(Quotas & { begins: boolean }) | null> {
  type Row = {
    begins: boolean
    participantLimit: number | null
    participantUsed: number
    participantReserved: number
    tenantLimit: number | null
    tenantUsed: number
    tenantReserved: number
    resetsAt: Date
  }
  const { rows } = await pool.query<Row>({
    scope: tenant,
    name: 'reserve-tokens',
    text: `SELECT begins, participant_limit AS "participantLimit", participant_used AS "participantUsed",
                  participant_reserved AS "participantReserved", tenant_limit AS "tenantLimit", tenant_used AS "tenantUsed",
                  tenant_reserved AS "tenantReserved", resets_at AS "resetsAt"
           FROM reserve_tokens($1, $2, $3::integer, $4::integer)`,
    values: [runId, holder, tokens, leaseMs],
  })
  const [row] = rows
  return row
    ? {
        begins: row.begins,
        participant: { limit: row.participantLimit, used: row.participantUsed, reserved: row.participantReserved },
        tenant: { limit: row.tenantLimit, used: row.tenantUsed, reserved: row.tenantReserved },
        resetsAt: row.resetsAt,
      }
    : null
}

export type TokenSum = { conversationId: string; actor: string; prompt: number; completion: number }

/** The tokens of the runs that the viewer sees, by conversation and agent. Uses the index run_newest. */
export function readTokenSums(db: Db, viewer: Viewer, conversationIds: readonly string[]): Promise<TokenSum[]> {
  return db.of(viewer.tenant).$queryRaw<TokenSum[]>`
    SELECT r.conversation_id AS "conversationId", r.actor, sum(r.prompt_tokens)::double precision AS prompt,
           sum(r.completion_tokens)::double precision AS completion
    FROM (${views(viewer, among(conversationIds, howMany(conversationIds)))}) v
    JOIN run r ON r.conversation_id = v.id WHERE ${runVisible} GROUP BY 1, 2`
}
