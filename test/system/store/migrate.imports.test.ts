// The migration that adds imported_at marks the rows that were imported before the migration.

import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { migrate } from '../../../src/store/migrate.ts'
import { backends } from '../../support/backend.ts'
import { isLong } from '../../support/long.ts'
import { sql } from '../../support/sql.ts'

const migrations = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))
const IMPORTS = '20261123150000_imports'

it.runIf(isLong).each(backends)(
  'the migration marks turns and facts whose time is before the time when they were stored, on $name',
  async ({ open }) => {
    const opened = await open()
    const directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
    try {
      cpSync(migrations, directory, { recursive: true })
      for (const name of readdirSync(directory)) if (name >= IMPORTS) rmSync(join(directory, name), { recursive: true })
      await sql(opened.pool).query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
      await migrate(opened.pool, { directory })
      await sql(opened.pool).query(`
      INSERT INTO conversation (id, tenant, owner) VALUES ('c', 't', 'ada');
      INSERT INTO entry (conversation_id, seq, kind, turn_id, at)
      VALUES ('c', 1, 'APPENDED', 'old', '2026-01-01'), ('c', 2, 'APPENDED', 'live', '2026-01-01');
      INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, token_count, created_at)
      VALUES ('old', 'c', 1, 1, 'ada', 'USER', 'COMMITTED', '', 0, '2023-01-01'),
             ('live', 'c', 2, 2, 'ada', 'USER', 'COMMITTED', '', 0, '2026-01-01');
      INSERT INTO fact (id, tenant, user_id, conversation_id, root_seq, seq, source_turn_id, said_by, asserted_by,
                        subject, predicate, object, confidence, token_count, content_hash, observed_at, created_at, terms)
      SELECT v.id, 't', 'ada', v.c, v.seq, v.seq, v.turn, 'HUMAN', 'ada', '', '', '', 1, 0, v.id, v.at::timestamptz,
             '2026-01-01', '{}'::integer[]
      FROM (VALUES ('of old', 'c', 1, 'old', '2023-01-01'), ('of live', 'c', 2, 'live', '2026-01-01'),
                   ('claimed', NULL, NULL, NULL, '2023-01-01'), ('recorded', NULL, NULL, NULL, '2026-01-01'))
        AS v (id, c, seq, turn, at);
      INSERT INTO fact_source (fact_id, source, conversation_id, root_seq, seq, turn_id, said_by, asserted_by,
                               confidence, observed_at, created_at)
      SELECT f.id, 's', f.conversation_id, f.root_seq, f.seq, f.source_turn_id, f.said_by, f.asserted_by, 1,
             f.observed_at, f.created_at FROM fact f`)

      await migrate(opened.pool)
      const marked = async (table: string, id: string) =>
        (
          await sql(opened.pool).query<{ id: string; importedAt: Date }>(
            `SELECT ${id} AS id, imported_at AS "importedAt" FROM ${table} WHERE imported_at IS NOT NULL ORDER BY 1`,
          )
        ).rows
      const importedAt = new Date('2026-01-01')
      expect(await marked('turn', 'id')).toEqual([{ id: 'old', importedAt }])
      for (const [table, id] of [
        ['fact', 'id'],
        ['fact_source', 'fact_id'],
      ] as const) {
        expect(await marked(table, id)).toEqual([
          { id: 'claimed', importedAt },
          { id: 'of old', importedAt },
        ])
      }
    } finally {
      rmSync(directory, { recursive: true })
      await opened.close()
    }
  },
)
