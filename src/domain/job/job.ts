// Background work as people see it: what waits, runs and ran for a tenant, since when, and why it failed.

import { readJobs, type JobRow, type JobState } from '../../store/sql/job/read-jobs.ts'
import type { Platform } from '../platform.ts'
import { paging } from '../page.ts'
import type { Viewer } from '../view.ts'
import { QUEUES, type JobName } from './worker.ts'

export type { JobState } from '../../store/sql/job/read-jobs.ts'

/** One job. It is about a conversation or about a user. */
export type Job = Omit<JobRow, 'name' | 'key'> & { name: JobName; conversationId: string | null; userId: string | null }

const NAMES = new Map(Object.entries(QUEUES).map(([name, queue]) => [queue, name as JobName]))
const ABOUT_CONVERSATIONS: ReadonlySet<JobName> = new Set(['COMPACT', 'EXTRACT_FACTS'])

type JobsArgs = { first?: number | null; state?: JobState | null }

/**
 * The jobs of the viewer's tenant, whoever caused them: unfinished ones first, the oldest of them first; then those
 * that ended in the last hour, newest first.
 * @throws InvalidInput
 */
export async function getJobs(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  { first, state }: JobsArgs,
): Promise<Job[]> {
  const { size } = paging({ first }, limits.pageSize)
  const rows = await readJobs(db, viewer.tenant, [...NAMES.keys()], state ?? null, size)
  return rows.map(({ name: queue, key, ...row }) => {
    const name = NAMES.get(queue)!
    const isAboutConversation = ABOUT_CONVERSATIONS.has(name)
    return { ...row, name, conversationId: isAboutConversation ? key : null, userId: isAboutConversation ? null : key }
  })
}
