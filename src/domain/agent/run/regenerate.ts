// Runs that regenerate a reply: their input, and the reply that they supersede. The first reply of such a run is a newer
// version of the older one (domain/turn/open-version.ts); its context ends before that.

import { InvalidInput } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import { trusted } from '../../kernel/rights/authorize.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { LockedConversation } from '../../turn/append/lock-turn.ts'
import { requireReplaceable, type OpenedVersion } from '../../turn/open-version.ts'
import { getTurns, type Turn } from '../../turn/turn.ts'
import type { RunDeps } from './deps.ts'
import type { ParsedRunTurn } from './run-input.ts'

/** Checks that the input has none of the fields that `supersedes` excludes. @throws InvalidInput */
export function requireAlone({ supersedes, turns, replyTo, runId }: ParsedRunTurn): void {
  if (supersedes == null) return
  const given = { turns: turns?.length ? turns : null, replyTo, runId }
  const [other] = Object.entries(given).find(([, value]) => value != null) ?? []
  if (other) throw InvalidInput.at('supersedes', `cannot be given with ${other}`)
}

/**
 * Returns the reply that the input supersedes; null for none.
 * @throws InvalidInput if the viewer sees no such turn in the conversation, or it is no reply of the given actor
 */
export async function findSuperseded(
  deps: RunDeps,
  viewer: Viewer,
  { conversationId, supersedes, actor }: ParsedRunTurn,
): Promise<Turn | null> {
  if (supersedes == null) return null
  const turn = (await getTurns(deps, trusted(viewer), [supersedes])).get(supersedes)
  const refuse = (why: string) => InvalidInput.at('supersedes', `is ${supersedes}; ${why}`)
  if (turn?.conversationId !== conversationId) throw refuse(`${viewer.actor} sees no such turn in the conversation`)
  if (turn.role !== 'ASSISTANT') throw refuse(`its role is ${turn.role}, not ASSISTANT`)
  if (actor != null && turn.actor !== actor) throw refuse(`its author is ${turn.actor}, not ${actor}`)
  return turn
}

/** Returns the fields of a reply that a run writes. */
export const fieldsOfReply = (run: Pick<RunRow, 'id' | 'model' | 'provider'>, contextId: string | null) =>
  ({ role: 'ASSISTANT', model: run.model, adapter: run.provider, traceId: run.id, contextId }) as const

/** Returns the version of the reply to open. Its metadata was about the older text. */
export const versionOf = (
  run: Pick<RunRow, 'id' | 'model' | 'provider'>,
  supersedes: string,
  contextId: string | null,
): Pick<OpenedVersion, 'supersedes' | 'turn'> => ({
  supersedes,
  turn: { ...fieldsOfReply(run, contextId), metadata: null },
})

/**
 * Checks, before the run starts, that its first reply may supersede the turn. The transaction has locked the
 * conversation. @throws as openVersion
 */
export async function requireSupersedable(
  tx: Tx,
  locked: LockedConversation,
  run: Pick<RunRow, 'id' | 'model' | 'provider' | 'tenant' | 'actor'>,
  supersedes: string,
): Promise<void> {
  await requireReplaceable(tx, locked, { tenant: run.tenant, actor: run.actor }, versionOf(run, supersedes, null))
}
