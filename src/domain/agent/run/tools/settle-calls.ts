// Determines how each tool call of a reply gets its result: the server executes it, a client executes it, or a decision
// replaces its execution by an error. Pure.

import type { ProviderToolCall } from '../../../../providers/ports/provider-adapter.ts'
import type { ApprovalState } from '../../../../store/generated/enums.ts'
import type { CallToApprove } from '../approval/request-approvals.ts'
import type { OfferedTool, Tool } from './tools.ts'

/**
 * The decision about a call. `editedArguments` is null if the decision keeps the arguments of the call. `isChanged`:
 * whether the call of the run, or the call in the newest version of the turn, is not the one that was approved.
 */
export type CallDecision = { state: ApprovalState; editedArguments: unknown; reason: string | null; isChanged: boolean }

/**
 * SERVER: the server executes the call. `edited` are its arguments if a decision replaced them; otherwise null.
 * DECISION: the call is not executed, and gets this result. CALLER: a client executes the call and appends the result.
 */
export type SettledCall = { call: ProviderToolCall } & (
  | { by: 'SERVER'; execute: Tool['execute']; edited: unknown }
  | { by: 'DECISION'; result: { error: string; reason?: string } }
  | { by: 'CALLER' }
)

/** Returns the calls that need approval, in their order. While one of them waits, no call of the reply is executed. */
export function callsToApprove(calls: readonly ProviderToolCall[], tools: readonly OfferedTool[]): CallToApprove[] {
  return calls.flatMap(({ id, name }) => {
    const approval = tools.find((tool) => tool.name === name)?.approval
    return approval ? [{ callId: id, toolName: name, seconds: approval.seconds }] : []
  })
}

/** The error that the model gets as the result of a call that is not executed. */
const REFUSALS: Record<Exclude<ApprovalState, 'APPROVED'>, string> = {
  DENIED: 'The call was denied.',
  EXPIRED: 'Nobody approved the call in time.',
  CANCELLED: 'The approval of the call was cancelled.',
  PENDING: 'Nobody has approved the call.',
}

/** The error for an approved call whose content is not the approved one. */
const CHANGED = 'The call was not executed: its tool, id or arguments are not the approved ones.'

/** @param decisions by call id; a call without a decision is PENDING if its tool requires approval, else APPROVED */
export function settleCalls(
  calls: readonly ProviderToolCall[],
  tools: readonly OfferedTool[],
  decisions: ReadonlyMap<string, CallDecision>,
): SettledCall[] {
  return calls.map((call): SettledCall => {
    const tool = tools.find(({ name }) => name === call.name)
    const decision = decisions.get(call.id)
    const state = decision?.state ?? (tool?.approval ? 'PENDING' : 'APPROVED')
    if (state !== 'APPROVED') {
      const error = REFUSALS[state]
      return { call, by: 'DECISION', result: decision?.reason ? { error, reason: decision.reason } : { error } }
    }
    if (decision?.isChanged) return { call, by: 'DECISION', result: { error: CHANGED } }
    return tool?.execute
      ? { call, by: 'SERVER', execute: tool.execute, edited: decision?.editedArguments ?? null }
      : { call, by: 'CALLER' }
  })
}
