// The migration that identifies tool calls by their turn names the call of each stored result, unless it is ambiguous.

import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { migrate } from '../../../src/store/migrate.ts'
import { backends } from '../../support/backend.ts'
import { sql } from '../../support/sql.ts'
import { isLong } from '../../support/long.ts'

const migrations = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))
const CALLS = '20261125100000_calls_and_replies'

const call = (callId: string, name = 'look') => ({ type: 'toolCall', callId, name, arguments: {} })
const result = (callId: string, name = 'look') => ({ type: 'toolResult', callId, name, result: 1 })

/** Stored turns in the order of their journal entries: id, author, parts, and the audience. */
const TURNS: [id: string, actor: string, parts: unknown, audience?: string[]][] = [
  ['only', 'ann', [call('a')]],
  ['answers only', 'hand', [{ type: 'text', text: 'so' }, result('a')]],
  ['first use', 'ann', [call('b')]],
  ['answers first use', 'hand', [result('b')]],
  ['second use', 'ann', [call('b')]],
  ['answers second use', 'hand', [result('b')]],
  ['by ann', 'ann', [call('c')]],
  ['by bob', 'bob', [call('c')]],
  ['answers ann or bob', 'hand', [result('c')]],
  ['own', 'bob', [call('c'), result('c')]],
  ['other tool', 'bob', [call('c', 'run')]],
  ['answers other tool', 'hand', [result('c', 'run')]],
  ['private', 'eve', [call('a')], ['eve']],
  ['answers what it sees', 'hand', [result('a')]],
  ['damaged', 'eve', { oops: 1 }],
]

it.runIf(isLong).each(backends)('the migration names the calls of stored results, on $name', async ({ open }) => {
  const opened = await open()
  const { pool } = opened
  const directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  try {
    cpSync(migrations, directory, { recursive: true })
    for (const name of readdirSync(directory)) if (name >= CALLS) rmSync(join(directory, name), { recursive: true })
    await sql(pool).query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    await migrate(pool, { directory })
    await sql(pool).query(`INSERT INTO conversation (id, tenant, owner) VALUES ('conv', 't', 'ada')`)
    for (const [index, [id, actor, parts, audience]] of TURNS.entries()) {
      await sql(pool).query(
        `INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, parts, audience, token_count,
                           client_id, client_hash)
         VALUES ($1, 'conv', $2, $2, $3, 'ASSISTANT', 'COMMITTED', '', $4, $5, 0, $1, 'hash')`,
        [id, index + 1, actor, JSON.stringify(parts), audience],
      )
      for (const part of Array.isArray(parts) ? (parts as { type: string; callId: string }[]) : []) {
        if (part.type !== 'toolCall') continue
        await sql(pool).query(`INSERT INTO tool_call (conversation_id, call_id, turn_id) VALUES ('conv', $1, $2)`, [
          part.callId,
          id,
        ])
      }
    }
    await sql(pool).query(
      `INSERT INTO tool_call (conversation_id, call_id, turn_id) VALUES ('conv', 'gone', 'damaged')`,
    )
    await sql(pool).query(`UPDATE turn SET status = 'ABORTED' WHERE id = 'damaged'`)

    await migrate(pool)
    const { rows } = await sql(pool).query<{ id: string; call: string | null; position: number | null }>(
      `SELECT t.id, p->>'callTurnId' AS call, (p->'callPosition')::integer AS position
       FROM turn t CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(t.parts) WHEN 'array' THEN t.parts END) p
       WHERE p->>'type' = 'toolResult' ORDER BY t.seq`,
    )
    const known = [
      ['answers only', 'only', 1],
      ['answers first use', 'first use', 3],
      ['answers second use', 'second use', 5],
      ['answers ann or bob', null, null],
      ['own', 'own', 10],
      ['answers other tool', 'other tool', 11],
      ['answers what it sees', 'only', 1],
    ]
    expect(rows.map(({ id, call, position }) => [id, call, position])).toEqual(known)
    const results = await sql(pool).query(`SELECT turn_id, call_position FROM tool_result ORDER BY turn_id`)
    expect(results.rows).toHaveLength(known.filter(([, caller]) => caller !== null).length)
    const names = await sql(pool).query(
      `SELECT turn_id, name FROM tool_call WHERE turn_id IN ('other tool', 'damaged')`,
    )
    expect(names.rows).toEqual([{ turn_id: 'other tool', name: 'run' }])
    const { rows: keys } = await sql(pool).query(`SELECT count(*)::integer AS n FROM turn WHERE client_id IS NULL`)
    expect(keys).toEqual([{ n: 1 }])
    const { rows: plain } = await sql(pool).query(`SELECT parts->0 AS part FROM turn WHERE id = 'answers only'`)
    expect(plain).toEqual([{ part: { type: 'text', text: 'so' } }])
  } finally {
    rmSync(directory, { recursive: true })
    await opened.close()
  }
})
