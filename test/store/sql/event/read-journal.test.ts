// The plan of the page of the journal: turns are read by their ids, however many turns their conversation has.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool } from '../../../../src/store/db.ts'
import { readJournal } from '../../../../src/store/sql/event/read-journal.ts'
import type { Pool } from '../../../../src/store/tenant-pool.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { sql } from '../../../support/sql.ts'

describe.each(backends)('a page of the journal on $name', ({ open }) => {
  let opened: Opened
  let pool: Pool
  beforeAll(async () => {
    opened = await open()
    // With one connection, EXPLAIN finds the statement that the page prepared.
    pool = opened.url ? createPool({ databaseUrl: opened.url, poolSize: 1 }, console.error) : opened.pool
  })
  afterAll(async () => {
    if (opened.url) await pool.end()
    await opened.close()
  })

  it('reads the turns of a large conversation by their ids, although all others are small', async () => {
    // A conversation of 8,000 turns among 16,000 of one turn.
    await sql(pool).query(`
      INSERT INTO conversation (id, tenant, owner)
        SELECT 'conv-' || n, 'acme', 'ada' FROM generate_series(0, 16000) n;
      CREATE TEMPORARY TABLE place AS
        SELECT 'conv-0' AS conversation, n AS seq FROM generate_series(1, 8000) n
        UNION ALL SELECT 'conv-' || n, 1 FROM generate_series(1, 16000) n;
      INSERT INTO turn (id, conversation_id, tenant, seq, root_seq, actor, role, status, text, token_count)
        SELECT conversation || '-' || seq, conversation, 'acme', seq, seq, 'ada', 'USER', 'COMMITTED', 'text', 1 FROM place;
      INSERT INTO entry (conversation_id, tenant, seq, kind, turn_id)
        SELECT conversation, 'acme', seq, 'APPENDED', conversation || '-' || seq FROM place;
      DROP TABLE place;
      ANALYZE`)
    const rows = await readJournal(pool, 'acme', 'conv-0', 1_000, 500)
    expect(rows.map(({ turn }) => turn!.id)).toEqual(Array.from({ length: 500 }, (_, n) => `conv-0-${1_001 + n}`))
    const explain = `EXPLAIN EXECUTE "read-journal-page" ('acme', 'conv-0', 1000, 500, 10000000)`
    const plan = JSON.stringify((await pool.query({ name: 'plan', text: explain, scope: 'acme' })).rows)
    const turnsByIndex = [...plan.matchAll(/using (\w+) on \w+ t(?:_\d+)?[ "]/g)].map(([, index]) => index!)
    expect(turnsByIndex.length, plan).toBeGreaterThan(0)
    for (const index of turnsByIndex) expect(index).toMatch(/pkey$/)
  })
})
