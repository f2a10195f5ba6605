// `colloquy doctor` against Postgres, Redis, servers of models and running servers. test/system/doctor.test.ts has the
// embedded database.

import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { EXIT } from '../../../src/command/program.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { backends } from '../../support/backend.ts'
import { runCommand } from '../../support/command.ts'
import { createFakeRerank } from '../../support/fake-rerank.ts'
import { useServer } from '../../support/server.ts'
import { useWorld } from '../../support/world.ts'

type Found = { check: string; state: string; message: string; next: string | null }

/** Runs the command. Returns its exit code, and the findings as `state check`. */
async function doctor(env: Record<string, string>, ...args: string[]) {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json', ...args], {
    loadConfig: () => loadConfig(env),
  })
  const found = JSON.parse(stdout) as Found[]
  const of = (check: string) => found.filter((each) => each.check === check)
  return { code, stderr, found, of }
}

/** Starts a server of models. Returns its base URL. */
async function serveModels(answer: (authorization: string | undefined) => [number, unknown]): Promise<string> {
  const server: Server = createServer((request, response) => {
    const [status, body] = answer(request.headers.authorization)
    response.writeHead(status).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

const NOWHERE = { DATA_DIR: '/nonexistent/colloquy' }

describe.each(backends)('colloquy doctor and a server on $name', (backend) => {
  const server = useServer(backend)

  it('asks a running server for its state and its work', async () => {
    const { code, stderr, of } = await doctor({}, '--url', server.url)
    expect([code, stderr]).toEqual([EXIT.success, ''])
    expect(of('server')).toMatchObject([{ state: 'ok', message: 'as tested' }])
    expect([of('vectors').length, of('jobs')]).toMatchObject([1, [{ state: 'ok' }]])
  })
})

describe.each(backends)('colloquy doctor and a credential on $name', (backend) => {
  const server = useServer(backend, { AUTH_MODE: 'keys' })

  it('says what it may not see', async () => {
    const { code, of } = await doctor({}, '--url', server.url, '--token', 'wrong')
    expect(code).toBe(EXIT.success)
    expect(of('access')).toMatchObject([{ state: 'warning', next: expect.stringContaining('operate') }])
  })
})

describe.each(backends.filter(({ name }) => name !== 'embedded'))('colloquy doctor on $name', (backend) => {
  const world = useWorld(backend)

  /** Runs `work` with a connection to the database of the world. */
  async function query<T extends object>(text: string): Promise<T[]> {
    const client = new pg.Client(world.url)
    await client.connect()
    try {
      return (await client.query<T>(text)).rows
    } finally {
      await client.end()
    }
  }
  /** Returns each table with its number of rows and the newest transaction that wrote one. */
  async function snapshot() {
    const tables = await query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname IN ('public', 'pgboss') ORDER BY 1`,
    )
    const counts = []
    for (const { name } of tables) {
      counts.push([name, await query(`SELECT count(*), max(xmin::text::bigint) AS newest FROM ${name}`)])
    }
    return counts
  }

  it('reads a migrated database, and writes nothing', async () => {
    const tenant = world.tenant()
    await tenant.append(await tenant.newConversation('ada'), 'ada', 'Hello.')
    await vi.waitFor(async () => expect((await world.deps.embedding.progress()).remaining).toBe(0))
    const before = await snapshot()
    const { code, found, of } = await doctor({ DATABASE_URL: world.url! })
    expect(await snapshot()).toEqual(before)
    expect([code, found.filter(({ state }) => state !== 'ok')]).toEqual([EXIT.success, []])
    expect(of('migrations')).toMatchObject([{ message: 'all are applied' }])
    for (const check of ['database', 'vector', 'isolation', 'vectors', 'jobs']) expect(of(check)).toHaveLength(1)
  })

  it('names the missing migrations of an empty database, and does not apply them', async () => {
    const name = 'doctor_empty'
    await query(`CREATE DATABASE ${name}`)
    onTestFinished(() => query(`DROP DATABASE ${name}`).then(() => {}))
    const url = new URL(world.url!)
    url.pathname = `/${name}`
    for (let run = 0; run < 2; run++) {
      const { code, of } = await doctor({ DATABASE_URL: url.href })
      expect(code).toBe(EXIT.success)
      expect(of('migrations')).toMatchObject([
        { state: 'warning', message: expect.stringMatching(/^\d+ are missing, the first is \d+_schema$/) },
      ])
      expect(of('vector')).toMatchObject([{ state: 'warning' }])
    }
  })

  it('finds migrations of a newer version', async () => {
    await query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '9_newer', now())`,
    )
    onTestFinished(() => query(`DELETE FROM _prisma_migrations WHERE id = 'x'`).then(() => {}))
    const { code, stderr, of } = await doctor({ DATABASE_URL: world.url! })
    expect(code).toBe(EXIT.failure)
    expect(stderr).toMatch(/^1 of \d+ checks failed\.\n$/)
    expect(of('migrations')).toMatchObject([{ state: 'failure', message: expect.stringContaining('9_newer') }])
  })

  it('says that a primary is no replica', async () => {
    const { of } = await doctor({ DATABASE_URL: world.url!, DATABASE_READ_URL: world.url! })
    expect(of('replica')).toMatchObject([{ state: 'failure' }])
  })

  it.runIf(process.env.TEST_REDIS_URL)('reaches Redis', async () => {
    const { of } = await doctor({ ...NOWHERE, REDIS_URL: process.env.TEST_REDIS_URL! })
    expect(of('redis')).toMatchObject([{ state: 'ok' }])
  })
})

describe('colloquy doctor', () => {
  it('reports each service that cannot be reached, each within its time, in one line', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    const env = {
      DATABASE_URL: `postgres://u:s3cret@127.0.0.1:${port}/x`,
      REDIS_URL: `redis://u:s3cret@127.0.0.1:${port}`,
      CHAT_MODEL: 'm',
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
      EMBEDDER: 'openai',
      EMBEDDING_MODEL: 'e',
      EMBEDDING_DIMENSIONS: '8',
    }
    const { code, found, stderr } = await doctor(env)
    expect([code, stderr]).toEqual([EXIT.failure, '4 of 5 checks failed.\n'])
    const failures = found.filter(({ state }) => state === 'failure')
    expect(failures.map(({ check }) => check)).toEqual(['database', 'redis', 'embedder', 'models'])
    expect(JSON.stringify(found)).not.toMatch(/s3cret|\\n/)
    const elsewhere = await doctor({}, '--url', `http://127.0.0.1:${port}`)
    expect([elsewhere.code, elsewhere.of('server')]).toMatchObject([EXIT.failure, [{ state: 'failure' }]])
  })

  it('asks each server of models once: its key, its models, its path', async () => {
    const good = await serveModels((key) => (key === 'Bearer sk-1' ? [200, { data: [{ id: 'm' }] }] : [401, {}]))
    const models = async (env: Record<string, string>) =>
      (await doctor({ ...NOWHERE, SUMMARIZER: 'openai', SUMMARIZER_MODEL: 'm', ...env })).of('models')
    const OPENAI_BASE_URL = good
    expect(await models({ OPENAI_BASE_URL, OPENAI_API_KEY: 'sk-1', CHAT_MODEL: 'm' })).toMatchObject([
      { state: 'ok', message: `${good} (chat provider openai, summarizer) answers` },
    ])
    expect(await models({ OPENAI_BASE_URL, OPENAI_API_KEY: 'sk-1', CHAT_MODEL: 'x' })).toMatchObject([
      { state: 'warning', message: expect.stringContaining('does not list x') },
    ])
    expect(await models({ OPENAI_BASE_URL, OPENAI_API_KEY: 'sk-2' })).toMatchObject([
      { state: 'failure', message: expect.stringContaining('refuses the key') },
    ])
    const other = await serveModels(() => [404, {}])
    expect(await models({ OPENAI_BASE_URL: other })).toMatchObject([{ state: 'warning' }])
  })

  it('makes one call of the reranker: its URL, its key, its answer', async () => {
    const reranker = async (env: Record<string, string>) =>
      (await doctor({ ...NOWHERE, RERANKER: 'openai', RERANK_MODEL: 'm', RERANK_CANDIDATES: '20', ...env })).of(
        'reranker',
      )
    const server = await createFakeRerank('documents', { key: 'sk-1' })
    onTestFinished(() => server.stop())
    const RERANK_URL = server.url
    expect(await reranker({ RERANK_URL, RERANK_API_KEY: 'sk-1' })).toEqual([
      { check: 'reranker', state: 'ok', message: 'openai:m, scores 20 hits of a recall', next: null },
    ])
    expect(await reranker({ RERANK_URL })).toMatchObject([
      { state: 'failure', message: expect.stringContaining('status 401. Check RERANK_API_KEY.') },
    ])
    expect((await doctor(NOWHERE)).of('reranker')).toEqual([])
  })

  it('says that an address is no Colloquy server', async () => {
    const other = await serveModels(() => [200, { data: [] }])
    const { code, of } = await doctor({}, '--url', other)
    expect([code, of('server')]).toMatchObject([EXIT.failure, [{ message: expect.stringContaining('no Colloquy') }]])
  })
})
