// Continues the runs of a conversation that waited for approval, after the last decision about their tool calls. A job
// calls it, so that a run continues even if the process that stored the decision has stopped.

import { readDecidedRuns } from '../../../../store/sql/agent/run/read-decided-runs.ts'
import { Conflict, NotFound } from '../../../../errors.ts'
import type { RunDeps } from '../deps.ts'
import { continueRun } from '../start.ts'

/**
 * Continues the runs in this process, and returns their number. Skips a run that another process continues. Skips a run
 * while its agent executes another run in the conversation; the end of that run makes the skipped one due again.
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
