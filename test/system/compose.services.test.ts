// The configuration of docker-compose.yml, applied to a Postgres and a Redis of its own: the server's role is not a
// superuser, the secrets are files, and Redis requires a password. Needs SERVICES, a script that starts both.

import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCheckout, type ServerProcess } from '../../scripts/bench/process.ts'

const { SERVICES } = process.env
const root = fileURLToPath(new URL('../..', import.meta.url))
const NAME = 'compose'
const services = async (action: string) => (await promisify(execFile)(SERVICES!, [action, NAME])).stdout

const directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
const secret = (name: string) => readFileSync(join(directory, name), 'utf8').trim()

let superuser: string
let redisUrl: string

async function asSuperuser<T extends pg.QueryResultRow>(statement: string, database = 'postgres'): Promise<T[]> {
  const client = new pg.Client(Object.assign(new URL(superuser), { pathname: `/${database}` }).href)
  await client.connect()
  try {
    // pg returns an array of results for several statements.
    const results = [await client.query<T>(statement)].flat()
    return results.at(-1)!.rows
  } finally {
    await client.end()
  }
}

/** Returns the URL with which the server's role connects to a database of the Postgres under test. */
function roleUrl(database = 'colloquy'): string {
  const url = new URL(secret('database_url'))
  const { host } = new URL(superuser)
  return Object.assign(url, { host, pathname: `/${database}` }).href
}

/** Runs scripts/compose/application-role.sql as psql does; psql itself may not be installed here. */
async function createRole(): Promise<void> {
  const [before, after] = readFileSync(join(root, 'scripts/compose/application-role.sql'), 'utf8')
    .replace(/^(--|\\set password ).*$/gm, '')
    .replace(":'password'", `'${secret('database_password')}'`)
    .split(/^\\connect colloquy$/m)
  for (const statement of before!.split(';').filter((each) => each.trim() !== '')) await asSuperuser(statement)
  await asSuperuser(after!, 'colloquy')
}

/** Makes Postgres require the role's password from local clients, as initdb's --auth=scram-sha-256 does. */
const requirePasswords = () =>
  asSuperuser(`
    DO $$ BEGIN
      EXECUTE format('COPY (SELECT unnest(ARRAY[%L, %L, %L])) TO %L', 'local all all trust',
        'host all colloquy all scram-sha-256', 'host all all all trust', current_setting('hba_file'));
    END $$;
    SELECT pg_reload_conf()`)

const setRedisPassword = async (from: string | undefined, to: string) => {
  const client = createClient({ url: redisUrl, password: from })
  await client.connect()
  await client.configSet('requirepass', to)
  client.destroy()
}

