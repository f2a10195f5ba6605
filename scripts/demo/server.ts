// Starts the server in a process of its own on a free port, as users do. Also runs scripts of the repository.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { newDataDir, type Backend, type Opened } from '../../test/support/backend.ts'
import { compiledSource } from '../compiled.js'
import { SHORT_LIVED, START, TYPESCRIPT } from '../../test/support/short-lived.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export type RunningServer = {
  /** URL of its GraphQL endpoint. */
  url: string
  /** The log lines up to the one that reports the URL. */
  log: string[]
  /** Sends SIGTERM, then deletes its data; resolves with the exit code. */
  stop(): Promise<number | null>
}

/** Starts the server on a new database of the backend, with its Redis, if any, and default settings except `env`. */
export async function startServer(backend: Backend, env: Record<string, string> = {}): Promise<RunningServer> {
  // Only one process may open an embedded database, so the server opens it.
  const dataDir = backend.name === 'embedded' ? await newDataDir() : null
  const opened: Opened | null = dataDir ? null : await backend.open()
  const child = spawn(process.execPath, [...SHORT_LIVED, START], {
    cwd: root,
    env: {
      ...process.env,
      PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'info',
      DATA_DIR: dataDir ?? '',
      DATABASE_URL: opened?.url ?? '',
      REDIS_URL: opened?.redisUrl ?? '',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Stops the server if the tests are interrupted.
  process.once('exit', () => child.kill('SIGKILL'))
  const exited = once(child, 'exit') as Promise<[number | null]>
  const log: string[] = []
  const ready = (async () => {
    for await (const line of createInterface(child.stdout)) {
      log.push(line)
      const { url } = JSON.parse(line) as { url?: string }
      if (url) return url
    }
    throw new Error(`The server exited before it was ready:\n${log.join('\n')}`)
  })()
  const url = await ready
  child.stdout.resume()
  return {
    url,
    log,
    async stop() {
      child.kill('SIGTERM')
      const [code] = await exited
      await opened?.close()
      if (dataDir) await rm(dataDir, { recursive: true })
      return code
    },
  }
}

export type ScriptResult = { code: number | null; out: string; error: string }

/**
 * Runs a script of the repository, and kills it after 110 s. `env` overrides the environment. Scripts of the demo are
 * compiled first.
 */
export async function run(
  file: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<ScriptResult> {
  const script = file.startsWith('scripts/demo/') ? [await compiledSource(file)] : [...TYPESCRIPT, file]
  const child = spawn(process.execPath, [...SHORT_LIVED, ...script, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 110_000,
  })
  let [out, error] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (error += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, error }
}
