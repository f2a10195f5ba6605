// Reads a tenant's background jobs for the API: their state, times and last failure.

import { readQueueSizes, type QueueSize } from '../../store/sql/job/read-queue-sizes.ts'
import { readJobs, type JobPosition, type JobRow, type JobState } from '../../store/sql/job/read-jobs.ts'
import { partsOfKey } from '../../store/sql/wake-up/due-wake-ups.ts'
import type { Platform } from '../platform.ts'
import { authorize } from '../authorize.ts'
import { cursorFormat } from '../cursor.ts'
import { paging, slice, type Page, type Paging } from '../page.ts'
import type { Viewer } from '../view.ts'
import { QUEUES, type JobName } from './worker.ts'

export type { JobState } from '../../store/sql/job/read-jobs.ts'

/** A job for one conversation, one user or an agent of a conversation; the id of another subject is null. */
export type Job = Omit<JobRow, 'name' | 'key'> & { name: JobName; conversationId: string | null; userId: string | null }

const NAMES = new Map(Object.entries(QUEUES).map(([name, queue]) => [queue, name as JobName]))

/** The kind of object whose id is the key of a job. The key of an agent begins with the id of its conversation. */
const SUBJECTS: Record<JobName, 'conversation' | 'user' | 'agent'> = {
  COMPACT: 'conversation',
  WRITE_TITLE: 'conversation',
  EXTRACT_FACTS: 'conversation',
  REFRESH_PROFILE: 'user',
  RECONCILE_FACTS: 'user',
  RUN_AGENT: 'agent',
  CONTINUE_RUNS: 'conversation',
}

const CURSOR = cursorFormat<JobPosition>(
  ({ rank, order, id }) => `job:${rank}:${order}:${id}`,
  /^job:([01]):(-?\d{1,16}):([\da-f-]{36})$/,
  (rank, order, id) => ({ rank: Number(rank), order: Number(order), id }),
)

/** Returns the cursor of a job. It changes when the job finishes. */
export const jobCursor = (job: Job): string => CURSOR.encode(job)

function toJob({ name: queue, key, ...row }: JobRow): Job {
  const name = NAMES.get(queue)!
  const subject = SUBJECTS[name]
  const conversationId = subject === 'user' ? null : subject === 'agent' ? partsOfKey(key).conversationId : key
  return { ...row, name, conversationId, userId: subject === 'user' ? key : null }
}

/**
 * Returns the number and age of the unfinished jobs of all tenants, for each kind and state with jobs.
 */
export async function queueSizes({ db }: Pick<Platform, 'db'>): Promise<QueueSize[]> {
  const sizes = await readQueueSizes(db, [...NAMES.keys()])
  return sizes.map((size) => ({ ...size, name: NAMES.get(size.name)! }))
}

/** A null `state` selects all jobs. */
export type JobsArgs = Paging & { state?: JobState | null }

/**
 * Returns a page of the tenant's jobs that the viewer sees: unfinished jobs, oldest first, then the jobs that ended in
 * the last hour, newest first. The viewer sees jobs for visible conversations, for the viewer, and for other users who
 * are or were in a visible conversation.
 * @throws InvalidInput
 */
export async function getJobs(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  { state, ...args }: JobsArgs,
): Promise<Page<Job>> {
  authorize(viewer, 'getJobs')
  const page = paging(args, limits.pageSize)
  const rows = await readJobs(db, viewer, [...NAMES.keys()], {
    state: state ?? null,
    id: null,
    after: page.after === null ? null : CURSOR.decode(page.after, 'after'),
    before: page.before === null ? null : CURSOR.decode(page.before, 'before'),
    limit: page.size + 1,
    backwards: page.backwards,
  })
  return slice(rows.map(toJob), page)
}

/** Returns the job; null if it does not exist, or the viewer does not see it. `id` is a UUID. */
export async function getJob({ db }: Pick<Platform, 'db'>, viewer: Viewer, id: string): Promise<Job | null> {
  authorize(viewer, 'getJob')
  const one = { state: null, id, after: null, before: null, limit: 1, backwards: false }
  const [row] = await readJobs(db, viewer, [...NAMES.keys()], one)
  return row ? toJob(row) : null
}
