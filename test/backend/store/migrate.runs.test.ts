// The migration that stores the credentials of runs confines runs that have not ended, whose credentials are unknown, to
// their conversation.

import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { readerOf } from '../../../src/domain/run/credential.ts'
import { migrate } from '../../../src/store/migrate.ts'
import { backends } from '../../support/backend.ts'
import { sql } from '../../support/sql.ts'
import { isLong } from '../../support/long.ts'

const migrations = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))
const CREDENTIALS = '20261129220100_run_credentials'

it.runIf(isLong).each(backends)('the migration confines the runs that wait, on $name', async ({ open }) => {
  const opened = await open()
  const { pool } = opened
  const directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  try {
    cpSync(migrations, directory, { recursive: true })
    for (const name of readdirSync(directory))
      if (name >= CREDENTIALS) rmSync(join(directory, name), { recursive: true })
    await sql(pool).query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    await migrate(pool, { directory })
    await sql(pool).query(`INSERT INTO conversation (id, tenant, owner) VALUES ('conv', 't', 'ada')`)
    await sql(pool).query(
      `INSERT INTO run (id, tenant, conversation_id, actor, viewer, provider, model, state, ended_at)
       VALUES ('waits', 't', 'conv', 'bot', 'ada', 'echo', 'echo', 'WAITING_FOR_TOOLS', NULL),
              ('ended', 't', 'conv', 'bot', 'ada', 'echo', 'echo', 'COMPLETED', now())`,
    )
    expect(await migrate(pool)).toContain(CREDENTIALS)
    const { rows } = await sql(pool).query('SELECT id, credential FROM run ORDER BY id')
    expect(rows).toEqual([
      { id: 'ended', credential: null },
      { id: 'waits', credential: expect.objectContaining({ actor: 'ada', conversations: ['conv'] }) },
    ])
    const run = { tenant: 't', conversationId: 'conv', actor: 'ada', viewer: 'ada', credential: rows[1]!.credential }
    const reader = await readerOf({ clock: systemClock, db: { of: () => null } as never }, run)
    expect(reader.principal?.conversations).toEqual(new Set(['conv']))
  } finally {
    rmSync(directory, { recursive: true })
    await opened.close()
  }
})
