// Where work waits that follows work: pg-boss on our own pool, in its own schema, so that jobs survive the process and
// are shared by all of them. A job is done at least once, by whoever comes first; what it does must bear that.
// Nothing is made or polled before the first worker starts.

import type { Pool } from 'pg'
import type PgBoss from 'pg-boss'

export type JobQueue = {
  /** Works on the jobs of that name, one at a time in each of `workers` lanes, from now on. A job that fails is over. */
  work(name: string, workers: number, handle: (key: string, signal: AbortSignal) => Promise<void>): Promise<void>
  /** Adds a job, unless one of that name and key waits already. */
  send(name: string, key: string): Promise<void>
  /** Tells running jobs to stop, and waits for them for up to 5 s. */
  close(): Promise<void>
}

/** A worker that has nothing to do looks again after so many seconds. Jobs sent by this process are taken at once. */
const POLL_SECONDS = 5
/** A job that runs for longer is taken for lost with its process, and given to the next. */
const EXPIRE_SECONDS = 300
const CLOSE_MS = 5_000

/** @param onError told what the queue could not do in the background; it tries again */
export function createJobQueue(pool: Pool, onError: (error: Error) => void): JobQueue {
  const stop = new AbortController()
  const workers = new Map<string, string[]>()
  /** Until it has started, whoever starts it is told what went wrong. */
  let strict = true
  let started: Promise<PgBoss> | null = null

  const execute = async (text: string, values?: unknown[]) => pool.query(text, values)

  async function start(): Promise<PgBoss> {
    // Not loaded before it is needed: a start is quicker without it.
    const { default: Boss } = await import('pg-boss')
    // pg-boss does not wait for the note that a job is done: were that to reject, it would end the process. The job then
    // expires, and is done once more.
    const executeSql = (text: string, values?: unknown[]) => execute(text, values).catch((error: Error) => {
      if (strict) throw error
      if (!stop.signal.aborted) onError(error)
      return { rows: [] }
    })
    const boss = new Boss({
      db: { executeSql }, schedule: false, maintenanceIntervalSeconds: 120, archiveCompletedAfterSeconds: 3_600,
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
      const boss = await (started ??= start())
      await boss.createQueue(name, { name, policy: 'short', retryLimit: 2, expireInSeconds: EXPIRE_SECONDS })
      if (!await boss.getQueue(name)) throw new Error(`the queue ${name} could not be made`)
      const ids: string[] = []
      const take = async (jobs: PgBoss.Job<{ key: string }>[]) => {
        try {
          for (const { data } of jobs) await handle(data.key, stop.signal)
        } finally {
          // Where one job was, more may wait: no pause, then, until there is none.
          for (const id of ids) boss.notifyWorker(id)
        }
      }
      for (let lane = 0; lane < lanes; lane++) {
        ids.push(await boss.work(name, { pollingIntervalSeconds: POLL_SECONDS, batchSize: 1 }, take))
      }
      workers.set(name, ids)
    },
    async send(name, key) {
      if (stop.signal.aborted) return
      const ids = workers.get(name)
      if (!ids) throw new Error(`nobody works on ${name}`)
      const boss = await started!
      await boss.send(name, { key }, { singletonKey: key, db: { executeSql: execute } })
      for (const id of ids) boss.notifyWorker(id)
    },
    async close() {
      stop.abort()
      const boss = await started?.catch(() => null)
      await boss?.stop({ graceful: true, timeout: CLOSE_MS }).catch(onError)
    },
  }
}
