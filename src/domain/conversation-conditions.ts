// Decides which conditions of rights.ts the input of createConversation or updateConversation meets. Pure.

import type { ParticipantKind } from '../store/generated/enums.ts'
import { isOtherKind } from './participant-conditions.ts'
import type { Condition } from './rights.ts'
import type { Viewer } from './view.ts'

type Creation = {
  owner: string | null | undefined
  participants: readonly { actor: string; kind?: ParticipantKind | null }[]
}

/** The creator owns the conversation unless it names another owner, so it may set every other field. */
export function conditionsOfCreation({ actor, principal }: Viewer, { owner, participants }: Creation): Condition[] {
  const conditions: Condition[] = []
  if (owner != null && owner !== actor) conditions.push('foreignOwner')
  if (participants.some((each) => isOtherKind(principal, each.actor, each.kind))) conditions.push('ownKind')
  return conditions
}

/** The fields that need the condition `settings`. */
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

/** A field that is given as null clears the setting, so it counts; a null owner is rejected elsewhere. */
export function conditionsOfUpdate(input: { [field in (typeof SETTINGS)[number] | 'owner']?: unknown }): Condition[] {
  const conditions: Condition[] = []
  if (SETTINGS.some((field) => input[field] !== undefined)) conditions.push('settings')
  if (input.owner != null) conditions.push('owner')
  return conditions
}
