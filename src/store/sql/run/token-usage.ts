// Reads the tokens that runs have used: today's for quotas, and the sums over the runs that a viewer sees.

import type { Db } from '../../db.ts'
import type { Pool } from '../../tenant-pool.ts'
import type { Viewer } from '../../viewer.ts'
import { among, howMany, views } from '../visible.ts'
import { runVisible } from './run-columns.ts'

export type Quota = { limit: number | null; used: number }

/**
 * Today's (UTC) tokens and their limits: of the participant in the conversation, and of the tenant. `resetsAt` is the
 * next midnight (UTC).
 */
export async function readQuotas(
  pool: Pool,
  tenant: string,
  conversationId: string,
  actor: string,
): Promise<{ participant: Quota; tenant: Quota; resetsAt: Date }> {
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
    participant: { limit: participantLimit, used: participantUsed },
    tenant: { limit: tenantLimit, used: tenantUsed },
    resetsAt,
  }
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
