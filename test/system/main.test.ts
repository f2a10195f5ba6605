// The exit code and output of a process that cannot start, that starts without Redis or with authentication, or that
// runs a subcommand.

import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { SHORT_LIVED, START } from '../support/short-lived.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Starts the process, and stops it 1 s after its output contains `until`. Returns its exit code and output. */
async function run(env: Record<string, string>, until?: string, args: string[] = []) {
  const child = spawn(process.execPath, [...SHORT_LIVED, START, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, PORT: '0', SHUTDOWN_SECONDS: '60', ...env },
  })
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text
      if (until && text.includes(until)) setTimeout(() => child.kill('SIGTERM'), 1_000)
    })
  }
  const [code] = await once(child, 'close')
  return { code, ...output }
}

describe('a starting process', () => {
  let directory: string
  let closedPort: number
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'colloquy-main-'))
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    closedPort = (server.address() as AddressInfo).port
    server.close()
    await once(server, 'close')
  })
  afterAll(() => rm(directory, { recursive: true }))

  test('prints one line, without a stack trace or the password, if Postgres cannot be reached', async () => {
    const { code, stdout, stderr } = await run({ DATABASE_URL: `postgres://u:s3cret@127.0.0.1:${closedPort}/db` })
    expect(code).toBe(1)
    expect(stderr).toBe(
      `Postgres at 127.0.0.1:${closedPort}, database "db", cannot be used: `
        + `connect ECONNREFUSED 127.0.0.1:${closedPort}. `
        + 'Check DATABASE_URL, and that Postgres is running and accepts this user.\n',
    )
    expect(stdout).not.toContain('s3cret')
  })

  test.runIf(isLong)('prints one line if HOST is not an address of this machine', async () => {
    const { code, stderr } = await run({ HOST: '203.0.113.1', ALLOW_UNAUTHENTICATED: '1', DATA_DIR: directory })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^listen EADDRNOTAVAIL.*: set HOST and PORT, or METRICS_HOST and METRICS_PORT\.\n$/)
  })

  test.runIf(isLong)('writes the first API key to its file, and logs neither the key nor a warning', async () => {
    const path = join(directory, 'first')
    const env = { HOST: '0.0.0.0', AUTH_MODE: 'keys', FIRST_KEY_FILE: path, DATA_DIR: join(directory, 'keys') }
    const { code, stdout } = await run(env, '"ready on ')
    expect(code).toBe(0)
    const token = (await readFile(path, 'utf8')).trim()
    expect(token).toMatch(/^colloquy_\w{26}_[\w-]{43}$/)
    expect(stdout).toContain('created the first API key')
    expect(stdout).not.toContain(token.slice(-43))
    expect(stdout).not.toContain('There is no authentication')
  })

  test.runIf(isLong)('runs the subcommand that lists API keys, and explains an unknown subcommand', async () => {
    const env = { DATA_DIR: join(directory, 'keys'), LOG_LEVEL: 'silent' }
    expect(await run(env, undefined, ['token', 'list'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^key_/),
    })
    expect(await run(env, undefined, ['tokens'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: unknown command 'tokens'\n\(Did you mean token\?\)/),
    })
  })

  test.runIf(isLong)('runs a command on the embedded database, unless a server has opened it', async () => {
    const env = { DATA_DIR: join(directory, 'commands'), LOG_LEVEL: 'info' }
    expect(await run(env, undefined, ['sessions'])).toEqual({
      code: 0,
      stdout: 'There are no conversations.\n',
      stderr: '',
    })
    const server = spawn(process.execPath, [...SHORT_LIVED, START], {
      cwd: root,
      env: { PATH: process.env.PATH, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      for await (const text of server.stdout.setEncoding('utf8')) if (String(text).includes('"ready on ')) break
      const { code, stdout, stderr } = await run(env, undefined, ['sessions'])
      expect([code, stdout, stderr.trimEnd().split('\n').length]).toEqual([1, '', 1])
      expect(stderr).toContain('in use')
    } finally {
      server.kill('SIGTERM')
      await once(server, 'exit')
    }
  })

  test.runIf(isLong)('stops when the reader of its output has closed its end', async () => {
    const env = { DATA_DIR: join(directory, 'commands') }
    const child = spawn(process.execPath, [...SHORT_LIVED, START, 'sessions', '--help'], {
      cwd: root,
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.destroy()
    const [stderr, [code]] = await Promise.all([child.stderr.setEncoding('utf8').toArray(), once(child, 'close')])
    expect([code, stderr.join('')]).toEqual([0, ''])
  })

  test('reads the settings file, a TypeScript file only if Node can', async () => {
    const path = join(directory, 'settings.ts')
    await writeFile(path, 'const port: number = 4100\nexport default { PORT: port, COLOUR: 1 }\n')
    const env = { COLLOQUY_CONFIG: path }
    const canLoad = 'typescript' in process.features && Boolean(process.features.typescript)
    const problem = canLoad
      ? `COLOUR in ${path}: is not a setting`
      : `${path} needs Node 22.18 or later, and this is Node ${process.versions.node}; use a .mjs file or JSON`
    const failed = { code: 1, stdout: '', stderr: `The settings are invalid:\n  ${problem}\n` }
    expect(await run(env)).toEqual(failed)
    expect(await run(env, undefined, ['config'])).toEqual(failed)
    // A command for another server does not need the settings.
    const elsewhere = await run(env, undefined, ['sessions', '--url', `http://127.0.0.1:${closedPort}`])
    expect(elsewhere).toMatchObject({ code: 3, stderr: expect.stringMatching(/^NETWORK: /) })
    await writeFile(`${path}.json`, '{ "DATA_DIR": "somewhere" }')
    const { code, stdout } = await run({ COLLOQUY_CONFIG: `${path}.json` }, undefined, ['config', 'DATA_DIR'])
    expect([code, stdout.split('\n')[1]]).toEqual([0, `DATA_DIR  somewhere  file ${path}.json`])
  })

  test.each([['--help'], ['help'], ['token', '--help'], ['token', 'create', '-h']])(
    'prints the usage for `colloquy %s`',
    async (...args) => {
      expect(await run({ DATA_DIR: directory }, undefined, args)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Usage: colloquy .*\n/),
        stderr: '',
      })
    },
  )

  test.runIf(isLong)(
    'logs one warning, without a stack trace or the password, if Redis cannot be reached',
    async () => {
      const env = {
        REDIS_URL: `redis://u:s3cret@127.0.0.1:${closedPort}`,
        DATA_DIR: directory,
        PRESENCE_TTL_SECONDS: '1',
      }
      // Several sweeps of presence run before the process is stopped.
      const { code, stdout, stderr } = await run({ ...env, RATE_LIMIT_POINTS: '10' }, '"ready on ')
      const lines = stdout.split('\n').filter((line) => /redis/i.test(line))
      expect(lines).toHaveLength(1)
      expect(JSON.parse(lines[0]!)).toMatchObject({
        level: 40,
        redis: `redis://127.0.0.1:${closedPort}`,
        reason: `connect ECONNREFUSED 127.0.0.1:${closedPort}`,
        msg: 'Redis cannot be reached; reconnecting',
      })
      expect(stdout + stderr).not.toMatch(/s3cret|stack/)
      expect(code).toBe(0)
    },
  )
})
