// Compaction as background work: of rooms that are beyond their policy, or have THREAD_SUMMARY_EVERY_N turns that no
// summary covers. One job does both, so that the two never want the same turns.

import { readDue, readDueAmong } from '../../store/sql/summary/read-compaction.ts'
import type { Deps } from '../platform.ts'
import type { Work } from '../job/worker.ts'
import { compactDue } from '../summary/compact.ts'

/** Rooms that a process compacts at once. */
const LANES = 2

export const compaction = (deps: Deps): Work<string> => ({
  name: 'COMPACT',
  lanes: LANES,
  due: (after, limit) => readDue(deps.pool, after?.key ?? '', limit, deps.automatic.threadSummaryEvery),
  dueAmong: (rooms) => readDueAmong(deps.pool, rooms, deps.automatic.threadSummaryEvery),
  run: ({ key: room }, halt) => compactDue(deps, room, halt),
})
