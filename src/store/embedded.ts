// The embedded database, for installations of one process: PGlite in a thread, reached like any Postgres. One process
// per data directory. PGlite never calls fsync: what it acknowledged survives the death of the process, not of the
// machine.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startThread } from '../thread.ts'
import { DataDirInUse, lockDataDir } from './data-dir.ts'
import type { Report, Start } from './embedded-worker.ts'

export { DataDirInUse } from './data-dir.ts'

/** How long a process that is just stopping gets to give its directory free, in ms: who restarts does not wait. */
const HANDOVER = 3_000

async function lockInTime(directory: string): Promise<() => void> {
  for (const until = Date.now() + HANDOVER; ;) {
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
  /** What `new pg.Pool` needs. It takes one connection at a time: they all share one backend and its session. */
  connection: { host: string; port: number; user: string; database: string; ssl: false }
  /** Resolves with the cause if the database ends without being asked to. Nothing can be stored then: exit. */
  died: Promise<Error>
  /** Rolls back what is open, writes everything out and gives the data directory free. End the pool first. */
  close(): Promise<void>
}

/** PGlite's only user, who needs no password. All is said, lest pg asks the environment (PGUSER, PGSSLMODE). */
const login = { user: 'postgres', database: 'postgres', ssl: false } as const

/** Postgres' recursions are stopped by its own limit only where the thread's stack is larger than that (measured). */
const STACK_MB = 256

/**
 * Starts the database in `dataDir`, which is created if need be; null keeps it in memory.
 * Throws DataDirInUse. The first start, which makes the files, takes about twice as long as later ones.
 */
export async function startEmbedded(dataDir: string | null): Promise<Embedded> {
  const unlock = dataDir === null ? () => {} : await lockInTime(resolve(dataDir))
  // Others on the machine are kept out by the directory's mode (0700). Windows' node has no such sockets for pg.
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
  const port = await Promise.race([serving, ended.then((error) => Promise.reject(error))])

  return {
    connection: { ...login, host: socketDir ?? '127.0.0.1', port: port ?? 5432 },
    died: new Promise((tell) => void ended.then((error) => (closing && !cause) || tell(error))),
    async close() {
      if (!closing) worker.postMessage('close')
      closing = true
      await ended
    },
  }
}
