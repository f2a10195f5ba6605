// Defines the background work that compacts conversations. Compaction is due when a conversation reaches a trigger of
// its policy, or has as many unsummarised turns as the setting THREAD_SUMMARY_EVERY_N. One job handles both cases, so
// that no two jobs summarise the same turns.

import { readDue, readDueAmong } from '../../store/sql/summary/read-compaction.ts'
import type { BackgroundDeps } from './deps.ts'
import type { Work } from '../job/worker.ts'
import { compactDue } from '../summary/compact.ts'

/** Maximum number of conversations that one process compacts concurrently. */
const CONCURRENCY = 2

export const compaction = (deps: BackgroundDeps): Work<string> => ({
  name: 'COMPACT',
  concurrency: CONCURRENCY,
  due: (after, limit) => readDue(deps.db, after?.key ?? '', limit, deps.automatic.threadSummaryEvery),
  dueAmong: (conversationIds) => readDueAmong(deps.db, conversationIds, deps.automatic.threadSummaryEvery),
  run: ({ tenant, key: conversationId }, halt) => compactDue(deps, tenant, conversationId, halt),
})
