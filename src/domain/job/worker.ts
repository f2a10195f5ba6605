// One kind of background work, and the worker that runs its jobs. A job names only its subject; the work is read from
// counters and watermarks when the job runs. So a duplicate job does no harm, and a job lost in a crash is queued
// again.

import { ProviderFailed } from '../../errors.ts'
import { JobFailed, type Subject } from '../../store/job-queue.ts'
import type { Platform } from '../platform.ts'

/** Kinds of background work. */
export type JobName = 'COMPACT' | 'EXTRACT_FACTS' | 'REFRESH_PROFILE' | 'RECONCILE_FACTS'

/** Queue name of each kind. */
export const QUEUES: Readonly<Record<JobName, string>> = {
  COMPACT: 'compact',
  EXTRACT_FACTS: 'extract-facts',
  REFRESH_PROFILE: 'refresh-profile',
  RECONCILE_FACTS: 'reconcile-facts',
}

/** Signals that end work early. */
export type Halt = {
  /** Aborts the work at once, including a provider call in progress. */
  stop: AbortSignal
  /** Whether the work is to end before its next step. */
  enough: () => boolean
}

/** A kind of work. `Key` is a conversation id, or a user as a Subject. */
export type Work<Key> = {
  name: JobName
  /** Number of jobs of this kind that a process runs concurrently. */
  lanes: number
  /** Returns at most `limit` subjects with due work, in order, after the given one. */
  due(after: Subject | null, limit: number): Promise<Subject[]>
  /** Returns the subjects with due work among the given ones. */
  dueAmong(keys: readonly Key[]): Promise<Subject[]>
  /** Does the due work of the subject and returns the number of steps. Overlapping runs never repeat a step. */
  run(subject: Subject, halt: Halt): Promise<number>
}

/** Milliseconds after which a job ends and is queued again behind the others. */
const SHARE_MS = 60_000
/** Milliseconds after which the queue treats a running job as lost. */
const LOST_MS = 300_000

/** Calls `once` until it returns false or the work is to halt. Returns the number of calls that returned true. */
export async function repeat(once: (stop: AbortSignal) => Promise<boolean>, { stop, enough }: Halt): Promise<number> {
  let count = 0
  while (!stop.aborted && !enough() && (await once(stop))) count++
  return count
}

/**
 * Starts running jobs, at most one per subject at a time in this process.
 * @param again called with a subject that may have more due work
 * @returns a function that stops the worker and resolves when running jobs have ended
 */
export function startWorker(
  { jobs, log }: Pick<Platform, 'jobs' | 'log'>,
  work: Pick<Work<never>, 'name' | 'lanes' | 'run'>,
  again: (subject: Subject) => void,
): Promise<() => Promise<void>> {
  const busy = new Map<string, { since: number; isRecheckNeeded: boolean }>()

  return jobs.work(QUEUES[work.name], work.lanes, async (subject, signal) => {
    const id = JSON.stringify(subject)
    const now = performance.now()
    const other = busy.get(id)
    if (other) {
      // The running job also does this job's work, unless it has already read the watermark: then the recheck does.
      other.isRecheckNeeded = true
      const seconds = Math.round((now - other.since) / 1000)
      if (now - other.since > LOST_MS) throw new JobFailed(`An earlier attempt has been running for ${seconds} s.`)
      return
    }
    const mine = { since: now, isRecheckNeeded: false }
    busy.set(id, mine)
    try {
      const count = await work.run(subject, { stop: signal, enough: () => performance.now() > now + SHARE_MS })
      if (count > 0) log.info({ job: work.name, ...subject, count }, 'finished due work')
      if (count > 0 || mine.isRecheckNeeded) again(subject)
    } catch (err) {
      // askProvider has logged the provider's failure.
      if (!(err instanceof ProviderFailed) && !signal.aborted) log.warn({ err, job: work.name }, 'job failed')
      throw err
    } finally {
      busy.delete(id)
    }
  })
}
