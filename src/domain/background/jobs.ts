// Selects the kinds of background jobs of a server: those that always run, and those that its settings enable. Jobs of
// other kinds are never queued. Users' turns are counted only if an enabled kind needs the count.

import { countUserTurns, readExtractingAmong, readUncounted } from '../../store/sql/background/count-user-turns.ts'
import { readDueExtraction, readDueExtractionAmong } from '../../store/sql/background/read-due-extraction.ts'
import { readDueUsers, readDueUsersAmong, type UserMark } from '../../store/sql/background/read-due-users.ts'
import type { Subject } from '../../store/job-queue.ts'
import { agents } from './agents.ts'
import type { BackgroundDeps } from './deps.ts'
import { compaction } from './compaction.ts'
import { decisions } from './decisions.ts'
import { countsTurnsOf, reconcilesEvery } from '../automatic-thresholds.ts'
import { startWork, type WorkKinds } from '../job/find-work.ts'
import { titles } from './titles.ts'
import { DUE_WORK, type DueWork } from './due-work.ts'
import { repeat, type JobName, type Work } from '../job/worker.ts'

/** Maximum number of jobs of each kind in this file that one process runs concurrently. */
const CONCURRENCY = 2

function extractionWork(deps: BackgroundDeps, every: number, extractNext: DueWork['extractNext']): Work<string> {
  return {
    name: 'EXTRACT_FACTS',
    concurrency: CONCURRENCY,
    due: (after, limit) => readDueExtraction(deps.db, after?.key ?? '', limit, every),
    dueAmong: (conversationIds) => readDueExtractionAmong(deps.db, conversationIds, every),
    run: ({ tenant, key }, halt) => repeat((stop) => extractNext(deps, tenant, key, every, stop), halt),
  }
}

function perUserWork(
  deps: BackgroundDeps,
  name: JobName,
  mark: UserMark,
  every: number,
  call: DueWork['refreshProfileDue'],
): Work<Subject> {
  return {
    name,
    concurrency: CONCURRENCY,
    due: (after, limit) => readDueUsers(deps.db, mark, after, limit, every),
    dueAmong: (users) => readDueUsersAmong(deps.db, mark, users, every),
    run: ({ tenant, key }, halt) => repeat((stop) => call(deps, tenant, key, every, stop), halt),
  }
}

/**
 * Returns the kinds of work that always run or that the server's settings enable, and the functions that count users'
 * turns. Without a chat provider, the server runs no agents.
 */
function workKindsOf(deps: BackgroundDeps, dueWork: DueWork): WorkKinds {
  const { automatic, db } = deps
  const { extractNext, refreshProfileDue, reconcileDue } = dueWork
  const conversationWork = [compaction(deps), decisions(deps)]
  if (automatic.titles) conversationWork.push(titles(deps))
  if (deps.providers.list().length > 0) conversationWork.push(agents(deps))
  const userWork: Work<Subject>[] = []
  if (automatic.factExtractionEvery > 0) {
    conversationWork.push(extractionWork(deps, automatic.factExtractionEvery, extractNext))
  }
  if (automatic.userSummaryEvery > 0) {
    userWork.push(perUserWork(deps, 'REFRESH_PROFILE', 'profiled_turns', automatic.userSummaryEvery, refreshProfileDue))
  }
  if (reconcilesEvery(automatic) > 0) {
    userWork.push(perUserWork(deps, 'RECONCILE_FACTS', 'reconciled_turns', reconcilesEvery(automatic), reconcileDue))
  }
  const counted = countsTurnsOf(automatic)
  const onlyExtracting = counted === 'EXTRACTING'
  const counter = {
    uncounted: (after: string, limit: number) => readUncounted(db, after, limit, onlyExtracting),
    count: async (batch: readonly string[]) =>
      countUserTurns(db, onlyExtracting ? await readExtractingAmong(db, batch) : batch),
  }
  return { conversationWork, userWork, counter: counted === 'NONE' ? null : counter }
}

/**
 * Starts the background jobs. The returned function stops them and resolves when running jobs have ended.
 * @throws the job queue's error if a queue cannot be created
 */
export const startJobs = (deps: BackgroundDeps, dueWork: DueWork = DUE_WORK): Promise<() => Promise<void>> =>
  startWork(deps, workKindsOf(deps, dueWork))
