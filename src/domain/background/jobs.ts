// Selects the kinds of background jobs of a server: those that always run, and those that its settings enable. Jobs of
// other kinds are never queued. Users' turns are counted only if profiles are refreshed automatically.

import { countUserTurns, readUncounted } from '../../store/sql/background/count-user-turns.ts'
import { readDueExtraction, readDueExtractionAmong } from '../../store/sql/background/read-due-extraction.ts'
import { readDueUsers, readDueUsersAmong } from '../../store/sql/background/read-due-users.ts'
import { readDueSubjects, readDueSubjectsAmong } from '../../store/sql/fact/due-facts.ts'
import type { Subject } from '../../store/job-queue.ts'
import { agents } from './agents.ts'
import type { BackgroundDeps } from './deps.ts'
import { compaction } from './compaction.ts'
import { decisions } from './decisions.ts'
import { startWork, type WorkKinds } from '../job/find-work.ts'
import { titles } from './titles.ts'
import { DUE_WORK, type DueWork } from './due-work.ts'
import { repeat, type Work } from '../job/worker.ts'

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

function profileWork(deps: BackgroundDeps, every: number, refreshDue: DueWork['refreshProfileDue']): Work<Subject> {
  return {
    name: 'REFRESH_PROFILE',
    concurrency: CONCURRENCY,
    due: (after, limit) => readDueUsers(deps.db, after, limit, every),
    dueAmong: (users) => readDueUsersAmong(deps.db, users, every),
    run: ({ tenant, key }, halt) => repeat((stop) => refreshDue(deps, tenant, key, every, stop), halt),
  }
}

const reconciliation = (deps: BackgroundDeps, reconcileNext: DueWork['reconcileNext']): Work<Subject> => ({
  name: 'RECONCILE_FACTS',
  concurrency: CONCURRENCY,
  due: (after, limit) => readDueSubjects(deps.db, after, limit),
  dueAmong: (subjects) => readDueSubjectsAmong(deps.db, subjects),
  run: (subject, halt) => repeat((stop) => reconcileNext(deps, subject, stop), halt),
})

/**
 * Returns the kinds of work that always run or that the server's settings enable, and the functions that count users'
 * turns. Without a chat provider, the server runs no agents.
 */
function workKindsOf(deps: BackgroundDeps, dueWork: DueWork): WorkKinds {
  const { automatic, db } = deps
  const { extractNext, refreshProfileDue, reconcileNext } = dueWork
  const conversationWork = [compaction(deps), decisions(deps)]
  if (automatic.titles) conversationWork.push(titles(deps))
  if (deps.providers.list().length > 0) conversationWork.push(agents(deps))
  const userWork = [reconciliation(deps, reconcileNext)]
  if (automatic.factExtractionEvery > 0) {
    conversationWork.push(extractionWork(deps, automatic.factExtractionEvery, extractNext))
  }
  if (automatic.userSummaryEvery > 0) userWork.push(profileWork(deps, automatic.userSummaryEvery, refreshProfileDue))
  const counter = {
    uncounted: (after: string, limit: number) => readUncounted(db, after, limit),
    count: (batch: readonly string[]) => countUserTurns(db, batch),
  }
  return { conversationWork, userWork, counter: automatic.userSummaryEvery > 0 ? counter : null }
}

/**
 * Starts the background jobs. The returned function stops them and resolves when running jobs have ended.
 * @throws the job queue's error if a queue cannot be created
 */
export const startJobs = (deps: BackgroundDeps, dueWork: DueWork = DUE_WORK): Promise<() => Promise<void>> =>
  startWork(deps, workKindsOf(deps, dueWork))
