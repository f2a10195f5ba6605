// Reads the newest reply of a run, its tool calls without a result, and the decisions about them.

import { readOpenCalls } from '../../store/sql/run/provider-calls.ts'
import type { RunRow } from '../../store/sql/run/run-columns.ts'
import type { ProviderToolCall } from '../../providers/ports/provider-adapter.ts'
import type { Platform } from '../platform.ts'
import { partsOf } from '../turn/content.ts'
import { getTurns, type Turn } from '../turn/turn.ts'
import { RunFailure } from './failure.ts'
import type { CallDecision } from './settle-calls.ts'

type DecidedReply = {
  turn: Turn
  /** The calls without a result, in their order. */
  calls: readonly ProviderToolCall[]
  /** The decisions by call id. Empty if no approval was requested. */
  decisions: ReadonlyMap<string, CallDecision>
}

/**
 * Returns the newest reply of the run.
 * @throws RunFailure if the reply was erased, its content was removed, or it was not committed
 */
export async function readDecidedReply(
  deps: Platform,
  { tenant, actor, turnId }: Pick<RunRow, 'tenant' | 'actor' | 'turnId'>,
): Promise<DecidedReply> {
  const turn = turnId === null ? undefined : (await getTurns(deps, { tenant, actor }, [turnId])).get(turnId)
  if (turn?.status !== 'COMMITTED' || turn.removedAt !== null) {
    throw new RunFailure('INTERRUPTED', 'The turn with the tool calls was erased, or its content was removed.')
  }
  const open = new Set(await readOpenCalls(deps.pool, tenant, turn.id))
  const calls = partsOf(turn).flatMap((part) =>
    part.type === 'toolCall' && open.has(part.callId)
      ? [{ id: part.callId, name: part.name, arguments: part.arguments }]
      : [],
  )
  const rows = await deps.db.of(tenant).approval.findMany({ where: { turnId: turn.id } })
  return { turn, calls, decisions: new Map(rows.map((row) => [row.callId, row])) }
}
