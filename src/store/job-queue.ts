// Where work waits that follows work: pg-boss on our own pool, in its own schema, so that jobs survive the process and
// are shared by all of them. A job is done at least once, by whoever comes first; what it does must bear that. One that
// fails keeps a text that says why, and is tried again. Nothing is made or polled before the first worker starts.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type PgBoss from 'pg-boss'
import { ProviderFailed } from '../errors.ts'
import { readRetrying } from './sql/job/read-retrying.ts'

/** What a job is about: a conversation of the tenant, or a user. */
export type Subject = { tenant: string; key: string }

export type JobQueue = {
  /**
   * Works on the jobs of that name, one at a time in each of `lanes`, from now on. A job whose `handle` rejects is
   * tried again after 2 to 4 s, then after twice as long each time, up to half an hour; after an hour, about, it is
   * given up.
   * @returns what stops it: tells running jobs to stop, and waits for them for up to 5 s
   */
  work(
    name: string,
    lanes: number,
    handle: (subject: Subject, signal: AbortSignal) => Promise<void>,
  ): Promise<() => Promise<void>>
  /** Adds a job for each subject, unless one of that name waits already, be it to be tried again. */
  send(name: string, subjects: readonly Subject[]): Promise<void>
  /** Tells running jobs to stop, and waits for them for up to 5 s. */
  close(): Promise<void>
}

/** A failure of a job whose text names nothing that was said, so that it can be shown. */
export class JobFailed extends Error {}

/** A worker that has nothing to do looks again after so many seconds. Jobs sent by this process are taken at once. */
const POLL_SECONDS = 5
/** A job that runs for longer is taken for lost with its process, and given to the next. */
const EXPIRE_SECONDS = 300
const CLOSE_MS = 5_000
/** Each wait is twice as long as the one before, and up to twice that. Ten waits: the last is 17 to 34 minutes. */
const RETRY = { retryLimit: 10, retryDelay: 2, retryBackoff: true }
/** Characters of why a job failed. */
const REASON = 500

/** Advisory lock under which processes that start together make tables and queues one after the other: "CQJQ". */
const LOCK = 0x43514a51

/** Makes what all processes share: at once, pg-boss's own statements would lock each other out. */
async function inTurn<T>(pool: Pool, make: () => Promise<T>): Promise<T> {
  // With one connection there is none to hold the lock; the embedded database has one process anyway.
  if (pool.options.max === 1) return make()
  const client = await pool.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK])
    return await make()
  } finally {
    // Not given back but ended: with its session the lock ends.
    client.release(true)
  }
}

const keyOf = ({ tenant, key }: Subject) => JSON.stringify([tenant, key])

/** What is kept of why a job failed: of what is not expected only its kind, for its text may quote what was said. */
function reasonOf(error: unknown, stopped: boolean): string {
  if (error instanceof ProviderFailed || error instanceof JobFailed) return error.message.slice(0, REASON)
  if (stopped) return 'The process that did it was stopped.'
  const { name = 'Error', code } = error as { name?: string; code?: unknown }
  return `Something unexpected (${[name, code].filter((each) => typeof each === 'string').join(' ')}): see the log.`
}

/** As pg-boss keeps it: without a stack. */
function kept(reason: string): Error {
  const error = new Error(reason)
  delete error.stack
  return error
}

/** @param onError told what the queue could not do in the background; it tries again */
export function createJobQueue(pool: Pool, onError: (error: Error) => void): JobQueue {
  const stop = new AbortController()
  const workers = new Map<string, string[]>()
  /** Until it has started, whoever starts it is told what went wrong. */
  let strict = true
  let started: Promise<PgBoss> | null = null

  /** Statements under way: notes on jobs, for which pg-boss does not wait. */
  const pending = new Set<Promise<unknown>>()

  function execute(text: string, values?: unknown[]) {
    const answer = pool.query(text, values)
    const done = answer
      .then(
        () => {},
        () => {},
      )
      .finally(() => pending.delete(done))
    pending.add(done)
    return answer
  }

  async function start(): Promise<PgBoss> {
    // Not loaded before it is needed: a start is quicker without it.
    const { default: Boss } = await import('pg-boss')
    // pg-boss does not wait for the note that a job is done or has failed: were that to reject, it would end the
    // process. The job then expires, and is done once more. Without `rows` such a note is taken for one that found no
    // job.
    const nothing = {} as { rows: unknown[] }
    const executeSql = (text: string, values?: unknown[]) =>
      execute(text, values).catch((error: Error) => {
        if (strict) throw error
        if (!stop.signal.aborted) onError(error)
        return nothing
      })
    const boss = new Boss({
      db: { executeSql },
      schedule: false,
      maintenanceIntervalSeconds: 120,
      archiveCompletedAfterSeconds: 3_600,
      deleteAfterDays: 1,
    })
    boss.on('error', (error) => {
      if (!stop.signal.aborted) onError(error)
    })
    await boss.start()
    strict = false
    return boss
  }

  return {
    async work(name, lanes, handle) {
      const boss = await inTurn(pool, async () => {
        const made = await (started ??= start())
        const options = { name, policy: 'short' as const, expireInSeconds: EXPIRE_SECONDS, ...RETRY }
        await made.createQueue(name, options)
        // It may be there from an earlier version.
        await made.updateQueue(name, options)
        return made
      })
      if (!(await boss.getQueue(name))) throw new Error(`the queue ${name} could not be made`)
      const ids: string[] = []
      const halt = new AbortController()
      const signal = AbortSignal.any([stop.signal, halt.signal])
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
          // Where one job was, more may wait: no pause, then, until there is none.
          for (const id of ids) boss.notifyWorker(id)
        }
      }
      for (let lane = 0; lane < lanes; lane++) {
        ids.push(await boss.work(name, { pollingIntervalSeconds: POLL_SECONDS, batchSize: 1 }, take))
      }
      workers.set(name, [...(workers.get(name) ?? []), ...ids])
      return async () => {
        halt.abort()
        workers.set(
          name,
          (workers.get(name) ?? []).filter((id) => !ids.includes(id)),
        )
        for (const id of ids) await boss.offWork({ id })
        await Promise.race([Promise.allSettled(running), sleep(CLOSE_MS, undefined, { ref: false })])
      }
    },
    async send(name, subjects) {
      if (stop.signal.aborted || subjects.length === 0) return
      const ids = workers.get(name)
      if (!ids) throw new Error(`nobody works on ${name}`)
      const boss = await started!
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
      const boss = await started?.catch(() => null)
      await boss?.stop({ graceful: true, timeout: CLOSE_MS }).catch(onError)
      await Promise.all(pending)
    },
  }
}
