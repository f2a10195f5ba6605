// A server under attack: runs it in a process of its own, sends it requests, counts its server errors, and reads its
// memory, its stalls and its log.

import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent, get, request, type RequestOptions } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer, type ServerProcess } from '../bench/process.ts'

/** Maximum length of the kept part of a response, in bytes; the rest is read and discarded. */
const KEPT_BYTES = 1024 * 1024

export type Reply = { status: number; headers: Record<string, unknown>; bytes: number; body: string }

export type Target = {
  readonly port: number
  readonly pid: number
  readonly isPostgres: boolean
  /** Number of responses with a status of 500 or more, except 503. */
  serverErrors: number
  /**
   * Sends a request with that body. Resolves with status 0 if the server closes the connection, as it may while the
   * body is sent. Rejects if the connection fails in another way, or if the signal is aborted.
   */
  send(body: string, options?: PostOptions): Promise<Reply>
  /** Sends a GraphQL operation; see `send`. */
  post(query: string, variables?: object, options?: PostOptions): Promise<Reply>
  /** Memory of the idle server, MB. Attacks that fill the embedded database, which is in memory, update it. */
  idleMB: number
  /** Sends an operation with one field and returns its value. Throws on errors and on error members of unions. */
  get<T>(query: string, variables?: object, options?: PostOptions): Promise<T>
  /** Sends a GET request. */
  load(path: string, headers: Record<string, string>): Promise<Reply>
  /** The end of the log, at most KEPT_BYTES characters. */
  log(): string
  /** Resident memory of the process, in MB. */
  memory(): Promise<number>
  /** Peak resident memory since the last call, in MB. */
  peakMemory(): Promise<number>
  /** Longest stall of the server's event loop since the last call, ms. */
  longestStall(): Promise<number>
  isAlive(): Promise<boolean>
  stop(): Promise<void>
}

export type PostOptions = { tenant?: string; actor?: string; signal?: AbortSignal; isBatch?: boolean; agent?: Agent }

/** Reads a field of /proc/PID/status, in MB. */
async function statusOf(pid: number, field: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024
}

export async function startTarget(env: Record<string, string>): Promise<Target> {
  const socketPath = join(tmpdir(), `colloquy-probe-${randomBytes(6).toString('hex')}.sock`)
  let log = ''
  const server: ServerProcess = await startServer(
    'scripts/attacks/probed-server.ts',
    // Automatic titles add journal entries at any time, so two tenants would differ.
    { AUTOMATIC_TITLES: 'false', ...env, PROBE_SOCKET: socketPath },
    (line) => {
      log = `${log}${line}\n`.slice(-KEPT_BYTES)
    },
  )
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const { port, pid } = server

  function exchange(options: RequestOptions, body?: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const sent = request({ port, agent, ...options }, (response) => {
        const parts: Buffer[] = []
        let bytes = 0
        response.on('data', (part: Buffer) => {
          if (bytes < KEPT_BYTES) parts.push(part)
          bytes += part.length
        })
        response.on('error', reject)
        response.on('end', () => {
          const status = response.statusCode!
          if (status >= 500 && status !== 503) target.serverErrors += 1
          resolve({ status, headers: response.headers, bytes, body: Buffer.concat(parts).toString() })
        })
      })
      sent.on('error', (error: NodeJS.ErrnoException) => {
        const wasClosed = error.code === 'EPIPE' || error.code === 'ECONNRESET'
        if (wasClosed) resolve({ status: 0, headers: {}, bytes: 0, body: '' })
        else reject(error)
      })
      sent.end(body)
    })
  }

  function send(body: string, options: PostOptions = {}): Promise<Reply> {
    const { tenant = 'attacked', actor = 'mallory', signal, isBatch = false } = options
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-tenant': tenant,
      'x-actor': actor,
      ...(isBatch && { 'x-batch': '1' }),
    }
    return exchange({ path: '/graphql', method: 'POST', agent: options.agent ?? agent, headers, signal }, body)
  }

  const target: Target = {
    port,
    pid,
    isPostgres: Boolean(env.DATABASE_URL),
    serverErrors: 0,
    idleMB: 0,
    send,
    post: (query, variables = {}, options = {}) => send(JSON.stringify({ query, variables }), options),
    async get<T>(query: string, variables: object = {}, options: PostOptions = {}) {
      const { body } = await target.post(query, variables, options)
      const { data, errors } = JSON.parse(body) as { data?: Record<string, T>; errors?: unknown }
      const [value] = Object.values(data ?? {})
      if (errors || value == null || (value as { message?: string }).message) throw new Error(body.slice(0, 500))
      return value
    },
    load: (path, headers) => exchange({ path, headers }),
    log: () => log,
    memory: () => statusOf(pid, 'VmRSS'),
    async peakMemory() {
      const peak = await statusOf(pid, 'VmHWM')
      // Resets VmHWM to the current memory; see proc(5).
      await writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => {})
      return peak
    },
    longestStall: () =>
      new Promise((resolve, reject) => {
        get({ socketPath }, async (response) => {
          let text = ''
          for await (const part of response) text += String(part)
          resolve(Number(text))
        }).once('error', reject)
      }),
    async isAlive() {
      try {
        return (await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(30_000) })).ok
      } catch {
        return false
      }
    },
    async stop() {
      agent.destroy()
      await server.stop()
    },
  }
  return target
}
