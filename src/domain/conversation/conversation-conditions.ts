// Decides which conditions of rights.ts the input of createConversation or updateConversation meets. Pure.

import type { ParticipantKind } from '../../store/generated/enums.ts'
import { isForeignKind, isOtherKind } from '../kernel/rights/principal.ts'
import type { Condition } from '../kernel/rights/rights.ts'
import type { Viewer } from '../kernel/view.ts'

type Creation = {
  owner: string | null | undefined
  participants: readonly { actor: string; kind?: ParticipantKind | null }[]
}

/**
 * Returns the conditions of createConversation. The creator owns the conversation unless it names another owner, so
 * every other field is permitted.
 */
export function conditionsOfCreation({ actor, principal }: Viewer, { owner, participants }: Creation): Condition[] {
  const conditions: Condition[] = []
  if (owner != null && owner !== actor) conditions.push('foreignOwner')
  if (participants.some((each) => isOtherKind(principal, each.actor, each.kind))) conditions.push('ownKind')
  if (participants.some((each) => isForeignKind(principal, each.actor, each.kind))) conditions.push('foreignKind')
  return conditions
}

/** The fields that meet the condition `settings`. */
const SETTINGS = [
  'systemPrompt',
  'agentName',
  'visibility',
  'compaction',
  'factExtraction',
  'automaticTitle',
  'maxAgentTurns',
  'retention',
  'ttlSeconds',
  'expiresAt',
] as const

/**
 * Returns the conditions of updateConversation. A null field counts, because it clears the setting. A null owner does
 * not, because updateConversation rejects it.
 */
export function conditionsOfUpdate(input: { [field in (typeof SETTINGS)[number] | 'owner']?: unknown }): Condition[] {
  const conditions: Condition[] = []
  if (SETTINGS.some((field) => input[field] !== undefined)) conditions.push('settings')
  if (input.owner != null) conditions.push('owner')
  return conditions
}
