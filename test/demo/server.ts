// The server as its users start it, a process of its own on a free port, for the tests of what users are promised.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { newDataDir, type Backend, type Opened } from '../support/backend.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export type RunningServer = {
  /** Of its GraphQL. */
  url: string
  /** What it logged before it was ready. */
  log: string[]
  /** SIGTERM, and the end of its data; resolves with the process's exit code. */
  stop(): Promise<number | null>
}

/** On the backend's database, and its Redis if there is one. Everything else as by default. */
export async function startServer(backend: Backend): Promise<RunningServer> {
  // The embedded database is the server's own to open.
  const dataDir = backend.name === 'embedded' ? await newDataDir() : null
  const opened: Opened | null = dataDir ? null : await backend.open()
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/bin.ts'], {
    cwd: root,
    env: {
      ...process.env,
      PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'info',
      DATA_DIR: dataDir ?? '',
      DATABASE_URL: opened?.url ?? '',
      REDIS_URL: opened?.redisUrl ?? '',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Should the tests be broken off.
  process.once('exit', () => child.kill('SIGKILL'))
  const exited = once(child, 'exit') as Promise<[number | null]>
  const log: string[] = []
  const ready = (async () => {
    for await (const line of createInterface(child.stdout)) {
      log.push(line)
      const { url } = JSON.parse(line) as { url?: string }
      if (url) return url
    }
    throw new Error(`The server ended before it was ready:\n${log.join('\n')}`)
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

export type Ran = { code: number | null; out: string; error: string }

/** A script of the repository, run to its end, or for 50 s. */
export async function run(file: string, ...args: string[]): Promise<Ran> {
  const node = ['--import', 'tsx', file, ...args]
  const child = spawn(process.execPath, node, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], timeout: 50_000 })
  let [out, error] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (error += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, error }
}
