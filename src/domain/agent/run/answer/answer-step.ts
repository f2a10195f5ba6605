// Determines the server's next step for a wake-up (a turn that the server's agent must answer) from the run of the last
// attempt. Pure.

import type { RunState, WakeUpDrop } from '../../../../store/generated/enums.ts'
import type { RunErrorCode } from './failure.ts'

/** Maximum number of runs for one wake-up. */
export const MAX_ANSWER_RUNS = 8

/** Codes of failures that another run would repeat. */
const FINAL: ReadonlySet<string> = new Set<RunErrorCode>([
  'AGENT_LEFT',
  'BUDGET_TOO_SMALL',
  'EXPIRED',
  'REPLY_TOO_LONG',
  'TOO_MANY_ROUNDS',
])

/** `start`: run the agent. `wait`: the run has not ended. `end`: the agent has answered. `drop`: stop the attempts. */
export type AnswerStep = { do: 'start' } | { do: 'wait' } | { do: 'end' } | { do: 'drop'; reason: WakeUpDrop }

/** Returns the next step. `run` is the run of the last attempt; null if no attempt was made, or it started no run. */
export function answerStep(
  attempts: number,
  run: { state: RunState; errorCode: string | null } | null,
  maxAttempts = MAX_ANSWER_RUNS,
): AnswerStep {
  switch (run?.state) {
    case 'RUNNING':
    case 'WAITING_FOR_TOOLS':
    case 'WAITING_FOR_APPROVAL':
      return { do: 'wait' }
    case 'COMPLETED':
      return { do: 'end' }
    case 'CANCELLED':
      return { do: 'drop', reason: 'RUN_CANCELLED' }
    case 'FAILED':
      if (FINAL.has(run.errorCode ?? '')) return { do: 'drop', reason: 'AGENT_FAILED' }
  }
  return attempts >= maxAttempts ? { do: 'drop', reason: 'AGENT_FAILED' } : { do: 'start' }
}
