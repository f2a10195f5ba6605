// Reads the rows of a conversation, with the physical position, the writer and the last locker of each, so that a test
// can compare them and detect any write or lock. Postgres stores a row's last locker in xmax, on both databases. In the
// tables `conversation` and `fact`, the embedding workers lock rows, so only their contents are read.

import type { Pool } from '../../src/store/db/tenant-pool.ts'
import { sql } from './sql.ts'

/** Tables whose rows the embedding workers do not lock. */
export const UNLOCKED = ['journal', 'participant', 'entry', 'turn', 'tool_call', 'summary', 'fact_source']

/** The rows of the conversation, or of all conversations, by table. */
export async function rowsOf(pool: Pool, conversationId: string | null = null): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {}
  const read = async (table: string, columns: string, condition: string, order: string) => {
    const text = `SELECT ${columns} FROM ${table} t WHERE $1::text IS NULL OR ${condition} ORDER BY t.${order}`
    found[table] = (await sql(pool).query(text, [conversationId])).rows
  }
  const physical = 't.ctid::text, t.xmin::text, t.xmax::text AS "lockedBy", t.*'
  for (const table of UNLOCKED) await read(table, physical, 't.conversation_id = $1', 'ctid')
  const open = 't.turn_id IN (SELECT x.id FROM turn x WHERE x.conversation_id = $1)'
  for (const table of ['stream', 'chunk']) await read(table, physical, open, 'ctid')
  await read('conversation', 'to_jsonb(t) AS row', 't.id = $1', 'id')
  await read(
    'fact',
    `to_jsonb(t) - '{embedded_by,recalled_at,recalled_on,recall_days}'::text[] AS row`,
    't.conversation_id = $1',
    'id',
  )
  return found
}

type Rows = Record<string, unknown[]>
type Lockable = { lockedBy?: string }

/** Returns the earlier rows without the lockers that a vacuum has cleared since. */
export function afterVacuum(before: Rows, after: Rows): Rows {
  const keyOf = (row: Lockable) => JSON.stringify({ ...row, lockedBy: '0' })
  const tables = Object.entries(before).map(([table, rows]) => {
    const unlocked = (after[table] as Lockable[] | undefined)?.filter(({ lockedBy }) => lockedBy === '0')
    const cleared = new Set(unlocked?.map(keyOf))
    return [
      table,
      (rows as Lockable[]).map((row) => (row.lockedBy && cleared.has(keyOf(row)) ? { ...row, lockedBy: '0' } : row)),
    ] as const
  })
  return Object.fromEntries(tables)
}
