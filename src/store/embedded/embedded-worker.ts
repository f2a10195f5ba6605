// The embedded database's worker thread: PGlite behind a socket with the Postgres protocol, so that a slow statement
// does not block the main thread. One backend serves all connections. If it crashes, the thread exits immediately,
// because PGlite would ignore the failure and never respond again.

import { existsSync, renameSync, rmSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import { vector } from '@electric-sql/pglite-pgvector'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { freeMemoryAfterStart } from '../../runtime/free-memory.ts'
import { extractTemplate, readTemplate } from './embedded-template.ts'

/**
 * Input of the thread. Without a directory, the data is in memory. Without a socket path, the thread listens on a TCP
 * port of loopback.
 */
export type Start = { directory: string | null; socketPath: string | null }

/**
 * Message to the main thread. `serving`: the database accepts connections on the TCP port; null for the socket path.
 * `failure`: the reason why the thread exits.
 */
export type Report = { serving: number | null } | { failure: string }

const { directory, socketPath } = workerData as Start
const report = (message: Report) => parentPort!.postMessage(message)

/** Exit status with which PGlite reports an ordinary SQL error (Postgres' longjmp). */
const SQL_ERROR = 100

/**
 * Postgres' page cache. PGlite writes zeros to all of it when it starts, so that a large one costs memory and time even
 * if the database is small. Files that are not in it are in the page cache of the operating system.
 */
const SHARED_BUFFERS = '32MB'

const open = (path: string | null, template: Blob | null = null) =>
  PGlite.create({
    dataDir: path ?? 'memory://',
    extensions: { pg_trgm, vector },
    startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
    ...(template && { loadDataDir: template }),
  })

/**
 * Creates a cluster from the template or, without one, by initdb. It is written file by file to
 * another directory, which is then renamed: if the process is killed, no partial cluster remains.
 */
async function create(path: string): Promise<void> {
  const draft = `${path}.new`
  rmSync(draft, { recursive: true, force: true })
  if (!(await extractTemplate(draft))) await (await open(draft)).close()
  renameSync(draft, path)
}

/**
 * Exits the thread if a statement fails with anything but an SQL error, for example a PANIC on a full disk or a wasm
 * trap.
 */
function guard({ Module }: PGlite): void {
  const step = Module._PostgresMainLoopOnce
  Module._PostgresMainLoopOnce = () => {
    try {
      step()
    } catch (error) {
      if ((error as { status?: unknown }).status === SQL_ERROR) throw error
      report({ failure: String(error) })
      process.exit(1)
    }
  }
}

if (directory && !existsSync(directory)) await create(directory)
const db = await (directory ? open(directory) : open(null, await readTemplate()))
guard(db)
const server = new PGLiteSocketServer({
  db,
  ...(socketPath ? { path: socketPath } : { host: '127.0.0.1', port: 0 }),
  // The pool uses one connection, but may open a new one before the previous one is fully closed.
  maxConnections: 8,
})
await server.start()
report({ serving: socketPath ? null : Number(server.getServerConn().split(':').at(-1)) })
freeMemoryAfterStart()

async function close(): Promise<void> {
  await server.stop()
  // The backend keeps the role of the last connection, which may not run CHECKPOINT.
  await db.exec('RESET ROLE')
  // Flushes all changes, so that the next start needs no recovery.
  await db.exec('CHECKPOINT')
  await db.close()
  parentPort!.close()
}
// If closing fails, the unhandled rejection ends the thread and reports the cause.
parentPort!.once('message', () => void close())
