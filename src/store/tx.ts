// Transactions: all of the work or none of it, and what must wait for the commit waits for it.
// Inside, only `tx` may be used. The embedded database has one connection, which the transaction holds: asking the pool
// or Prisma's client there waits for a connection that is not given back, until the transaction times out.

import type { Db, Tx } from './db.ts'

const TIMEOUT_MS = 15_000

/** Registers what to do right after the commit, and only then: something short, such as a wake-up. */
export type AfterCommit = (task: () => void) => void

/**
 * Runs `work` in one READ COMMITTED transaction and returns its result. It rolls back when `work` throws or takes more
 * than 15 s; it also fails when no connection is free for 15 s. It is not repeated by itself.
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
      // The caller must not take what is committed for undone.
      process.emitWarning(error instanceof Error ? error : String(error))
    }
  }
  return result
}
