// The state machine of an approval. Pure; the transactions that change an approval apply it under the conversation's
// lock. A call that was approved with edited arguments is APPROVED, too; `editedArguments` contains them.

import { isDeepStrictEqual } from 'node:util'
import type { ApprovalState } from '../../../../store/generated/enums.ts'

/** A decision about a tool call. `arguments` replace those of the call; null keeps them. */
export type Decision = { by: string; approve: boolean; arguments: unknown; reason: string | null }

/** The fields of an approval that determine its transitions. */
export type Decided = {
  state: ApprovalState
  expiresAt: Date
  decidedBy: string | null
  editedArguments: unknown
  reason: string | null
}

export type ApprovalEvent =
  | { type: 'decide'; decision: Decision; now: Date }
  /** The time limit has passed. */
  | { type: 'expire'; now: Date }
  /** The run ended, or the call was erased. */
  | { type: 'cancel' }

/**
 * `repeated`: the event has happened before, so nothing changes. `refused`: the event is not possible, because a
 * different decision was made before (DECIDED), because the approval is EXPIRED or CANCELLED, or because its time limit
 * has not passed yet (PENDING).
 */
export type ApprovalStep =
  | { outcome: 'changed'; next: ApprovalState }
  | { outcome: 'repeated' }
  | { outcome: 'refused'; because: 'DECIDED' | 'EXPIRED' | 'CANCELLED' | 'PENDING' }

const REPEATED = { outcome: 'repeated' } as const
const changed = (next: ApprovalState) => ({ outcome: 'changed', next }) as const
const refused = (because: 'DECIDED' | 'EXPIRED' | 'CANCELLED' | 'PENDING') => ({ outcome: 'refused', because }) as const

const stateOf = ({ approve }: Decision): ApprovalState => (approve ? 'APPROVED' : 'DENIED')

/** Whether the approval was decided by the same actor in the same way. */
const isRepeat = (approval: Decided, decision: Decision): boolean =>
  approval.state === stateOf(decision)
  && approval.decidedBy === decision.by
  && approval.reason === decision.reason
  && isDeepStrictEqual(approval.editedArguments, decision.arguments)

/** Returns the transition for an event. An approval that is past its time limit can only expire or be cancelled. */
export function stepApproval(approval: Decided, event: ApprovalEvent): ApprovalStep {
  const { state, expiresAt } = approval
  switch (event.type) {
    case 'decide':
      if (state === 'PENDING') return expiresAt > event.now ? changed(stateOf(event.decision)) : refused('EXPIRED')
      if (isRepeat(approval, event.decision)) return REPEATED
      return refused(state === 'APPROVED' || state === 'DENIED' ? 'DECIDED' : state)
    case 'expire':
      if (state === 'EXPIRED') return REPEATED
      if (state !== 'PENDING') return refused(state === 'CANCELLED' ? state : 'DECIDED')
      return expiresAt > event.now ? refused('PENDING') : changed('EXPIRED')
    case 'cancel':
      if (state === 'PENDING') return changed('CANCELLED')
      if (state === 'CANCELLED') return REPEATED
      return refused(state === 'EXPIRED' ? state : 'DECIDED')
  }
}
