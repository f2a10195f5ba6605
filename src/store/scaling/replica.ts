// A streaming replica of the database, for reads that may use it. A read uses the replica only if the replica has
// caught up with the primary: for a read of one conversation, with its journal; for other reads, with the write-ahead
// log. So a client always reads its own writes, even if another process executed them.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { QueueDelay } from '../../runtime/queue-delay.ts'
import { createPool, createPrisma, type Db } from '../db/db.ts'
import { checkIsolation } from '../db/isolation.ts'
import { SYSTEM } from '../db/scope.ts'
import { createPostgresVectors } from '../vectors/postgres-vectors.ts'
import { hasReplayed, isSamePrimary, readPosition, type Position } from '../sql/kernel/replay.ts'
import type { Pool } from '../db/tenant-pool.ts'
import type { VectorSearch } from '../vectors/vector-search.ts'

/** Maximum time that a read waits for the replica to catch up, ms. The read then uses the primary. */
const WAIT_MS = 50
/** Interval of the checks whether the replica has caught up, ms. */
const CHECK_MS = 5
/** Time for which no read uses the replica after a failure, ms. */
const RETRY_MS = 5_000
/** Maximum time to connect to the replica, ms. */
const CONNECT_MS = 2_000
/** Postgres' code of a statement that the replica cancelled because replaying would change what it reads. */
const RECOVERY_CONFLICT = '40001'

/** The database at DATABASE_READ_URL cannot serve as a replica. The message is the reason. @internal */
export class NotReplica extends Error {
  override readonly name = 'NotReplica'
}

export type Replica = {
  readonly pool: Pool
  readonly db: Db
  /** Searches on the replica, and writes on the primary. */
  readonly vectors: VectorSearch
  /**
   * Whether the replica can be used and has replayed all commits of the primary that concern the conversation. Waits up
   * to WAIT_MS for the replica to catch up. Never rejects.
   * @param conversationId null for the whole database
   */
  hasCaughtUp(tenant: string, conversationId: string | null): Promise<boolean>
  /** Stops using the replica for a while, unless the error concerns one statement only. */
  failed(error: unknown): void
  close(): Promise<void>
}

type Settings = { databaseReadUrl: string; poolSize: number; readTimeoutMs: number; delay: QueueDelay }

/** Returns the result, or null if it takes longer. A lost replica may never respond. */
const within = <T>(ms: number, work: Promise<T>): Promise<T | null> => {
  work.catch(() => {})
  return Promise.race([work, sleep(ms, null, { ref: false })])
}

/**
 * Opens the connections to the replica. If it cannot be reached, reads use the primary until it can.
 * @param primary connections to the primary, for reads
 * @throws NotReplica @throws NotIsolated
 */
export async function openReplica(
  { databaseReadUrl, poolSize, readTimeoutMs, delay }: Settings,
  primary: { pool: Pool; db: Db },
  log: Pick<Logger, 'info' | 'warn'>,
): Promise<Replica> {
  const source = { databaseUrl: databaseReadUrl, poolSize, statementMs: readTimeoutMs, connectMs: CONNECT_MS }
  const pool = createPool(source, (err) => log.warn({ err }, 'a connection to the replica failed'), delay)
  const db = createPrisma(pool)
  let unusableUntil = 0
  let isChecked = false
  let isReported = false

  /** @throws NotReplica @throws NotIsolated @throws the database's error */
  async function check(): Promise<void> {
    if (!(await isSamePrimary(primary.pool, pool)))
      throw new NotReplica(
        'DATABASE_READ_URL is not a streaming replica of DATABASE_URL. Set it to a physical standby of the same server '
          + 'and the same database, or remove it.',
      )
    await checkIsolation(pool)
    isChecked = true
  }

  function failed(error: unknown): void {
    if ((error as { code?: string }).code === RECOVERY_CONFLICT) return
    unusableUntil = performance.now() + RETRY_MS
    if (!isReported) log.warn({ err: error }, 'the replica cannot be used; reads use the primary')
    isReported = true
  }

  async function waitFor(tenant: string, position: Position): Promise<boolean> {
    if (!isChecked) await check()
    const until = performance.now() + WAIT_MS
    while (!(await hasReplayed(pool, tenant, position))) {
      if (performance.now() >= until) return false
      await sleep(CHECK_MS)
    }
    if (isReported) log.info({}, 'the replica is used again')
    isReported = false
    return true
  }

  const replica: Replica = {
    pool,
    db,
    vectors: createPostgresVectors(primary.db, { reads: db }),
    failed,
    async hasCaughtUp(tenant, conversationId) {
      if (performance.now() < unusableUntil) return false
      try {
        const position = await readPosition(primary.pool, tenant, conversationId).catch(() => null)
        // The conversation does not exist, or the primary failed. The read itself reports the error.
        if (position === null) return false
        const caughtUp = await within(CONNECT_MS, waitFor(tenant, position))
        if (caughtUp === null) failed(new Error(`The replica did not respond within ${CONNECT_MS} ms.`))
        return caughtUp ?? false
      } catch (error) {
        failed(error)
        return false
      }
    },
    async close() {
      await db.$disconnect()
      await pool.end()
    },
  }
  try {
    await pool.query({ text: 'SELECT 1', scope: SYSTEM })
  } catch (error) {
    failed(error)
    return replica
  }
  await check().catch(async (error: Error) => {
    await replica.close()
    throw error
  })
  return replica
}
