// The job queue: pg-boss in its own schema, shared by all processes. Jobs survive restarts. A job runs at least once,
// so it must be idempotent. A job that fails is retried and stores the reason. No table is created or polled before the
// first worker starts.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../db/tenant-pool.ts'
import type PgBoss from 'pg-boss'
import { ProviderFailed } from '../../errors.ts'
import { createBoss } from './boss.ts'
import { readRetrying } from '../sql/background/read-retrying.ts'

/** The subject of a job. `key` is the id of a conversation or a user of the tenant, or names an agent of a conversation. */
export type Subject = { tenant: string; key: string }

export type JobQueue = {
  /**
   * Starts to process the jobs of a queue, at most `concurrency` at a time in this process. A job whose `handle`
   * rejects is retried with the delays of RETRY, and fails if the last retry also rejects.
   * @returns a function that aborts running jobs and waits for them for up to CLOSE_MS
   */
  work(
    name: string,
    concurrency: number,
    handle: (subject: Subject, signal: AbortSignal) => Promise<void>,
  ): Promise<() => Promise<void>>
  /**
   * Adds a job for each subject without a waiting or retrying job in the queue. Does nothing after `close`. Throws for
   * a non-empty list if this process has never started a worker of the queue.
   */
  send(name: string, subjects: readonly Subject[]): Promise<void>
  /** Aborts running jobs and waits for them for up to CLOSE_MS. */
  close(): Promise<void>
}

/** A failure of a job. Its message may be shown, because it quotes no content of a conversation. */
export class JobFailed extends Error {}

/** Polling interval of an idle worker, s. Jobs sent by this process start at once. */
const POLL_SECONDS = 5
/** Time after which a running job is assumed to be lost with its process, and runs again, s. */
const EXPIRE_SECONDS = 300
/** Maximum wait for running jobs when workers stop, ms. */
const CLOSE_MS = 5_000
/** Ten retries. The delay doubles from 2 s, plus up to 100 % at random: the last delay is 17 to 34 minutes. */
const RETRY = { retryLimit: 10, retryDelay: 2, retryBackoff: true }
/** Maximum stored length of the reason for a failure, in UTF-16 units. */
const REASON_UNITS = 500

/** Key of the advisory lock of `withSetupLock`: "CQJQ" in ASCII. */
const LOCK = 0x43514a51

/**
 * Runs `setUp` in one process at a time, because pg-boss deadlocks if processes create tables and queues concurrently.
 */
async function withSetupLock<T>(pool: Pool, setUp: () => Promise<T>): Promise<T> {
  // Only one process uses the embedded database, which has only one connection.
  if (pool.options.max === 1) return setUp()
  const client = await pool.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK])
    return await setUp()
  } finally {
    // Closes the connection instead of returning it to the pool: this releases the lock.
    client.release(true)
  }
}

const keyOf = ({ tenant, key }: Subject) => JSON.stringify([tenant, key])

/** The stored reason for a failure. For an unexpected error, only name and code: its message may quote content. */
function reasonOf(error: unknown, isStopped: boolean): string {
  if (error instanceof ProviderFailed || error instanceof JobFailed) return error.message.slice(0, REASON_UNITS)
  if (isStopped) return 'The process that ran the job was stopped.'
  const { name = 'Error', code } = error as { name?: string; code?: unknown }
  return `Unexpected error (${[name, code].filter((each) => typeof each === 'string').join(' ')}): see the log.`
}

/** Creates an error without a stack, because pg-boss stores all properties of an error. */
function withoutStack(reason: string): Error {
  const error = new Error(reason)
  delete error.stack
  return error
}

/** The ids of pg-boss's workers for a queue, and their running jobs. */
type QueueWorker = { ids: readonly string[]; running: ReadonlySet<Promise<void>> }

/** The queue, and how its jobs are handled. */
type QueueWork = { name: string; concurrency: number; handle: (subject: Subject, signal: AbortSignal) => Promise<void> }

/** Starts `concurrency` workers of pg-boss. They start no job after `signal` is aborted. */
async function startWorker(
  boss: PgBoss,
  { name, concurrency, handle }: QueueWork,
  signal: AbortSignal,
): Promise<QueueWorker> {
  const ids: string[] = []
  const running = new Set<Promise<void>>()
  const run = async (jobs: PgBoss.Job<Subject>[]) => {
    try {
      for (const { data } of jobs) {
        signal.throwIfAborted()
        const handled = handle(data, signal).finally(() => running.delete(handled))
        running.add(handled)
        await handled
      }
    } catch (error) {
      throw withoutStack(reasonOf(error, signal.aborted))
    } finally {
      // Polls again at once, because more jobs may be waiting.
      for (const id of ids) boss.notifyWorker(id)
    }
  }
  for (let i = 0; i < concurrency; i++) {
    ids.push(await boss.work(name, { pollingIntervalSeconds: POLL_SECONDS, batchSize: 1 }, run))
  }
  return { ids, running }
}

/** Creates a queue, or applies this version's options to an existing one. */
async function prepareQueue(boss: PgBoss, name: string): Promise<void> {
  const options = { name, policy: 'short' as const, expireInSeconds: EXPIRE_SECONDS, ...RETRY }
  await boss.createQueue(name, options)
  await boss.updateQueue(name, options)
  if (!(await boss.getQueue(name))) throw new Error(`the queue ${name} could not be created`)
}

/** @param onError called with errors of the queue's background statements, which are retried */
export function createJobQueue(pool: Pool, onError: (error: Error) => void): JobQueue {
  const stop = new AbortController()
  /** Ids of pg-boss's workers in this process, by queue. */
  const workers = new Map<string, readonly string[]>()
  const { get, execute, stop: stopBoss } = createBoss(pool, onError)

  return {
    async work(name, concurrency, handle) {
      const boss = await withSetupLock(pool, async () => {
        const started = await get()
        await prepareQueue(started, name)
        return started
      })
      const halt = new AbortController()
      const signal = AbortSignal.any([stop.signal, halt.signal])
      const { ids, running } = await startWorker(boss, { name, concurrency, handle }, signal)
      workers.set(name, [...(workers.get(name) ?? []), ...ids])
      return async () => {
        halt.abort()
        const remaining = (workers.get(name) ?? []).filter((id) => !ids.includes(id))
        workers.set(name, remaining)
        for (const id of ids) await boss.offWork({ id })
        await Promise.race([Promise.allSettled(running), sleep(CLOSE_MS, undefined, { ref: false })])
      }
    },
    async send(name, subjects) {
      if (stop.signal.aborted || subjects.length === 0) return
      const ids = workers.get(name)
      if (!ids) throw new Error(`the queue ${name} has no worker`)
      const boss = await get()
      const retrying = await readRetrying(pool, name, subjects.map(keyOf))
      for (const { tenant, key } of subjects) {
        const singletonKey = keyOf({ tenant, key })
        if (retrying.has(singletonKey)) continue
        await boss.send(name, { tenant, key }, { singletonKey, db: { executeSql: execute } })
      }
      for (const id of ids) boss.notifyWorker(id)
    },
    async close() {
      stop.abort()
      await stopBoss(CLOSE_MS)
    },
  }
}
