// Servers whose Postgres users are not superusers: the owner of the database migrates, and the owner or another user
// serves.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDeps } from '../../../../src/deps.ts'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import { appendTurn } from '../../../../src/domain/turn/append/append.ts'
import { OFFLINE } from '../../../support/offline.ts'
import { LIMITS } from '../../../support/world.ts'

const server = process.env.TEST_DATABASE_URL

describe.runIf(server)('a server whose user is not a superuser', () => {
  const name = `colloquy_${randomBytes(8).toString('hex')}`
  const [owner, serving, stranger] = [`${name}_owner`, `${name}_serving`, `${name}_stranger`]
  const urlOf = (user: string, database = name) =>
    Object.assign(new URL(server!), { pathname: `/${database}`, username: user, password: '' }).href

  async function asSuperuser(database: string, ...statements: string[]): Promise<void> {
    const client = new pg.Client(Object.assign(new URL(server!), { pathname: `/${database}` }).href)
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }

  beforeAll(async () => {
    await asSuperuser(
      'postgres',
      // As in scripts/compose/application-role.sql; the roles may exist, because the cluster's databases share them.
      `DO $$ BEGIN CREATE ROLE colloquy_app NOLOGIN; CREATE ROLE colloquy_system NOLOGIN;
       EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
      ...[owner, serving, stranger].map((role) => `CREATE ROLE ${role} LOGIN NOSUPERUSER NOCREATEROLE`),
      `GRANT colloquy_app, colloquy_system TO ${owner}, ${serving}`,
      `CREATE DATABASE ${name} OWNER ${owner}`,
    )
    await asSuperuser(name, 'CREATE EXTENSION vector', 'CREATE EXTENSION pg_trgm')
  })
  afterAll(() =>
    asSuperuser('postgres', `DROP DATABASE ${name} WITH (FORCE)`, `DROP ROLE ${owner}, ${serving}, ${stranger}`),
  )

  const open = (databaseUrl: string, migrationDatabaseUrl?: string) =>
    createDeps(
      {
        ...{ databaseUrl, migrationDatabaseUrl, dataDir: null, databasePoolSize: 6, readTimeoutMs: 10_000 },
        ...OFFLINE,
        limits: { ...LIMITS, bodyBytes: 2 ** 20, frameBytes: 2 ** 20 },
        ...{ streamLeaseMs: 30_000, presenceTtlMs: 60_000, rateLimitPoints: 0, logLevel: 'fatal', redisUrl: undefined },
      },
      pino({ level: 'fatal' }),
    )

  /** Appends a turn, and runs a job. */
  async function use(databaseUrl: string, migrationDatabaseUrl?: string): Promise<string[]> {
    const { deps, close } = await open(databaseUrl, migrationDatabaseUrl)
    try {
      const viewer = { tenant: 'acme', actor: 'ann' }
      const { conversation } = await createConversation(deps, viewer, {})
      await appendTurn(deps, viewer, { conversationId: conversation.id, turn: { role: 'USER', content: 'hello' } })
      const done: string[] = []
      await deps.jobs.work('test', 1, async ({ key }) => void done.push(key))
      await deps.jobs.send('test', [{ tenant: 'acme', key: 'a' }])
      await expect.poll(() => done).toEqual(['a'])
      return done
    } finally {
      await close()
    }
  }

  it('does not start, and gives the reason, if the user is not a member of the roles', async () => {
    await expect(open(urlOf(stranger))).rejects.toThrow(/permission denied|not a member/)
  })

  it('migrates and serves as the owner of the database', async () => {
    expect(await use(urlOf(owner))).toEqual(['a'])
  })

  it('serves as another user, while the owner migrates', async () => {
    expect(await use(urlOf(serving), urlOf(owner))).toEqual(['a'])
    await expect(open(urlOf(stranger), urlOf(owner))).rejects.toThrow('refused a role')
  })
})
