// The plan of the statement that appends deltas.

import { describe, expect, it } from 'vitest'
import { createPool } from '../../../../../../src/store/db/db.ts'
import { appendChunks } from '../../../../../../src/store/sql/turn/streaming/append-chunks.ts'
import { backends } from '../../../../../support/backend.ts'
import { sql } from '../../../../../support/sql.ts'

describe.each(backends)('deltas on $name', ({ open }) => {
  it('are appended without reading the other turns of the conversation', async () => {
    const opened = await open()
    // With one connection, EXPLAIN finds the prepared statement.
    const pool = opened.url ? createPool({ databaseUrl: opened.url, poolSize: 1 }, console.error) : opened.pool
    try {
      await sql(pool).query(`
        INSERT INTO conversation (id, tenant, owner) VALUES ('conv', 'acme', 'ada');
        INSERT INTO turn (id, conversation_id, tenant, seq, root_seq, actor, role, status, text, token_count)
          SELECT 'turn-' || seq, 'conv', 'acme', seq, seq, 'ada', 'USER', 'COMMITTED', 'text', 1
          FROM generate_series(1, 2000) seq;
        ANALYZE`)
      const delta = { turn: 'turn-7', tenant: 'acme', viewer: 'ada', writer: 'hash', text: 'more', units: 4 }
      const none = { part: 0, content: null, complete: false, start: null, second: null, half: null }
      const rows = await appendChunks(pool, [{ ...delta, ...none }], 1_000)
      expect(rows).toMatchObject([{ outcome: 'closed', status: 'COMMITTED', isPrivate: false }])
      const explain = `EXPLAIN EXECUTE "append-chunks" ('[]', 1000)`
      const plan = JSON.stringify((await pool.query({ name: 'plan', text: explain, scope: 'acme' })).rows)
      expect(plan).toMatch(/using turn\w*_pkey on turn/)
    } finally {
      if (opened.url) await pool.end()
      await opened.close()
    }
  })
})
