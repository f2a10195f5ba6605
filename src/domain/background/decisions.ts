// Defines the background work that continues runs after all approvals that they waited for have been decided.

import { readDueDecisions, readDueDecisionsAmong } from '../../store/sql/run/read-decided-runs.ts'
import type { Work } from '../job/worker.ts'
import { continueDecidedRuns } from '../run/continue-decided.ts'
import type { BackgroundDeps } from './deps.ts'

/** Maximum number of jobs that one process runs concurrently. A job only starts runs and does not wait for them. */
const CONCURRENCY = 2

export const decisions = (deps: BackgroundDeps): Work<string> => ({
  name: 'CONTINUE_RUNS',
  concurrency: CONCURRENCY,
  due: (after, limit) => readDueDecisions(deps.db, after?.key ?? '', limit),
  dueAmong: (conversationIds) => readDueDecisionsAmong(deps.db, conversationIds),
  run: ({ tenant, key: conversationId }) => continueDecidedRuns(deps, tenant, conversationId),
})
