// The state machine of a run, and the duration of the lease that the process which executes it holds. Pure; change.ts
// changes the state under the row's lock.

import type { RunState } from '../../../store/generated/enums.ts'
import type { Platform } from '../../kernel/platform.ts'

export type RunEvent =
  /** The agent has answered. */
  | 'complete'
  /** The run waits for results of tool calls that the caller must append. */
  | 'await-tools'
  /** The run waits for decisions about tool calls. */
  | 'await-approval'
  /** All results are appended, or all decisions made. */
  | 'continue'
  | 'fail'
  | 'cancel'

/** `repeated`: the event has happened before, so nothing changes. `refused`: the event is not possible in the state. */
export type RunStep = { outcome: 'changed'; next: RunState } | { outcome: 'repeated' } | { outcome: 'refused' }

const TRANSITIONS: Record<RunState, Partial<Record<RunEvent, RunState>>> = {
  RUNNING: {
    complete: 'COMPLETED',
    'await-tools': 'WAITING_FOR_TOOLS',
    'await-approval': 'WAITING_FOR_APPROVAL',
    fail: 'FAILED',
    cancel: 'CANCELLED',
  },
  WAITING_FOR_TOOLS: { continue: 'RUNNING', fail: 'FAILED', cancel: 'CANCELLED' },
  WAITING_FOR_APPROVAL: { continue: 'RUNNING', fail: 'FAILED', cancel: 'CANCELLED' },
  COMPLETED: {},
  FAILED: {},
  CANCELLED: {},
}

/** Whether no event changes the state any more. */
export const isEnded = (state: RunState): boolean => Object.keys(TRANSITIONS[state]).length === 0

/** Returns the transition for an event of a run in that state. Only a second `cancel` has the outcome `repeated`. */
export function step(state: RunState, event: RunEvent): RunStep {
  const next = TRANSITIONS[state][event]
  if (next !== undefined) return { outcome: 'changed', next }
  return { outcome: state === 'CANCELLED' && event === 'cancel' ? 'repeated' : 'refused' }
}

/** Maximum duration of the lease, s. It is renewed after each third of its duration. */
const MAX_SECONDS = 8

/**
 * Duration of the lease of a run, of its open turn and of its claim, s: at most that of other streaming turns. After it,
 * other processes notice that the process that executes the run has died. Short, because viewers see an answer that no
 * longer grows until then.
 */
export const runLeaseSeconds = ({ streamLeaseMs }: Pick<Platform, 'streamLeaseMs'>): number =>
  Math.min(MAX_SECONDS, streamLeaseMs / 1000)
