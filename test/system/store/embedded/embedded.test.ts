// The embedded database: durability of acknowledged writes, a single owner, and no blocking of the process.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { DataDirInUse, type Embedded, startEmbedded } from '../../../../src/store/embedded/embedded.ts'
import { createOwnerPool } from '../../../../src/store/db/db.ts'
import { templatePath } from '../../../../src/store/embedded/embedded-template.ts'
import { migrate } from '../../../../src/store/db/migrate.ts'
import { newDataDir } from '../../../support/backend.ts'
import { isLong } from '../../../support/long.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const emptyDir = () => mkdtempSync(join(tmpdir(), 'colloquy-test-'))

async function temporaryDir(make: () => string | Promise<string> = newDataDir): Promise<string> {
  const directory = await make()
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function start(dataDir: string | null): Promise<{ database: Embedded; client: pg.Client }> {
  const database = await startEmbedded(dataDir)
  cleanups.push(() => database.close())
  const client = new pg.Client(database.connection)
  client.on('error', () => {})
  await client.connect()
  cleanups.push(() => client.end().catch(() => {}))
  return { database, client }
}

/** Runs `code` in another process, with startEmbedded, pg, dataDir, and `print`, which sends a line to the test. */
function run(dataDir: string, code: string): { child: ChildProcess; lines: AsyncIterator<string> } {
  const prelude = `
    import pg from 'pg'
    import { startEmbedded } from '${new URL('../../../../src/store/embedded/embedded.ts', import.meta.url)}'
    const dataDir = ${JSON.stringify(dataDir)}
    const print = (line) => process.stdout.write(line + '\\n')
  `
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', prelude + code], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  cleanups.push(() => kill(child))
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((done) => child.once('exit', done))
  child.kill('SIGKILL')
  await exited
}

const SERVE = `
  const database = await startEmbedded(dataDir).catch((error) => (print(error.name + ' ' + error.pid), process.exit()))
  print('serving')
  await new Promise(() => {})
`

it.runIf(existsSync(templatePath()))('a new embedded database starts from a template with all migrations', async () => {
  const { database, client } = await start(await temporaryDir(emptyDir))
  await client.end()
  const owner = createOwnerPool({ embedded: database }, () => {})
  expect(await migrate(owner).finally(() => owner.end())).toEqual([])
})

it.runIf(existsSync(templatePath()))('a new embedded database can be read only by the owner of its files', async () => {
  const dataDir = await temporaryDir(emptyDir)
  await start(dataDir)
  expect(readdirSync(dataDir)).not.toContain('postgres.new')
  expect(statSync(join(dataDir, 'postgres')).mode & 0o777).toBe(0o700)
})

describe('the data of the embedded database', () => {
  it.runIf(isLong)('survives a close, which removes the lock and the socket', async () => {
    const dataDir = await temporaryDir()
    const first = await start(dataDir)
    await first.client.query('CREATE TABLE kept AS SELECT 7 AS n')
    await first.client.end()
    await first.database.close()
    expect(readdirSync(dataDir)).toEqual(['postgres'])
    expect(existsSync(first.database.connection.host)).toBe(false)

    const { client } = await start(dataDir)
    expect((await client.query('SELECT n FROM kept')).rows).toEqual([{ n: 7 }])
  })

  it.runIf(isLong)('survives SIGKILL, up to the last acknowledged row', async () => {
    const dataDir = await temporaryDir()
    const { child, lines } = run(
      dataDir,
      `
      const { connection } = await startEmbedded(dataDir)
      const client = new pg.Client(connection)
      await client.connect()
      await client.query('CREATE TABLE kept (n integer PRIMARY KEY)')
      for (let n = 1; ; n++) {
        await client.query('INSERT INTO kept VALUES ($1)', [n])
        print(String(n))
      }`,
    )
    let acknowledged = 0
    while (acknowledged < 300) acknowledged = Number((await lines.next()).value)
    await kill(child)
    for (let line = await lines.next(); !line.done; line = await lines.next()) acknowledged = Number(line.value)

    const { client } = await start(dataDir)
    const { rows } = await client.query('SELECT count(*)::integer AS count, max(n) AS newest FROM kept')
    expect(rows[0].newest).toBeGreaterThanOrEqual(acknowledged)
    expect(rows[0].count).toBe(rows[0].newest)
  })

  it.runIf(isLong)('is usable even if the first start was killed', async () => {
    const dataDir = await temporaryDir(emptyDir)
    const { child } = run(dataDir, SERVE)
    while (!existsSync(join(dataDir, 'postgres.new/base'))) await sleep(2)
    await kill(child)
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false)

    const { client } = await start(dataDir)
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })
})

