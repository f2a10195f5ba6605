// Row-level security on every table, the functions that bypass it, and the check of it at start. Lists the source
// files that run statements over all tenants.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkIsolation, SHARED_TABLES } from '../../../../src/store/db/isolation.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { sql } from '../../../support/sql.ts'

/**
 * Files that run statements over all tenants: background work, which knows ids but not tenants, the job queue, and the
 * state of the read replica.
 */
const SYSTEM_FILES = [
  'domain/trust/erasure/erase-user.ts',
  'domain/memory/summary/title.ts',
  'store/jobs/boss.ts',
  'store/db/db.ts',
  'store/scaling/replica.ts',
  'store/sql/agent/approval/approvals.ts',
  'store/sql/trust/audit-lines.ts',
  'store/sql/memory/profile/count-user-turns.ts',
  'store/sql/memory/fact/read-due-extraction.ts',
  'store/sql/memory/profile/read-due-users.ts',
  'store/sql/agent/claim/expired-claims.ts',
  'store/sql/trust/erasure/erasures.ts',
  'store/sql/trust/erasure/retention.ts',
  'store/sql/memory/fact/due-facts.ts',
  'store/sql/memory/fact/fact-vectors.ts',
  'store/sql/memory/fact/fact-terms.ts',
  'store/sql/memory/fact/mark-recalled.ts',
  'store/sql/memory/indexing/embedders.ts',
  'store/sql/memory/indexing/embedding-conversations.ts',
  'store/sql/memory/indexing/turn-terms.ts',
  'store/sql/memory/indexing/read-unembedded.ts',
  'store/sql/memory/indexing/write-vectors.ts',
  'store/sql/background/read-jobs.ts',
  'store/sql/background/read-queue-sizes.ts',
  'store/sql/background/read-retrying.ts',
  'store/sql/kernel/mcp-sessions.ts',
  'store/sql/kernel/replay.ts',
  'store/sql/agent/run/provider-calls.ts',
  'store/sql/agent/run/read-decided-runs.ts',
  'store/sql/agent/run/read-runs.ts',
  'store/sql/turn/streaming/read-silent-streams.ts',
  'store/sql/memory/summary/read-compaction.ts',
  'store/sql/conversation/attachment/attachments.ts',
  'store/sql/conversation/attachment/file-deletions.ts',
  'store/sql/conversation/read-due-titles.ts',
  'store/sql/trust/transfer/transfers.ts',
  'store/sql/agent/wake-up/due-wake-ups.ts',
  'store/vectors/vector-index.ts',
]

it('row-level security is suspended in the listed files only', () => {
  const src = fileURLToPath(new URL('../../../../src', import.meta.url))
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const suspending = files.filter((name) =>
    /^import \{[^}]*\bSYSTEM\b[^}]*\} from '[^']*scope\.ts'/m.test(readFileSync(`${src}/${name}`, 'utf8')),
  )
  expect(suspending.filter((name) => name !== 'store/db/scoped-query.ts').sort()).toEqual(SYSTEM_FILES.toSorted())
})

describe.each(backends)('row-level security on $name', ({ open }) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())
  const query = (text: string, values?: unknown[]) => sql(opened.pool).query(text, values)

  it('is enabled and forced on every table, except the shared tables and the table of migrations', async () => {
    const { rows } = await query(`
      SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced,
             ARRAY(SELECT p.polname::text FROM pg_policy p WHERE p.polrelid = c.oid ORDER BY 1) AS policies
      FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')`)
    const open = new Set([...Object.keys(SHARED_TABLES), '_prisma_migrations'])
    for (const { name, forced, policies } of rows) {
      if (!open.has(name))
        expect({ name, forced, policies }).toEqual({ name, forced: true, policies: ['system', 'tenant'] })
    }
    expect(rows.length).toBeGreaterThan(18)
    const granted = await query(`SELECT has_table_privilege('colloquy_app', '_prisma_migrations', 'SELECT') AS may`)
    expect(granted.rows).toEqual([{ may: false }])
  })

  it('is bypassed only by functions that find API keys, conversation ids and counts of terms', async () => {
    const { rows } = await query(`
      SELECT p.proname AS name, p.proowner::regrole::text AS owner, p.proconfig::text[] AS settings,
             has_function_privilege('public', p.oid, 'EXECUTE') AS public, pg_get_function_result(p.oid) AS result
      FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef ORDER BY 1`)
    expect(rows.map(({ name, result }) => [name, result])).toEqual([
      [
        'find_api_keys',
        'TABLE(place integer, id text, tenant text, actor text, kind text, rights text[], conversations text[], '
          + 'expires_at timestamp with time zone, revoked_at timestamp with time zone, last_used_at timestamp with time zone)',
      ],
      ['find_conversations_by_metadata', 'SETOF text'],
      ['find_conversations_by_title', 'SETOF text'],
      [
        'find_turns_with_terms',
        'TABLE(term integer, conversation integer, root_seq integer, seq integer, count integer, length integer)',
      ],
    ])
    for (const { owner, settings, public: isPublic } of rows) {
      expect({ owner, isPublic }).toEqual({ owner: 'colloquy_system', isPublic: false })
      expect(settings).toContain('search_path=pg_catalog, public, pg_temp')
    }
  })

  it('stops the server from starting if a table or the database role of the server is exempt', async () => {
    await checkIsolation(opened.pool)
    await query('ALTER TABLE turn NO FORCE ROW LEVEL SECURITY; ALTER TABLE fact DISABLE ROW LEVEL SECURITY')
    await expect(checkIsolation(opened.pool)).rejects.toThrow('not forced on fact, turn')
    await query('ALTER TABLE turn FORCE ROW LEVEL SECURITY; ALTER TABLE fact ENABLE ROW LEVEL SECURITY')
    const client = await opened.pool.connect()
    await client.query('RESET ROLE')
    const asLogin = { connect: async () => ({ query: client.query.bind(client), release() {} }) }
    await expect(checkIsolation(asLogin as never)).rejects.toMatchObject({ name: 'NotIsolated' })
    client.release(true)
    await checkIsolation(opened.pool)
  })
})
