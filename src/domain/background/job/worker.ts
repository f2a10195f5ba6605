// Defines a kind of background work, and runs the worker for its jobs. A job contains only its subject: a conversation,
// a user or an agent of a conversation. When the job runs, it reads from the database how much work is due. Therefore a
// duplicate job does nothing, and the next sweep requeues a job that was lost in a crash.

import { ProviderFailed } from '../../../errors.ts'
import { JobFailed, type Subject } from '../../../store/jobs/job-queue.ts'
import { AGENT_QUEUE } from '../../../store/sql/background/read-jobs.ts'
import type { Platform } from '../../kernel/platform.ts'

/** Kinds of background work. */
export type JobName =
  | 'COMPACT'
  | 'WRITE_TITLE'
  | 'EXTRACT_FACTS'
  | 'REFRESH_PROFILE'
  | 'RECONCILE_FACTS'
  | 'RUN_AGENT'
  | 'CONTINUE_RUNS'

/** Queue name of each kind. */
export const QUEUES: Readonly<Record<JobName, string>> = {
  COMPACT: 'compact',
  WRITE_TITLE: 'write-title',
  EXTRACT_FACTS: 'extract-facts',
  REFRESH_PROFILE: 'refresh-profile',
  RECONCILE_FACTS: 'reconcile-facts',
  RUN_AGENT: AGENT_QUEUE,
  CONTINUE_RUNS: 'continue-runs',
}

/** Conditions that end work early. */
export type Halt = {
  /** Aborts the work at once, including a provider call in progress. */
  stop: AbortSignal
  /** Returns whether the work must end before its next step. */
  shouldEnd: () => boolean
}

/** A kind of work. `Key` is a conversation id for work in conversations, and a Subject for work about users. */
export type Work<Key> = {
  name: JobName
  /** Maximum number of jobs of this kind that one process runs concurrently. */
  concurrency: number
  /**
   * Returns at most `limit` subjects with due work, in ascending order, after the subject `after`. Null starts with the
   * first subject.
   */
  due(after: Subject | null, limit: number): Promise<Subject[]>
  /** Returns the subjects with due work among the given users, or in the given conversations. */
  dueAmong(keys: readonly Key[]): Promise<Subject[]>
  /** Returns the id of the subject's conversation. Absent for users, and for subjects whose key is this id. */
  conversationOf?(subject: Subject): string
  /** Does the due work of the subject and returns the number of steps. Overlapping runs never repeat a step. */
  run(subject: Subject, halt: Halt): Promise<number>
}

/** Milliseconds after which a job ends before its next step; its remaining work is queued again, behind other jobs. */
const SHARE_MS = 60_000
/** Milliseconds after which the job queue assumes that a running job is lost, and starts it again (job-queue.ts). */
const LOST_MS = 300_000

/** Calls `once` until it returns false or the work must end. Returns the number of calls that returned true. */
export async function repeat(
  once: (stop: AbortSignal) => Promise<boolean>,
  { stop, shouldEnd }: Halt,
): Promise<number> {
  let count = 0
  while (!stop.aborted && !shouldEnd() && (await once(stop))) count++
  return count
}

/**
 * Starts a worker, which runs at most one job per subject at a time in this process.
 * @param recheck called with a subject that may have more due work
 * @returns a function that stops the worker and resolves when running jobs have ended
 */
export function startWorker(
  { clock, jobs, log }: Pick<Platform, 'clock' | 'jobs' | 'log'>,
  work: Pick<Work<never>, 'name' | 'concurrency' | 'run'>,
  recheck: (subject: Subject) => void,
): Promise<() => Promise<void>> {
  const busy = new Map<string, { since: number; isRecheckNeeded: boolean }>()

  return jobs.work(QUEUES[work.name], work.concurrency, async (subject, signal) => {
    const id = JSON.stringify(subject)
    const now = clock.performance.now()
    const running = busy.get(id)
    if (running) {
      // The running job also does this job's work, unless it has already read how much is due. The recheck covers that
      // case.
      running.isRecheckNeeded = true
      const seconds = Math.round((now - running.since) / 1000)
      if (now - running.since > LOST_MS) throw new JobFailed(`An earlier attempt has been running for ${seconds} s.`)
      return
    }
    const current = { since: now, isRecheckNeeded: false }
    busy.set(id, current)
    try {
      const count = await work.run(subject, { stop: signal, shouldEnd: () => clock.performance.now() > now + SHARE_MS })
      if (count > 0) log.info({ job: work.name, ...subject, count }, 'finished due work')
      if (count > 0 || current.isRecheckNeeded) recheck(subject)
    } catch (err) {
      // askProvider has logged the provider's failure.
      if (!(err instanceof ProviderFailed) && !signal.aborted) log.warn({ err, job: work.name }, 'job failed')
      throw err
    } finally {
      busy.delete(id)
    }
  })
}
