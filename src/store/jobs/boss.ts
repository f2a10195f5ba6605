// Runs pg-boss on the server's pool. Starts it on first use, and keeps a failed statement from ending the process.

import type { Pool } from '../db/tenant-pool.ts'
import type PgBoss from 'pg-boss'
import { SYSTEM } from '../db/scope.ts'

export type Boss = {
  /** Returns pg-boss. Starts it on the first call, and again if the last start failed. */
  get(): Promise<PgBoss>
  /** Runs a statement for pg-boss. The caller must handle a rejection; `stop` waits for the statement. */
  execute: Execute
  /** Stops pg-boss. Waits for running jobs up to `timeoutMs` milliseconds, then for statements in progress. */
  stop(timeoutMs: number): Promise<void>
}

/**
 * @param onError called with errors of background statements, which pg-boss retries, and with the error if `stop` fails
 */
export function createBoss(pool: Pool, onError: (error: Error) => void): Boss {
  /** Statements in progress. pg-boss does not wait for all of them. */
  const pending = new Set<Promise<unknown>>()
  let starting: Promise<PgBoss> | null = null
  let isStopped = false
  const report = (error: Error) => {
    if (!isStopped) onError(error)
  }

  function execute(text: string, values?: unknown[]) {
    const result = text.includes(';') ? runScript(pool, text) : pool.query<object>({ text, values, scope: SYSTEM })
    const settled = result.catch(() => {}).finally(() => pending.delete(settled))
    pending.add(settled)
    return result
  }

  return {
    get() {
      const current = (starting ??= start(execute, report))
      current.catch(() => {
        if (starting === current) starting = null
      })
      return current
    },
    execute,
    async stop(timeoutMs) {
      isStopped = true
      const boss = await starting?.catch(() => null)
      await boss?.stop({ graceful: true, timeout: timeoutMs }).catch(onError)
      await Promise.all(pending)
    },
  }
}

/**
 * Runs several statements as colloquy_system, on a connection that is closed afterwards: the statements may begin and
 * commit a transaction, so the role is that of the connection.
 */
async function runScript(pool: Pool, text: string): Promise<{ rows: unknown[] }> {
  const client = await pool.connect()
  try {
    await client.query('SET ROLE colloquy_system')
    return await client.query(text)
  } finally {
    client.release(true)
  }
}

type Execute = (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }>

async function start(execute: Execute, report: (error: Error) => void): Promise<PgBoss> {
  // pg-boss is imported on first use, so that the process starts sooner.
  const { default: PgBossClass } = await import('pg-boss')
  let isStarted = false
  // pg-boss does not handle a rejection of the statement that marks a job as completed or failed, so a rejection would
  // end the process. If that statement fails, the job expires and runs again. A result without `rows` means that no job
  // was found.
  const noJobs = {} as { rows: unknown[] }
  const boss = new PgBossClass({
    db: {
      executeSql: (text: string, values?: unknown[]) =>
        execute(text, values).catch((error: Error) => {
          if (!isStarted) throw error
          report(error)
          return noJobs
        }),
    },
    schedule: false,
    maintenanceIntervalSeconds: 120,
    archiveCompletedAfterSeconds: 3_600,
    deleteAfterDays: 1,
  })
  boss.on('error', report)
  try {
    await boss.start()
  } catch (error) {
    // `stop` ends the timers of a partial start. Its errors are ignored, because the caller needs the cause.
    await boss.stop({ graceful: false }).catch(() => {})
    throw error
  }
  isStarted = true
  return boss
}
