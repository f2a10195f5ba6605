// The job queue: pg-boss in a schema of its own, shared by all processes, whose jobs survive them. A job runs at least
// once, so its work must be idempotent. A failed job keeps the reason and is retried. Nothing is created or polled before
// the first worker starts.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type PgBoss from 'pg-boss'
import { ProviderFailed } from '../errors.ts'
import { createBoss } from './boss.ts'
import { readRetrying } from './sql/job/read-retrying.ts'

/** The subject of a job: the id of a conversation or a user, and its tenant. */
export type Subject = { tenant: string; key: string }

export type JobQueue = {
  /**
   * Works on the jobs of a queue, one at a time in each of `lanes`. A job whose `handle` rejects is retried after 2 to
   * 4 s, then after twice as long each time, up to half an hour; after about an hour it has failed.
   * @returns a function that aborts running jobs and waits for them for up to 5 s
   */
  work(
    name: string,
    lanes: number,
    handle: (subject: Subject, signal: AbortSignal) => Promise<void>,
  ): Promise<() => Promise<void>>
  /** Adds a job for each subject that has none waiting or to be retried in that queue. */
  send(name: string, subjects: readonly Subject[]): Promise<void>
  /** Aborts running jobs and waits for them for up to 5 s. */
  close(): Promise<void>
}

/** A failure whose message quotes no content of a conversation, so that it may be shown. */
export class JobFailed extends Error {}

/** Polling interval of an idle worker, s. Jobs sent by this process are taken at once. */
const POLL_SECONDS = 5
/** Time after which a running job counts as lost with its process and runs again, s. */
const EXPIRE_SECONDS = 300
const CLOSE_MS = 5_000
/** Delays double, plus up to as much at random: ten delays, the last of 17 to 34 minutes. */
const RETRY = { retryLimit: 10, retryDelay: 2, retryBackoff: true }
/** Characters kept of the reason for a failure. */
const REASON = 500

/** Advisory lock ("CQJQ") under which processes that start together create tables and queues in turn. */
const LOCK = 0x43514a51

/** Creates shared tables and queues in turn: concurrent statements of pg-boss would deadlock. */
async function inTurn<T>(pool: Pool, make: () => Promise<T>): Promise<T> {
  // The embedded database has one connection, and only one process.
  if (pool.options.max === 1) return make()
  const client = await pool.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK])
    return await make()
  } finally {
    // Ends the session instead of returning the connection: that releases the lock.
    client.release(true)
  }
}

const keyOf = ({ tenant, key }: Subject) => JSON.stringify([tenant, key])

/** The reason kept for a failed job. Of an unexpected error only its name and code: its message may quote content. */
function reasonOf(error: unknown, stopped: boolean): string {
  if (error instanceof ProviderFailed || error instanceof JobFailed) return error.message.slice(0, REASON)
  if (stopped) return 'The process that ran it was stopped.'
  const { name = 'Error', code } = error as { name?: string; code?: unknown }
  return `Unexpected error (${[name, code].filter((each) => typeof each === 'string').join(' ')}): see the log.`
}

/** An error without a stack, since pg-boss stores all of it. */
function kept(reason: string): Error {
  const error = new Error(reason)
  delete error.stack
  return error
}

/** Takes jobs of one queue in some lanes; stops when `signal` aborts. */
type QueueWorker = { ids: readonly string[]; running: ReadonlySet<Promise<void>> }

async function startWorker(
  boss: PgBoss,
  name: string,
  lanes: number,
  handle: (subject: Subject, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<QueueWorker> {
  const ids: string[] = []
  const running = new Set<Promise<void>>()
  const take = async (jobs: PgBoss.Job<Subject>[]) => {
    try {
      for (const { data } of jobs) {
        signal.throwIfAborted()
        const handled = handle(data, signal).finally(() => running.delete(handled))
        running.add(handled)
        await handled
      }
    } catch (error) {
      throw kept(reasonOf(error, signal.aborted))
    } finally {
      // More jobs may wait: poll again at once, until there is none.
      for (const id of ids) boss.notifyWorker(id)
    }
  }
  for (let lane = 0; lane < lanes; lane++) {
    ids.push(await boss.work(name, { pollingIntervalSeconds: POLL_SECONDS, batchSize: 1 }, take))
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
  /** Ids of pg-boss's workers, by queue. */
  const workers = new Map<string, readonly string[]>()
  const { get, execute, stop: stopBoss } = createBoss(pool, onError)

  return {
    async work(name, lanes, handle) {
      const boss = await inTurn(pool, async () => {
        const started = await get()
        await prepareQueue(started, name)
        return started
      })
      const halt = new AbortController()
      const signal = AbortSignal.any([stop.signal, halt.signal])
      const { ids, running } = await startWorker(boss, name, lanes, handle, signal)
      workers.set(name, [...(workers.get(name) ?? []), ...ids])
      return async () => {
        halt.abort()
        const others = (workers.get(name) ?? []).filter((id) => !ids.includes(id))
        workers.set(name, others)
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
