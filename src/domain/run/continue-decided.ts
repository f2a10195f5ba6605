// Continues the runs of a conversation that waited for approval, once all their tool calls are decided. Run by
// background work, so a decision is followed also after a restart, and in another process than the one that took it.

import { readDecidedRuns } from '../../store/sql/run/read-decided-runs.ts'
import { Conflict, NotFound } from '../../errors.ts'
import type { RunDeps } from './deps.ts'
import { continueRun } from './start.ts'

/**
 * Starts to execute the runs in this process, and returns their number. Skips a run that another process continues, and
 * one whose agent is running in the conversation: the end of that run makes it due again.
 * @throws LimitReached if the process executes MAX_ACTIVE_RUNS runs
 */
export async function continueDecidedRuns(deps: RunDeps, tenant: string, conversationId: string): Promise<number> {
  let count = 0
  for (const id of await readDecidedRuns(deps.db, tenant, conversationId)) {
    try {
      await continueRun(deps, { tenant, conversationId, id }, 'WAITING_FOR_APPROVAL')
      count += 1
    } catch (error) {
      if (!(error instanceof Conflict) && !(error instanceof NotFound)) throw error
    }
  }
  return count
}
