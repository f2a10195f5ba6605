// A run that this process executes, with the state that its rounds share, and the agent as a viewer.

import type { RunRow } from '../../../../store/sql/agent/run/run-columns.ts'
import type { Viewer } from '../../../kernel/view.ts'
import type { RunOptions } from '../options.ts'
import type { OfferedTool } from '../tools/tools.ts'
import type { HeldClaim } from './hold-claim.ts'

export type WaitingState = 'WAITING_FOR_TOOLS' | 'WAITING_FOR_APPROVAL'

/** A run that this process executes. */
export type HeldRun = {
  run: RunRow & { holder: string }
  options: RunOptions
  tools: readonly OfferedTool[]
  /** The waiting state from which the run was continued; null for a run that has just started. */
  from: WaitingState | null
  /** Token of the agent's claim on the turn that the run answers; null for none. */
  claimToken: string | null
  /** Claims that this execution of the run has made, to be released at its end. */
  claims: HeldClaim[]
  /** Number of turns that the run has taken up since it began (steering.ts). */
  taken: number
}

/** Returns the agent of the run as the viewer that writes its replies. */
export const agentOf = ({ tenant, actor }: Pick<RunRow, 'tenant' | 'actor'>): Viewer => ({ tenant, actor })
