// The query plan of a journal page: turns are read by their ids, no matter how many turns their conversation has.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool } from '../../../../../../src/store/db/db.ts'
import { readJournal } from '../../../../../../src/store/sql/turn/journal/read-journal.ts'
import type { Pool } from '../../../../../../src/store/db/tenant-pool.ts'
import { backends, type Opened } from '../../../../../support/backend.ts'
import { sql } from '../../../../../support/sql.ts'

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

  /** Adds the conversations `conv-<first>` to `conv-<last>` with that many turns each. */
  const addConversations = (first: number, last: number, turns: number) =>
    sql(pool).query(`
      INSERT INTO conversation (id, tenant, owner)
        SELECT 'conv-' || n, 'acme', 'ada' FROM generate_series(${first}, ${last}) n;
      INSERT INTO turn (id, conversation_id, tenant, seq, root_seq, actor, role, status, text, token_count)
        SELECT c.id || '-' || seq, c.id, 'acme', seq, seq, 'ada', 'USER', 'COMMITTED', 'text', 1
        FROM generate_series(${first}, ${last}) n CROSS JOIN LATERAL (SELECT 'conv-' || n) c(id)
        CROSS JOIN generate_series(1, ${turns}) seq;
      INSERT INTO entry (conversation_id, tenant, seq, kind, turn_id)
        SELECT t.conversation_id, 'acme', t.seq, 'APPENDED', t.id FROM turn t
        WHERE NOT EXISTS (SELECT FROM entry e WHERE e.conversation_id = t.conversation_id AND e.seq = t.seq);
      ANALYZE`)

  it.each([
    ['alone', () => addConversations(0, 0, 2_000)],
    ['among small ones', () => addConversations(1, 4_000, 1)],
  ])('reads the turns of a large conversation by their ids: %s', async (_, add) => {
    await add()
    const rows = await readJournal(pool, 'acme', 'conv-0', { after: 1_000, limit: 500 })
    expect(rows.map(({ turn }) => turn!.id)).toEqual(Array.from({ length: 500 }, (_, n) => `conv-0-${1_001 + n}`))
    const explain = `EXPLAIN EXECUTE "read-journal-page" ('acme', 'conv-0', 1000, 500, 10000000)`
    const plan = JSON.stringify((await pool.query({ name: 'plan', text: explain, scope: 'acme' })).rows)
    const indexes = [...plan.matchAll(/using (\w+) on \w+ t(?:_\d+)?[ "]/g)].map(([, index]) => index!)
    expect(indexes.length, plan).toBeGreaterThan(0)
    for (const index of indexes) expect(index).toMatch(/pkey$/)
  })
})
