// The embedded database, for single-process installations: PGlite in a worker thread. pg connects to it as to any
// Postgres server. Only one process may use a data directory. PGlite never calls fsync: acknowledged writes survive a
// crash of the process, but not of the machine.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startThread } from '../../runtime/thread.ts'
import { DataDirInUse, lockDataDir } from './data-dir.ts'
import type { Report, Start } from './embedded-worker.ts'

export { DataDirInUse } from './data-dir.ts'

/** Maximum wait for the previous process to release the directory, in ms, so that restarts work. */
const HANDOVER_MS = 3_000

async function lockWithRetry(directory: string): Promise<() => void> {
  for (const until = Date.now() + HANDOVER_MS; ;) {
    try {
      return lockDataDir(directory)
    } catch (error) {
      if (!(error instanceof DataDirInUse) || Date.now() > until) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/** A running embedded database. */
export type Embedded = {
  /** Options for `new pg.Pool`. Use one connection at a time: all connections share one backend and its session. */
  connection: { host: string; port: number; user: string; database: string; ssl: false }
  /** Resolves when the database accepts connections. Rejects with the cause if it cannot start. */
  serving: Promise<void>
  /**
   * Resolves with the cause if the database stops unexpectedly. The process must then exit, because it cannot store
   * anything.
   */
  died: Promise<Error>
  /** Rolls back open transactions, flushes all data and releases the data directory. End the pool first. */
  close(): Promise<void>
}

/** PGlite's only user, without a password. All fields are set, so that pg does not read PGUSER or PGSSLMODE. */
const login = { user: 'postgres', database: 'postgres', ssl: false } as const

/**
 * Stack size of the thread, in MB. Must exceed Postgres' recursion limit, so that deep recursion is an SQL error and
 * not a crash.
 */
const STACK_MB = 256

/**
 * Starts the database in `dataDir`, which is created if needed; null for a database in memory. Throws DataDirInUse.
 * Resolves when its thread was started, so that the caller can prepare for it: await `serving` before connecting.
 */
export async function launchEmbedded(dataDir: string | null): Promise<Embedded> {
  const unlock = dataDir === null ? () => {} : await lockWithRetry(resolve(dataDir))
  // mkdtemp creates the directory with mode 0700, so that other users cannot connect. Node has no Unix sockets on
  // Windows, so TCP is used there.
  const socketDir = process.platform === 'win32' ? null : mkdtempSync(join(tmpdir(), 'colloquy-'))
  const start: Start = {
    directory: dataDir === null ? null : join(resolve(dataDir), 'postgres'),
    socketPath: socketDir && join(socketDir, '.s.PGSQL.5432'),
  }
  const worker = startThread(new URL('./embedded-worker.ts', import.meta.url), {
    name: 'embedded-database',
    workerData: start,
    resourceLimits: { stackSizeMb: STACK_MB },
  })

  let cause: Error | undefined
  let closing = false
  const ended = new Promise<Error>((done) => {
    worker.on('error', (error) => (cause ??= error))
    worker.once('exit', (code) => {
      if (socketDir) rmSync(socketDir, { recursive: true, force: true })
      unlock()
      done(new Error(`The embedded database ended: ${cause?.message ?? `code ${code}`}`, { cause }))
    })
  })
  const serving = new Promise<number | null>((done) => {
    worker.on('message', (report: Report) => {
      if ('serving' in report) done(report.serving)
      else cause ??= new Error(report.failure)
    })
  })
  const port = Promise.race([serving, ended.then((error) => Promise.reject(error))])
  // Handled by the caller, maybe later.
  port.catch(() => {})

  return {
    connection: { ...login, host: socketDir ?? '127.0.0.1', port: socketDir ? 5432 : (await port)! },
    serving: port.then(() => {}),
    died: new Promise((resolve) => void ended.then((error) => (closing && !cause) || resolve(error))),
    async close() {
      if (!closing) worker.postMessage('close')
      closing = true
      await ended
    },
  }
}

/** Starts the database as launchEmbedded does. Resolves when it accepts connections. */
export async function startEmbedded(dataDir: string | null): Promise<Embedded> {
  const embedded = await launchEmbedded(dataDir)
  await embedded.serving
  return embedded
}
