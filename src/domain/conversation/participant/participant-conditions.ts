// Decides which conditions of rights.ts a change of participants meets. Pure.

import type { HistoryVisibility, ParticipantKind } from '../../../store/generated/enums.ts'
import { isSameJson } from '../../kernel/merge-patch.ts'
import { isForeignKind, isOtherKind } from '../../kernel/rights/principal.ts'
import type { Condition } from '../../kernel/rights/rights.ts'
import type { Viewer } from '../../kernel/view.ts'

/** The stored fields of a participant that the conditions depend on. */
type StoredParticipant = {
  leftAt: Date | null
  removed: boolean
  historyVisibility: HistoryVisibility
  administrator: boolean
  agent: unknown
}

/** The given fields of a participant that the conditions depend on. */
type GivenParticipant = {
  actor: string
  kind?: ParticipantKind | null
  historyVisibility?: HistoryVisibility | null
  administrator?: boolean | null
  agent?: unknown
}

/**
 * Returns the history visibility of an actor that joins: the given one, or ALL by default. If a viewer with a principal
 * adds itself again, the default is its stored history visibility.
 */
export const historyAfterJoining = (
  { actor, principal }: Viewer,
  given: GivenParticipant,
  existing: StoredParticipant | null,
): HistoryVisibility =>
  given.historyVisibility ?? (principal && given.actor === actor ? existing?.historyVisibility : null) ?? 'ALL'

/** Returns the conditions of addParticipant, which keeps the kind and the history of a present participant. */
export function conditionsOfAdding(
  viewer: Viewer,
  given: GivenParticipant,
  existing: StoredParticipant | null,
): Condition[] {
  const conditions: Condition[] = []
  const isPresent = existing !== null && existing.leftAt === null
  if (given.administrator != null && given.administrator !== (isPresent && existing.administrator)) {
    conditions.push('administrator')
  }
  if (given.agent != null && !isSameJson(given.agent, existing?.agent ?? null)) conditions.push('agentSettings')
  if (!isPresent && isForeignKind(viewer.principal, given.actor, given.kind)) conditions.push('foreignKind')
  if (given.actor !== viewer.actor) return [...conditions, 'otherParticipant']
  if (isPresent) return conditions
  if (existing?.removed) conditions.push('afterRemoval')
  const history = historyAfterJoining(viewer, given, existing)
  if (existing?.historyVisibility === 'SINCE_JOINED' && history === 'ALL') conditions.push('history')
  if (isOtherKind(viewer.principal, given.actor, given.kind)) conditions.push('ownKind')
  return conditions
}

/** Returns the conditions of removeParticipant. `owner` is the owner of the conversation. */
export function conditionsOfRemoving(
  viewer: Viewer,
  actor: string,
  existing: StoredParticipant | null,
  owner: string,
): Condition[] {
  if (actor === viewer.actor) return []
  return existing?.administrator || actor === owner ? ['otherParticipant', 'administrator'] : ['otherParticipant']
}

/**
 * Returns the conditions of updateParticipant. A viewer needs no permit to change its own display name, metadata and
 * `respond`, to clear its agent settings, or to stop being an administrator.
 */
export function conditionsOfChanging(
  viewer: Viewer,
  { actor, historyVisibility, administrator, agent }: GivenParticipant,
  existing: StoredParticipant | null,
  owner: string,
): Condition[] {
  const conditions = conditionsOfRemoving(viewer, actor, existing, owner)
  if (historyVisibility != null && historyVisibility !== existing?.historyVisibility) conditions.push('history')
  if (agent != null && !isSameJson(agent, existing?.agent ?? null)) conditions.push('agentSettings')
  const stepsDown = actor === viewer.actor && administrator === false
  if (administrator != null && administrator !== existing?.administrator && !stepsDown) conditions.push('administrator')
  return conditions
}
