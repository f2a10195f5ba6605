// Reads a tenant's background jobs for the API: their state, times and last failure.

import { readJobs, type JobRow, type JobState } from '../../store/sql/job/read-jobs.ts'
import type { Platform } from '../platform.ts'
import { paging } from '../page.ts'
import type { Viewer } from '../view.ts'
import { QUEUES, type JobName } from './worker.ts'

export type { JobState } from '../../store/sql/job/read-jobs.ts'

/** A job for one conversation or one user; the other id is null. */
export type Job = Omit<JobRow, 'name' | 'key'> & { name: JobName; conversationId: string | null; userId: string | null }

const NAMES = new Map(Object.entries(QUEUES).map(([name, queue]) => [queue, name as JobName]))
const ABOUT_CONVERSATIONS: ReadonlySet<JobName> = new Set(['COMPACT', 'EXTRACT_FACTS'])

type JobsArgs = { first?: number | null; state?: JobState | null }

/**
 * Returns the tenant's jobs: unfinished jobs, oldest first, then the jobs that ended in the last hour, newest first.
 * Excludes jobs for conversations that the viewer does not see. `first` limits their number (see page.ts); `state`
 * selects the jobs in one state, null selects all.
 * @throws InvalidInput
 */
export async function getJobs(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  { first, state }: JobsArgs,
): Promise<Job[]> {
  const { size } = paging({ first }, limits.pageSize)
  const rows = await readJobs(db, viewer, [...NAMES.keys()], state ?? null, size)
  return rows.map(({ name: queue, key, ...row }) => {
    const name = NAMES.get(queue)!
    const isAboutConversation = ABOUT_CONVERSATIONS.has(name)
    return { ...row, name, conversationId: isAboutConversation ? key : null, userId: isAboutConversation ? null : key }
  })
}
