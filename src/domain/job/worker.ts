// One kind of background work: what it is, and taking its jobs from the queue. A job says only whom it is about; what
// is to be done is read from counters and watermarks when it runs. So a job too many does no harm, and one that a crash
// took is found again.

import { ProviderFailed } from '../../errors.ts'
import { JobFailed, type Subject } from '../../store/job-queue.ts'
import type { Platform } from '../platform.ts'

/** What background work does. */
export type JobName = 'COMPACT' | 'EXTRACT_FACTS' | 'REFRESH_PROFILE' | 'RECONCILE_FACTS'

/** The queue of each. */
export const QUEUES: Readonly<Record<JobName, string>> = {
  COMPACT: 'compact',
  EXTRACT_FACTS: 'extract-facts',
  REFRESH_PROFILE: 'refresh-profile',
  RECONCILE_FACTS: 'reconcile-facts',
}

/** When work ends early. */
export type Halt = {
  /** Ends it at once, with the call to a model that is under way. */
  stop: AbortSignal
  /** Whether to end before the next step. */
  enough: () => boolean
}

/** A kind of work, about conversations (`Key`: their ids) or about users. */
export type Work<Key> = {
  name: JobName
  /** Jobs of this kind that a process does at once. */
  lanes: number
  /** Whatever is due, in order, after that one: at most `limit`. */
  due(after: Subject | null, limit: number): Promise<Subject[]>
  /** What is due among those. */
  dueAmong(keys: readonly Key[]): Promise<Subject[]>
  /** Does what is due there, step by step; how many steps. Should it run twice at once, it is done once. */
  run(subject: Subject, halt: Halt): Promise<number>
}

/** After so long a job makes way for others and queues up again. */
const SHARE_MS = 60_000
/** The queue has taken a job that runs for so long for lost. */
const LOST_MS = 300_000

/** Does it again and again, until it says that there is nothing left, or is to halt; how often it did something. */
export async function repeat(once: (stop: AbortSignal) => Promise<boolean>, { stop, enough }: Halt): Promise<number> {
  let count = 0
  while (!stop.aborted && !enough() && (await once(stop))) count++
  return count
}

/**
 * Takes jobs from now on; what is about one subject not twice at once in this process.
 * @param again told of a subject about which there may be more to do
 * @returns what stops it, once what runs has ended
 */
export function startWorker(
  { jobs, log }: Pick<Platform, 'jobs' | 'log'>,
  work: Pick<Work<never>, 'name' | 'lanes' | 'run'>,
  again: (subject: Subject) => void,
): Promise<() => Promise<void>> {
  const busy = new Map<string, { since: number; isAskedAgain: boolean }>()

  return jobs.work(QUEUES[work.name], work.lanes, async (subject, signal) => {
    const id = JSON.stringify(subject)
    const now = performance.now()
    const other = busy.get(id)
    if (other) {
      // What it would do, the one that runs will do, unless that has looked already.
      other.isAskedAgain = true
      const seconds = Math.round((now - other.since) / 1000)
      if (now - other.since > LOST_MS) throw new JobFailed(`An earlier try has been running for ${seconds} s.`)
      return
    }
    const mine = { since: now, isAskedAgain: false }
    busy.set(id, mine)
    try {
      const count = await work.run(subject, { stop: signal, enough: () => performance.now() > now + SHARE_MS })
      if (count > 0) log.info({ job: work.name, ...subject, count }, 'did what was due')
      if (count > 0 || mine.isAskedAgain) again(subject)
    } catch (err) {
      // What a provider does wrong is in the log already.
      if (!(err instanceof ProviderFailed) && !signal.aborted) log.warn({ err, job: work.name }, 'a job failed')
      throw err
    } finally {
      busy.delete(id)
    }
  })
}
