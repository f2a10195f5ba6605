// Reads the newest reply of a run, its tool calls without a result, and the decisions about them. A result that was
// written before the decision about its call does not count.

import { readOpenCalls } from '../../../../store/sql/agent/run/provider-calls.ts'
import type { RunRow } from '../../../../store/sql/agent/run/run-columns.ts'
import type { ProviderToolCall } from '../../../../providers/ports/provider-adapter.ts'
import type { Platform } from '../../../kernel/platform.ts'
import { getTurns, type Turn } from '../../../turn/turn.ts'
import { callHash, callsIn, hashOfCall } from '../tools/call-hash.ts'
import { RunFailure } from '../answer/failure.ts'
import type { CallDecision } from '../tools/settle-calls.ts'

type DecidedReply = {
  turn: Turn
  /** The calls without a result, in their order. */
  calls: readonly ProviderToolCall[]
  /** The decisions by call id. Empty if no approval was requested. */
  decisions: ReadonlyMap<string, CallDecision>
}

/** Returns the newest version of the turn. */
async function newestVersion(deps: Platform, { tenant, actor }: Pick<RunRow, 'tenant' | 'actor'>, turn: Turn) {
  if (turn.supersededBy === null) return turn
  const { conversationId, position } = turn
  const where = { conversationId, position, supersededBy: null }
  const newest = await deps.db.of(tenant).turn.findFirst({ where, select: { id: true } })
  return newest ? (await getTurns(deps, { tenant, actor }, [newest.id])).get(newest.id) : undefined
}

/**
 * Returns the newest reply of the run.
 * @throws RunFailure if the reply was erased, its content was removed, or it was not committed
 */
export async function readDecidedReply(
  deps: Platform,
  run: Pick<RunRow, 'tenant' | 'actor' | 'turnId'>,
): Promise<DecidedReply> {
  const { tenant, actor, turnId } = run
  const turn = turnId === null ? undefined : (await getTurns(deps, { tenant, actor }, [turnId])).get(turnId)
  if (turn?.status !== 'COMMITTED' || turn.removedAt !== null) {
    throw new RunFailure('INTERRUPTED', 'The turn with the tool calls was erased, or its content was removed.')
  }
  const open = new Set(await readOpenCalls(deps.pool, tenant, turn.id))
  const calls = callsIn(turn).filter(({ id }) => open.has(id))
  const rows = await deps.db.of(tenant).approval.findMany({ where: { turnId: turn.id } })
  const newest = rows.length > 0 ? await newestVersion(deps, run, turn) : turn
  const decisions = rows.map((row): [string, CallDecision] => {
    const executed = calls.find(({ id }) => id === row.callId)
    const hash = executed ? callHash(executed) : null
    const isChanged = hash !== hashOfCall(newest, row.callId) || (row.callHash !== null && hash !== row.callHash)
    return [row.callId, { ...row, isChanged }]
  })
  return { turn, calls, decisions: new Map(decisions) }
}
