// Reads the tools that tool calls name, as a viewer sees the calls. A named statement of pg: each turn with results runs it.

import type { Pool } from 'pg'
import { raw, sql } from '../sql.ts'
import { VIEWER, views, visible } from '../visible.ts'

const STATEMENT = sql`
  SELECT DISTINCT k.call_id AS "callId", p.part->>'name' AS name
  FROM (${views(VIEWER, raw('c.id = $3::text'))}) v
  JOIN tool_call k ON k.conversation_id = v.id AND k.call_id = ANY ($4::text[])
  JOIN turn t ON t.id = k.turn_id
  CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(t.parts) WHEN 'array' THEN t.parts ELSE '[]' END) AS p(part)
  WHERE p.part->>'type' = 'toolCall' AND p.part->>'callId' = k.call_id AND ${visible()}`.text

/** The visible calls with the ids, each once for every tool that it names, in no order. Uses the key of tool_call. */
export async function readCallNames(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationId: string,
  callIds: readonly string[],
): Promise<{ callId: string; name: string }[]> {
  const { rows } = await pool.query<{ callId: string; name: string }>({
    name: 'read-call-names',
    text: STATEMENT,
    values: [viewer.tenant, viewer.actor, conversationId, callIds],
  })
  return rows
}
