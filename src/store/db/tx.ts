// Transactions, with tasks that run after the commit. Inside a transaction, use only `tx`: the transaction occupies the
// only connection of the embedded database, so a query through the pool or Prisma's client would wait until its
// timeout.

import type { Db, Tx } from './db.ts'
import { scopeOfPrisma, type Scope } from './scope.ts'

/** Time limit of a transaction, and of the wait for its connection, in ms. */
const TIMEOUT_MS = 15_000

/**
 * Registers a task that runs right after the commit, but not after a rollback. Tasks must be short, such as an
 * announcement.
 */
export type AfterCommit = (task: () => void) => void

/**
 * Runs `work` in one READ COMMITTED transaction of the scope and returns its result. Rolls back if `work` throws or
 * takes longer than TIMEOUT_MS. Does not retry.
 * @throws DatabaseUnavailable in an outage of the database, and if no connection becomes free within TIMEOUT_MS
 */
export async function withTransaction<T>(
  db: Db,
  scope: Scope,
  work: (tx: Tx, afterCommit: AfterCommit) => Promise<T>,
): Promise<T> {
  const tasks: (() => void)[] = []
  const result = await scopeOfPrisma
    .run(scope, () =>
      db.prisma.$transaction(
        // Only the statement that begins the transaction reads `scopeOfPrisma`; `work` runs without it.
        (tx) => scopeOfPrisma.run(undefined, () => work(tx, (task) => tasks.push(task))),
        { maxWait: TIMEOUT_MS, timeout: TIMEOUT_MS },
      ),
    )
    .catch((error: unknown) => {
      throw db.errorOf(error)
    })
  for (const task of tasks) {
    try {
      task()
    } catch (error) {
      // Does not throw, because the caller would assume that the transaction was rolled back.
      process.emitWarning(error instanceof Error ? error : String(error))
    }
  }
  return result
}
