// Transactions, with tasks that run after the commit. Inside a transaction, use only `tx`: the embedded database has
// one connection, which the transaction occupies, so a query through the pool or Prisma's client would wait until
// timeout.

import type { Db, Tx } from './db.ts'

const TIMEOUT_MS = 15_000

/** Registers a task to run right after the commit; never after a rollback. Tasks must be short, such as a wake-up. */
export type AfterCommit = (task: () => void) => void

/**
 * Runs `work` in one READ COMMITTED transaction and returns its result. Rolls back if `work` throws or takes longer
 * than 15 s; fails if no connection becomes free within 15 s. Not retried.
 */
export async function withTransaction<T>(db: Db, work: (tx: Tx, afterCommit: AfterCommit) => Promise<T>): Promise<T> {
  const tasks: (() => void)[] = []
  const result = await db.$transaction((tx) => work(tx, (task) => tasks.push(task)), {
    isolationLevel: 'ReadCommitted',
    maxWait: TIMEOUT_MS,
    timeout: TIMEOUT_MS,
  })
  for (const task of tasks) {
    try {
      task()
    } catch (error) {
      // Not thrown: the caller would assume that the transaction was rolled back.
      process.emitWarning(error instanceof Error ? error : String(error))
    }
  }
  return result
}
