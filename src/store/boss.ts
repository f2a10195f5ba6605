// pg-boss on our own pool: started on first use, and kept from ending the process when a statement fails.

import type { Pool } from 'pg'
import type PgBoss from 'pg-boss'

export type Boss = {
  /** Starts pg-boss with the first call. @throws the error of that start */
  get(): Promise<PgBoss>
  /** Runs a statement for pg-boss; its rejection is the caller's to handle. */
  execute: Pool['query']
  /** Stops pg-boss, waits for running jobs up to `timeoutMs`, then for pending statements. */
  stop(timeoutMs: number): Promise<void>
}

/** @param onError called with errors of background statements, which pg-boss retries; not after `stop` */
export function createBoss(pool: Pool, onError: (error: Error) => void): Boss {
  /** Statements that pg-boss does not wait for. */
  const pending = new Set<Promise<unknown>>()
  let starting: Promise<PgBoss> | null = null
  let isStopped = false
  const report = (error: Error) => {
    if (!isStopped) onError(error)
  }

  function execute(text: string, values?: unknown[]) {
    const answer = pool.query(text, values)
    const done = answer.catch(() => {}).finally(() => pending.delete(done))
    pending.add(done)
    return answer
  }

  return {
    get: () => (starting ??= start(execute, report)),
    execute: execute as Pool['query'],
    async stop(timeoutMs) {
      isStopped = true
      const boss = await starting?.catch(() => null)
      await boss?.stop({ graceful: true, timeout: timeoutMs }).catch(onError)
      await Promise.all(pending)
    },
  }
}

type Execute = (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }>

async function start(execute: Execute, report: (error: Error) => void): Promise<PgBoss> {
  // Loaded on first use, so that the process starts sooner.
  const { default: PgBossClass } = await import('pg-boss')
  let isStarted = false
  // pg-boss does not wait for the statement that marks a job as done or failed: a rejection would end the process.
  // Without it the job expires and runs once more. An answer without `rows` means that no job was found.
  const nothing = {} as { rows: unknown[] }
  const boss = new PgBossClass({
    db: {
      executeSql: (text: string, values?: unknown[]) =>
        execute(text, values).catch((error: Error) => {
          if (!isStarted) throw error
          report(error)
          return nothing
        }),
    },
    schedule: false,
    maintenanceIntervalSeconds: 120,
    archiveCompletedAfterSeconds: 3_600,
    deleteAfterDays: 1,
  })
  boss.on('error', report)
  await boss.start()
  isStarted = true
  return boss
}