describe.skipIf(!SERVICES)('the configuration of docker-compose.yml (needs SERVICES)', () => {
  let server: ServerProcess
  let redisPassword: string

  beforeAll(async () => {
    execFileSync(join(root, 'scripts/compose/make-secrets'), [directory])
    const exports = await services('up')
    superuser = /TEST_DATABASE_URL=(\S+)/.exec(exports)![1]!
    redisUrl = /TEST_REDIS_URL=(\S+)/.exec(exports)![1]!
    await asSuperuser('DROP DATABASE IF EXISTS colloquy WITH (FORCE)')
    await asSuperuser('DROP ROLE IF EXISTS colloquy, colloquy_app, colloquy_system')
    await createRole()
    await requirePasswords()
    redisPassword = secret('redis.conf').split(' ')[1]!
    await setRedisPassword(undefined, redisPassword)
    // In this test, the services have other addresses than in docker-compose.yml.
    const file = (name: string, content: string) => {
      const path = join(directory, name)
      writeFileSync(path, `${content}\n`)
      return path
    }
    server = await startCheckout(root, {
      DATABASE_URL_FILE: file('local_database_url', roleUrl()),
      REDIS_URL_FILE: file('local_redis_url', Object.assign(new URL(redisUrl), { password: redisPassword }).href),
      DATABASE_URL: '',
      REDIS_URL: '',
      THREAD_SUMMARY_EVERY_N: '4',
      LOG_LEVEL: 'info',
    })
  })

  afterAll(async () => {
    await server?.stop()
    if (redisPassword) await setRedisPassword(redisPassword, '')
    if (superuser) await services('down')
    rmSync(directory, { recursive: true })
  })

  async function post<T>(query: string, variables: object = {}): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${server.port}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-actor': 'ada' },
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = (await response.json()) as { data: T; errors?: unknown }
    expect(errors).toBeUndefined()
    return data
  }

  it('gives the server a role that is not a superuser', async () => {
    const [role] = await asSuperuser(`
      SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolpassword LIKE 'SCRAM-SHA-256$%' AS scram
      FROM pg_authid WHERE rolname = 'colloquy'`)
    expect(role).toEqual({
      rolsuper: false,
      rolcreatedb: false,
      rolcreaterole: false,
      rolreplication: false,
      rolbypassrls: false,
      scram: true,
    })
  })

  it('lets the role connect only with its password, and only to its database', async () => {
    const connect = async (url: string) => {
      const client = new pg.Client(url)
      await client.connect()
      await client.end()
    }
    await connect(roleUrl())
    const wrong = Object.assign(new URL(roleUrl()), { password: 'wrong' }).href
    await expect(connect(wrong)).rejects.toThrow('password authentication failed')
    for (const database of ['postgres', 'template1']) {
      await expect(connect(roleUrl(database)), database).rejects.toThrow('permission denied for database')
    }
    const client = new pg.Client(roleUrl())
    await client.connect()
    await expect(client.query('CREATE EXTENSION file_fdw')).rejects.toThrow('permission denied')
    await expect(client.query(`COPY (SELECT 1) TO PROGRAM 'id'`)).rejects.toThrow('permission denied')
    await client.end()
  })

  it('rejects Redis clients without the password', async () => {
    const client = createClient({ url: redisUrl, socket: { reconnectStrategy: false } })
    client.on('error', () => {})
    await expect(client.connect().then(() => client.ping())).rejects.toThrow('NOAUTH')
    client.destroy()
  })

  it('runs a server that serves turns, recall, facts, contexts, background jobs, presence and deletion', async () => {
    expect(await (await fetch(`http://127.0.0.1:${server.port}/ready`)).json()).toMatchObject({ status: 'ready' })
    const { created } = await post<{ created: { conversation: { id: string } } }>(
      `mutation { created: createConversation(input: { participants: [{ actor: "ada", displayName: "Ada" }] }) {
        ... on CreateConversationPayload { conversation { id } }
      } }`,
    )
    const { id } = created.conversation
    const append = `mutation ($id: ID!, $text: String!) { appended: appendTurn(input: {
      conversationId: $id, turn: { role: USER, content: $text }
    }) { ... on AppendTurnPayload { turn { seq } } ... on UserError { message } } }`
    const texts = ['I live in Rome.', 'The harbour is closed.', 'I like tea.', 'See you.', 'Hello again.']
    for (const text of texts) await post(append, { id, text })
    const written = await post<Record<string, unknown>>(
      `mutation ($id: ID!) {
        facts: extractFacts(input: { conversationId: $id }) { ... on ExtractFactsPayload { facts { object } } }
        reconciled: reconcileFacts(input: { userId: "ada" }) { __typename }
        profile: refreshUserProfile(input: { userId: "ada" }) { ... on RefreshUserProfilePayload { userProfile { content } } }
        presence: setPresence(input: { conversationId: $id, state: TYPING }) { ... on SetPresencePayload { participant { presence } } }
      }`,
      { id },
    )
    expect(written).toMatchObject({
      facts: { facts: expect.arrayContaining([{ object: 'Rome' }]) },
      reconciled: { __typename: 'ReconcileFactsPayload' },
      profile: { userProfile: { content: expect.stringContaining('Rome') } },
      presence: { participant: { presence: 'TYPING' } },
    })
    const read = await post(
      `query ($id: ID!) {
        recall(input: { query: "harbour", conversationId: $id, kinds: [TURN] }) {
          ... on Recall { hits { memory { ... on Turn { text } } } }
        }
        buildContext(input: { conversationId: $id, tokenBudget: 2000 }) { __typename }
      }`,
      { id },
    )
    expect(read).toMatchObject({
      recall: { hits: expect.arrayContaining([{ memory: { text: 'The harbour is closed.' } }]) },
      buildContext: { __typename: 'Context' },
    })
    await expect
      .poll(
        async () =>
          (
            await post<{ conversation: { summaries: { nodes: unknown[] } } }>(
              'query ($id: ID!) { conversation(id: $id) { summaries { nodes { id } } } }',
              { id },
            )
          ).conversation.summaries.nodes.length,
      )
      .toBeGreaterThan(0)
    expect(
      await post('mutation ($id: ID!) { deleted: deleteConversation(input: { conversationId: $id }) { __typename } }', {
        id,
      }),
    ).toMatchObject({ deleted: { __typename: 'DeleteConversationPayload' } })
  })

  it('owns its tables by the role, and those of pg-boss by the role for background work', async () => {
    // pg-boss creates its tables when the first job is queued: in the test above at the latest.
    const tables = await asSuperuser<{ schema: string; owner: string; tables: number }>(
      `SELECT schemaname AS schema, tableowner AS owner, count(*)::integer AS tables FROM pg_tables
       WHERE schemaname IN ('public', 'pgboss') GROUP BY 1, 2 ORDER BY 1, 2`,
      'colloquy',
    )
    expect(tables).toEqual([
      { schema: 'pgboss', owner: 'colloquy_system', tables: expect.any(Number) },
      { schema: 'public', owner: 'colloquy', tables: expect.any(Number) },
    ])
  })
})
