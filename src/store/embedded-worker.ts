// The embedded database's thread: PGlite behind a socket that speaks Postgres' protocol, so that a slow statement holds
// up nobody but other statements. One backend serves all connections. Once that backend is damaged, the thread ends at
// once: PGlite itself would swallow the failure and never answer again.

import { existsSync, renameSync, rmSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import { vector } from '@electric-sql/pglite-pgvector'
import { dataDir as emptyCluster } from '@electric-sql/pglite-prepopulatedfs'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

/** What the thread is started with: no directory keeps the data in memory, no socket path means loopback TCP. */
export type Start = { directory: string | null; socketPath: string | null }

/** What it tells: that it serves (the TCP port, when there is one), or why it ends. */
export type Report = { serving: number | null } | { failure: string }

const { directory, socketPath } = workerData as Start
const report = (message: Report) => parentPort!.postMessage(message)

/** How PGlite reports an ordinary SQL error from inside: Postgres' longjmp. */
const SQL_ERROR = 100

const open = (at: string | null, loadDataDir?: Blob | File) =>
  PGlite.create({ dataDir: at ?? 'memory://', extensions: { pg_trgm, vector }, loadDataDir })

/**
 * A new cluster is unpacked, which takes a quarter of the time of making one. PGlite copies it in file by file: aside,
 * so that being killed meanwhile cannot leave half of one.
 */
async function create(at: string): Promise<void> {
  const draft = `${at}.new`
  rmSync(draft, { recursive: true, force: true })
  await (await open(draft, await emptyCluster())).close()
  renameSync(draft, at)
}

/** Ends the thread when a statement leaves Postgres other than by an SQL error: PANIC on a full disk, a trap. */
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
const db = await (directory ? open(directory) : open(null, await emptyCluster()))
guard(db)
const server = new PGLiteSocketServer({
  db,
  ...(socketPath ? { path: socketPath } : { host: '127.0.0.1', port: 0 }),
  // The pool opens one; its next one may arrive before the last one is quite gone.
  maxConnections: 8,
})
await server.start()
report({ serving: socketPath ? null : Number(server.getServerConn().split(':').at(-1)) })

async function close(): Promise<void> {
  await server.stop()
  // Leaves nothing to recover at the next start.
  await db.exec('CHECKPOINT')
  await db.close()
  parentPort!.close()
}
// A failure to close ends the thread with its cause.
parentPort!.once('message', () => void close())
