// Reads the rows that no viewer of the access matrix may change.

import { rowsOf } from '../../support/rows.ts'
import { sql } from '../../support/sql.ts'
import type { Pool } from '../../../src/store/db/tenant-pool.ts'
import type { Ids, Pair } from './filled-world.ts'
import type { Row } from './rows.ts'

/**
 * Returns the rows that contain an id of the objects, or also of their conversation, by table; except API keys, which may be limited to any conversation,
 * and the audit log, which records refused requests.
 */
export async function rowsContaining(
  pool: Pool,
  ids: Ids,
  of: 'CONVERSATION' | 'OBJECTS',
): Promise<Record<string, unknown[]>> {
  const { rows: tables } = await sql(pool).query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT IN ('api_key', 'audit_line') ORDER BY 1`,
  )
  const parts = tables.map(
    ({ name }) => `SELECT '${name}' AS name, row FROM
      (SELECT (to_jsonb(t) - '{embedded_by,recalled_at,recalled_on,recall_days}'::text[])::text AS row FROM "${name}" t) r WHERE row LIKE ANY ($1::text[])`,
  )
  const { rows } = await sql(pool).query<{ name: string; row: string }>(`${parts.join(' UNION ALL ')} ORDER BY 1, 2`, [
    [...objectsOf(ids), ...(of === 'OBJECTS' ? [] : [ids.conversation])].map((id) => `%${id}%`),
  ])
  const found: Record<string, unknown[]> = {}
  for (const { name, row } of rows) (found[name] ??= []).push(row)
  return found
}

const objectsOf = (ids: Ids) =>
  [ids.turn, ids.open, ids.fact, ids.run, ids.approval, ids.summary, ids.context, ...ids.others].filter(Boolean)

/**
 * Returns the rows of the hidden conversation with their locks, see rowsOf. If the viewer sees the conversation itself,
 * returns only the contents of the rows that contain the id of a private turn or its objects.
 */
export async function rowsOfConversation(pool: Pool, { of }: Row, pair: Pair): Promise<Record<string, unknown[]>> {
  const rows = await rowsOf(pool, pair.hidden.ids.conversation)
  if (of !== 'WHISPER') return rows
  const contents = Object.entries(rows).map(([table, found]) => {
    const texts = found.map((each) => JSON.stringify({ ...(each as object), ctid: null, xmin: null, lockedBy: null }))
    return [table, texts.filter((text) => objectsOf(pair.hidden.ids).some((id) => text.includes(id))).sort()] as const
  })
  return Object.fromEntries(contents)
}