describe('the owner of a data directory', () => {
  it.runIf(isLong)('excludes another process, with an error that names the owner and the remedy', async () => {
    const dataDir = await temporaryDir()
    const { child, lines } = run(dataDir, SERVE)
    expect((await lines.next()).value).toBe('serving')

    const failure = await startEmbedded(dataDir).catch((error) => error)
    expect(failure).toBeInstanceOf(DataDirInUse)
    expect(failure).toMatchObject({ directory: dataDir, pid: child.pid })
    expect(failure.message).toContain(`${dataDir} is in use by process ${child.pid}. Stop that process`)
  })

  it.runIf(isLong)('excludes a second start in the same process', async () => {
    const dataDir = await temporaryDir()
    const { client } = await start(dataDir)
    await expect(startEmbedded(dataDir)).rejects.toMatchObject({ name: 'DataDirInUse', pid: process.pid })
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })

  it('is awaited by the next start while it stops', async () => {
    const dataDir = await temporaryDir()
    const stopping = await startEmbedded(dataDir)
    const next = startEmbedded(dataDir)
    await stopping.close()
    await (await next).close()
  })

  it.runIf(isLong)('is replaced by the next process after it was killed', async () => {
    const dataDir = await temporaryDir()
    const { child, lines } = run(dataDir, SERVE)
    await lines.next()
    await kill(child)
    expect(readFileSync(join(dataDir, 'lock'), 'utf8')).toContain(`${child.pid}\n`)

    await start(dataDir)
    expect(readFileSync(join(dataDir, 'lock'), 'utf8')).toContain(`${process.pid}\n`)
  })
})

describe('an expensive or broken statement', () => {
  it('does not block the process, and one that nests JSON too deeply fails', async () => {
    const { client } = await start(null)
    const events: string[] = []
    const answered = client
      .query('SELECT count(*) FROM generate_series(1, 400000) g WHERE md5(g::text) LIKE $1', ['abc%'])
      .then(() => events.push('answer'))
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      events.push('timer')
    }
    await answered
    expect(events).toEqual([...Array(5).fill('timer'), 'answer'])

    const nested = '['.repeat(200_000) + ']'.repeat(200_000)
    await expect(client.query('SELECT $1::jsonb', [nested])).rejects.toThrow('stack depth limit exceeded')
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })

  it.runIf(isLong)('that crashes the database closes it with an error, and leaves the directory usable', async () => {
    const dataDir = await temporaryDir()
    const { database, client } = await start(dataDir)
    await client.query('CREATE TABLE kept AS SELECT 7 AS n')
    // PGlite cannot run programs: an exception of its JavaScript crosses the Postgres code, as on a full disk.
    await expect(client.query(`COPY (SELECT 1) TO PROGRAM 'x'`)).rejects.toThrow('terminated')
    expect(await database.died).toMatchObject({ message: expect.stringContaining('The embedded database ended') })
    await database.close()

    const next = await start(dataDir)
    expect((await next.client.query('SELECT n FROM kept')).rows).toEqual([{ n: 7 }])
  })
})

it.runIf(isLong)('the embedded database reports why it cannot start, and releases the directory', async () => {
  const dataDir = await temporaryDir(emptyDir)
  writeFileSync(join(dataDir, 'postgres'), 'not a directory')
  await expect(startEmbedded(dataDir)).rejects.toThrow('The embedded database ended')
  expect(existsSync(join(dataDir, 'lock'))).toBe(false)
})
