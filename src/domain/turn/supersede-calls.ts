// The tool calls and results of a newer version: finds the calls that its results answer, and refuses a version that
// would change a call that an approval is about, or a denial, and one that would be regenerated while its calls wait.

import { Conflict, InvalidInput } from '../../errors.ts'
import type { Tx } from '../../store/db/db.ts'
import {
  readCallOfTurn,
  readCallWithSameId,
  readUnansweredCalls,
} from '../../store/sql/agent/approval/waiting-calls.ts'
import type { ToolResultRef } from '../../store/sql/turn/append-call.ts'
import { findCalls, type FoundCall } from '../../store/sql/turn/find-calls.ts'
import { callStands, callWaits } from './append/append-refusal.ts'
import { partsOf, type Content } from './content.ts'
import { resultProblem } from './append/tool-results.ts'

type Superseding = { actor: string; content: Pick<Content, 'calls' | 'results'> }
/** The version to supersede, in its conversation. */
type Superseded = { conversationId: string; older: { id: string; text: string; parts: unknown } }

const resultsOf = ({ older }: Superseded) => partsOf(older).filter((part) => part.type === 'toolResult')

/**
 * Finds the calls that the results answer. A result without `callTurnId` answers the same call as the older version's
 * result with that callId and tool, and a result of the same call keeps its approval.
 * @throws InvalidInput @throws Conflict for a result of a call that waits for approval or was denied
 */
export async function findAnsweredCalls(
  tx: Tx,
  superseded: Superseded,
  { actor, content }: Superseding,
  windows: readonly number[],
): Promise<FoundCall[]> {
  if (content.results.length === 0) return []
  const kept = resultsOf(superseded)
  const keptTurnOf = ({ callId, name }: ToolResultRef) =>
    kept.find((part) => part.callId === callId && part.name === name)?.callTurnId
  const results = content.results.map((result) =>
    result.place === undefined ? { ...result, turnId: result.turnId ?? keptTurnOf(result) } : result,
  )
  const found = await findCalls(tx, superseded.conversationId, { actor, windows }, results)
  return found.map((call) => {
    if (call.outcome === 'waiting') throw callWaits(call.detail)
    if (call.outcome !== 'found') throw InvalidInput.at('turn.parts', resultProblem(call.outcome, call.detail))
    const same = kept.find((part) => part.callId === call.callId && part.callPosition === call.callPosition)
    return { ...call, approvalId: call.approvalId ?? same?.approvalId ?? null }
  })
}

/**
 * Rejects a version of a turn whose call waits or was decided about, of a turn with a denial, and with a call that has
 * the id of a waiting call of the author.
 * @throws Conflict
 */
export async function requireUndecided(tx: Tx, superseded: Superseded, { actor, content }: Superseding): Promise<void> {
  const { conversationId, older } = superseded
  const approvalIds = resultsOf(superseded).flatMap(({ approvalId }) => approvalId ?? [])
  const call = await readCallOfTurn(tx, older.id, approvalIds)
  if (call) throw callStands(call)
  if (content.calls.length === 0) return
  const waiting = await readCallWithSameId(tx, conversationId, actor, content.calls)
  if (waiting) throw callWaits(waiting)
}

/**
 * Rejects an open version of a turn whose calls wait for results: these would answer calls that the version may not make.
 * @throws Conflict
 */
export async function requireAnsweredCalls(
  tx: Tx,
  { conversationId, older }: { conversationId: string; older: { id: string; position: number } },
): Promise<void> {
  const calls = await readUnansweredCalls(tx, conversationId, older)
  if (calls.length === 0) return
  throw new Conflict(
    `Turn ${older.id} waits for results of the calls ${calls.join(', ')}. Append them, or cancel the run that made them.`,
  )
}
