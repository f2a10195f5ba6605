// The migration that freezes waiting calls marks the stored results that were written after the decision about their
// call. Only these answer the call.

import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { migrate } from '../../../src/store/migrate.ts'
import { isLong } from '../../support/long.ts'
import { backends } from '../../support/backend.ts'
import { sql } from '../../support/sql.ts'

const migrations = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))
const WAITING_CALLS = '20261129221100_waiting_calls'

it.runIf(isLong).each(backends)('the migration marks the results after a decision, on $name', async ({ open }) => {
  const opened = await open()
  const { pool } = opened
  const directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  try {
    cpSync(migrations, directory, { recursive: true })
    for (const name of readdirSync(directory)) {
      if (name >= WAITING_CALLS && name !== 'migration_lock.toml') rmSync(join(directory, name), { recursive: true })
    }
    await sql(pool).query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    await migrate(pool, { directory })
    await sql(pool).query(`
      INSERT INTO conversation (id, tenant, owner) VALUES ('conv', 't', 'ada');
      INSERT INTO turn (id, conversation_id, tenant, seq, root_seq, actor, role, status, text, token_count)
      SELECT id, 'conv', 't', seq, seq, 'bot', 'ASSISTANT', 'COMMITTED', '', 0
      FROM (VALUES ('call', 1), ('before', 3), ('after', 5), ('of another call', 6)) AS t(id, seq);
      INSERT INTO tool_call (conversation_id, tenant, call_id, turn_id, name)
      VALUES ('conv', 't', 'c1', 'call', 'pay'), ('conv', 't', 'c2', 'call', 'pay');
      INSERT INTO tool_result (conversation_id, tenant, call_id, call_position, turn_id)
      VALUES ('conv', 't', 'c1', 1, 'before'), ('conv', 't', 'c1', 1, 'after'), ('conv', 't', 'c2', 1, 'of another call');
      INSERT INTO run (id, tenant, conversation_id, seq, actor, viewer, state, provider, model, turn_id, options)
      VALUES ('run', 't', 'conv', 1, 'bot', 'ada', 'WAITING_FOR_TOOLS', 'echo', 'echo', 'call', '{}');
      INSERT INTO approval (id, tenant, conversation_id, run_id, turn_id, call_id, tool_name, state, expires_at)
      VALUES ('appr', 't', 'conv', 'run', 'call', 'c1', 'pay', 'DENIED', now());
      INSERT INTO entry (conversation_id, tenant, seq, kind, turn_id, approval_id)
      VALUES ('conv', 't', 2, 'APPROVAL_REQUESTED', 'call', 'appr'), ('conv', 't', 4, 'APPROVAL_RESOLVED', 'call', 'appr')`)
    await migrate(pool)
    const { rows } = await sql(pool).query('SELECT turn_id, approval_id FROM tool_result ORDER BY turn_id')
    expect(rows).toEqual([
      { turn_id: 'after', approval_id: 'appr' },
      { turn_id: 'before', approval_id: null },
      { turn_id: 'of another call', approval_id: null },
    ])
  } finally {
    rmSync(directory, { recursive: true })
    await opened.close()
  }
})
