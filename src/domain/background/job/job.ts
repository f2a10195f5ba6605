// Reads a tenant's background jobs for the API: their state, times and last failure.

import { readQueueSizes, type QueueSize } from '../../../store/sql/background/read-queue-sizes.ts'
import { readJobs, type JobPosition, type JobRow, type JobState } from '../../../store/sql/background/read-jobs.ts'
import { partsOfKey } from '../../../store/sql/agent/wake-up/due-wake-ups.ts'
import type { Platform } from '../../kernel/platform.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { kindOf } from '../../kernel/id.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import { paging, slice, type Page, type Paging } from '../../kernel/page.ts'
import type { Viewer } from '../../kernel/view.ts'
import { QUEUES, type JobName } from './worker.ts'

export type { JobState } from '../../../store/sql/background/read-jobs.ts'

/**
 * A job for a conversation, a user or an agent of a conversation. `conversationId` is null for a job for a user;
 * `userId` is null for all other jobs. Both are null for a job for facts about neither.
 */
export type Job = Omit<JobRow, 'name' | 'key'> & { name: JobName; conversationId: string | null; userId: string | null }

/** The kinds of jobs, by queue name. */
const NAMES = new Map(Object.entries(QUEUES).map(([name, queue]) => [queue, name as JobName]))

/**
 * The subject of each kind of job. The key of a job is the id of its subject. `facts` stands for the facts about a user,
 * about no user in a conversation, or, with an empty key, about neither. AGENT_QUEUE describes keys of agents.
 */
const SUBJECTS: Record<JobName, 'conversation' | 'user' | 'facts' | 'agent'> = {
  COMPACT: 'conversation',
  WRITE_TITLE: 'conversation',
  EXTRACT_FACTS: 'conversation',
  REFRESH_PROFILE: 'user',
  RECONCILE_FACTS: 'facts',
  RUN_AGENT: 'agent',
  CONTINUE_RUNS: 'conversation',
}

const CURSOR = cursorFormat<JobPosition>(
  ({ rank, order, id }) => `job:${rank}:${order}:${id}`,
  /^job:([01]):(-?\d{1,16}):([\da-f-]{36})$/,
  (rank, order, id) => ({ rank: Number(rank), order: Number(order), id }),
)

/** Returns an opaque cursor for a job's position in the list. It changes when the job finishes. */
export const jobCursor = (job: Job): string => CURSOR.encode(job)

function toJob({ name: queue, key, ...row }: JobRow): Job {
  const name = NAMES.get(queue)!
  const kind = SUBJECTS[name]
  if (kind === 'agent') return { ...row, name, conversationId: partsOfKey(key).conversationId, userId: null }
  const isOfConversation = kind === 'conversation' || (kind === 'facts' && kindOf(key) === 'conversation')
  if (isOfConversation) return { ...row, name, conversationId: key, userId: null }
  return { ...row, name, conversationId: null, userId: key === '' ? null : key }
}

/**
 * Returns the number of unfinished jobs of all tenants and the age of the oldest, for each kind and state with jobs.
 */
export async function queueSizes({ db }: Pick<Platform, 'db'>): Promise<QueueSize[]> {
  const sizes = await readQueueSizes(db, [...NAMES.keys()])
  return sizes.map((size) => ({ ...size, name: NAMES.get(size.name)! }))
}

/** `state` limits the page to jobs in this state; null means any state. */
export type JobsArgs = Paging & { state?: JobState | null }

/**
 * Returns a page of the tenant's jobs that the viewer sees: unfinished jobs, oldest first, then the jobs that ended in
 * the last hour, newest first. The viewer sees jobs for conversations that it sees, and for itself.
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

/** Returns the job; null if it does not exist or the viewer does not see it. `id` must be a UUID. */
export async function getJob({ db }: Pick<Platform, 'db'>, viewer: Viewer, id: string): Promise<Job | null> {
  authorize(viewer, 'getJob')
  const one = { state: null, id, after: null, before: null, limit: 1, backwards: false }
  const [row] = await readJobs(db, viewer, [...NAMES.keys()], one)
  return row ? toJob(row) : null
}
