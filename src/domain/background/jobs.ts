// The background jobs of a server: those that always run, and those that its settings enable. Jobs of other kinds are
// never queued. Each job stores its progress in the transaction that writes the result, so that concurrent calls never
// handle a turn or a fact twice. Users' turns are counted only if profiles are refreshed automatically. Starts all
// background work of a process, except embedding, which createDeps starts.

import { countUserTurns, readUncounted } from '../../store/sql/memory/profile/count-user-turns.ts'
import { readDueExtraction, readDueExtractionAmong } from '../../store/sql/memory/fact/read-due-extraction.ts'
import { readDueUsers, readDueUsersAmong } from '../../store/sql/memory/profile/read-due-users.ts'
import { readDueSubjects, readDueSubjectsAmong } from '../../store/sql/memory/fact/due-facts.ts'
import { readDueDecisions, readDueDecisionsAmong } from '../../store/sql/agent/run/read-decided-runs.ts'
import { readDue, readDueAmong } from '../../store/sql/memory/summary/read-compaction.ts'
import { readDueTitles, readDueTitlesAmong } from '../../store/sql/conversation/read-due-titles.ts'
import { partsOfKey, readDueAgents, readDueAgentsAmong } from '../../store/sql/agent/wake-up/due-wake-ups.ts'
import type { Subject } from '../../store/jobs/job-queue.ts'
import { extractNext } from '../memory/fact/extract/extract.ts'
import { reconcileNext } from '../memory/fact/reconcile/reconcile-due.ts'
import { startWork } from './job/find-work.ts'
import { repeat, type Work } from './job/worker.ts'
import { refreshProfileDue } from '../memory/profile/refresh.ts'
import { answerNext } from '../agent/run/answer/answer.ts'
import { continueDecidedRuns } from '../agent/run/approval/continue-decided.ts'
import { compactDue } from '../memory/summary/compact.ts'
import { writeTitleDue } from '../memory/summary/title.ts'
import type { BackgroundDeps } from './deps.ts'
import { startSweeping } from './sweep.ts'

/** A kind of work, and whether the server's settings enable it. */
type Job<Key> = Work<Key> & { isOn: boolean }

/** The work in conversations. Keys are conversation ids, except those of RUN_AGENT. */
const conversationJobs = (deps: BackgroundDeps): Job<string>[] => [
  {
    // Due at a trigger of the policy, or after THREAD_SUMMARY_EVERY_N turns without a summary. One job handles both
    // cases, so that no two jobs summarise the same turns.
    name: 'COMPACT',
    isOn: true,
    concurrency: 2,
    due: (after, limit) => readDue(deps.db, after?.key ?? '', limit, deps.automatic.threadSummaryEvery),
    dueAmong: (ids) => readDueAmong(deps.db, ids, deps.automatic.threadSummaryEvery),
    run: ({ tenant, key }, halt) => compactDue(deps, tenant, key, halt),
  },
  {
    // Due when all approvals for which a run waited have been decided. The job starts runs, and does not wait for them.
    name: 'CONTINUE_RUNS',
    isOn: true,
    concurrency: 2,
    due: (after, limit) => readDueDecisions(deps.db, after?.key ?? '', limit),
    dueAmong: (ids) => readDueDecisionsAmong(deps.db, ids),
    run: ({ tenant, key }) => continueDecidedRuns(deps, tenant, key),
  },
  {
    // Due without a title, and if the automatic title was made from turns that were edited later.
    name: 'WRITE_TITLE',
    isOn: deps.automatic.titles,
    concurrency: 2,
    due: (after, limit) => readDueTitles(deps.db, after?.key ?? '', limit),
    dueAmong: (ids) => readDueTitlesAmong(deps.db, ids),
    run: ({ key }, { stop }) => writeTitleDue(deps, key, stop),
  },
  {
    // One job per conversation and agent with due wake-ups. A wake-up is a request to an agent to answer one turn.
    name: 'RUN_AGENT',
    isOn: deps.providers.list().length > 0,
    concurrency: 8,
    due: (after, limit) => readDueAgents(deps.db, after?.key ?? '', limit),
    dueAmong: (ids) => readDueAgentsAmong(deps.db, ids),
    conversationOf: ({ key }) => partsOfKey(key).conversationId,
    run: ({ tenant, key }, halt) => repeat((stop) => answerNext(deps, { tenant, ...partsOfKey(key) }, stop), halt),
  },
  {
    name: 'EXTRACT_FACTS',
    isOn: deps.automatic.factExtractionEvery > 0,
    concurrency: 2,
    due: (after, limit) => readDueExtraction(deps.db, after?.key ?? '', limit, deps.automatic.factExtractionEvery),
    dueAmong: (ids) => readDueExtractionAmong(deps.db, ids, deps.automatic.factExtractionEvery),
    run: ({ tenant, key }, halt) =>
      repeat(
        (stop) => extractNext(deps, { tenant, conversationId: key }, deps.automatic.factExtractionEvery, stop),
        halt,
      ),
  },
]

/** The work about users. Keys are user ids; those of RECONCILE_FACTS also conversations with facts about no user. */
const userJobs = (deps: BackgroundDeps): Job<Subject>[] => [
  {
    name: 'RECONCILE_FACTS',
    isOn: true,
    concurrency: 2,
    due: (after, limit) => readDueSubjects(deps.db, after, limit),
    dueAmong: (subjects) => readDueSubjectsAmong(deps.db, subjects),
    run: (subject, halt) => repeat((stop) => reconcileNext(deps, subject, stop), halt),
  },
  {
    // Due after a number of turns by the user, and whenever facts about the user change.
    name: 'REFRESH_PROFILE',
    isOn: deps.automatic.userSummaryEvery > 0,
    concurrency: 2,
    due: (after, limit) => readDueUsers(deps.db, after, limit, deps.automatic.userSummaryEvery),
    dueAmong: (users) => readDueUsersAmong(deps.db, users, deps.automatic.userSummaryEvery),
    run: ({ tenant, key }, halt) =>
      repeat((stop) => refreshProfileDue(deps, { tenant, userId: key }, deps.automatic.userSummaryEvery, stop), halt),
  },
]

/**
 * Starts the background jobs. The returned function stops them and resolves when running jobs have ended.
 * @throws the job queue's error if a queue cannot be created
 * @internal
 */
export const startJobs = (deps: BackgroundDeps): Promise<() => Promise<void>> =>
  startWork(deps, {
    conversationWork: conversationJobs(deps).filter(({ isOn }) => isOn),
    userWork: userJobs(deps).filter(({ isOn }) => isOn),
    counter:
      deps.automatic.userSummaryEvery > 0
        ? {
            uncounted: (after, limit) => readUncounted(deps.db, after, limit),
            count: (batch) => countUserTurns(deps.db, batch),
          }
        : null,
  })

/**
 * Starts the tasks of sweep.ts and the jobs of jobs.ts. Any number of processes may run them: concurrent runs never
 * write a result twice.
 *
 * Returns before the jobs have started. If the job queue cannot be created, logs the error and runs only the tasks.
 * @returns a function that stops the work and resolves when running tasks and jobs have ended
 */
export function startBackground(deps: BackgroundDeps): () => Promise<void> {
  const stopSweeping = startSweeping(deps)
  const starting = startJobs(deps).catch((err: unknown) => {
    deps.log.error({ err }, 'could not create the job queue: no background jobs will run')
    return async () => {}
  })
  return async () => {
    const stopJobs = await starting
    await Promise.all([stopSweeping(), stopJobs()])
  }
}
