// Reads where the context of a run that regenerates a reply ends, and the later turns that belong to the run: its
// replies, and the results of their tool calls. Uses the keys of provider_call, tool_call and tool_result.

import type { Pool } from '../../../db/tenant-pool.ts'

export type RunContextEnd = {
  /** Position of the reply that is regenerated. */
  before: number
  /** Positions of the turns of the run, ascending. Results from before a reply answered calls of an older version. */
  own: number[]
}

/** Returns the end; null for a run whose replies are new turns. */
export async function readContextEnd(pool: Pool, tenant: string, runId: string): Promise<RunContextEnd | null> {
  const { rows } = await pool.query<RunContextEnd>({
    scope: tenant,
    name: 'read-context-end',
    text: `
      SELECT o.root_seq AS before, ARRAY(
        WITH reply AS MATERIALIZED (
          SELECT t.id, t.seq, t.root_seq FROM provider_call c
          JOIN turn t ON t.id = c.turn_id AND t.conversation_id = r.conversation_id
          WHERE c.run_id = r.id)
        SELECT p.root_seq FROM reply p
        UNION
        SELECT y.root_seq FROM reply p
        JOIN tool_call k ON k.conversation_id = r.conversation_id AND k.turn_id = p.id
        JOIN tool_result e ON e.conversation_id = r.conversation_id AND e.call_id = k.call_id
                          AND e.call_position = p.root_seq
        JOIN turn y ON y.id = e.turn_id AND y.conversation_id = r.conversation_id AND y.root_seq > p.seq
        ORDER BY 1) AS own
      FROM run r JOIN turn o ON o.id = r.supersedes_id AND o.conversation_id = r.conversation_id
      WHERE r.id = $1::text`,
    values: [runId],
  })
  return rows[0] ?? null
}
