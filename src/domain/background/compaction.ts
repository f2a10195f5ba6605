// Compaction as background work: conversations that exceed their policy, or have THREAD_SUMMARY_EVERY_N turns without a
// summary. One job covers both triggers, so that they never compete for the same turns.

import { readDue, readDueAmong } from '../../store/sql/summary/read-compaction.ts'
import type { BackgroundDeps } from './deps.ts'
import type { Work } from '../job/worker.ts'
import { compactDue } from '../summary/compact.ts'

/** Number of conversations that a process compacts concurrently. */
const LANES = 2

export const compaction = (deps: BackgroundDeps): Work<string> => ({
  name: 'COMPACT',
  lanes: LANES,
  due: (after, limit) => readDue(deps.db, after?.key ?? '', limit, deps.automatic.threadSummaryEvery),
  dueAmong: (conversationIds) => readDueAmong(deps.db, conversationIds, deps.automatic.threadSummaryEvery),
  run: ({ key: conversationId }, halt) => compactDue(deps, conversationId, halt),
})
