// The settings of participants that are agents: the turns that wake them up, and how the server runs them.

import { z } from 'zod'
import { InvalidInput } from '../errors.ts'
import type { Tx } from '../store/db.ts'
import { Prisma } from '../store/generated/client.ts'
import type { ParticipantKind, Respond } from '../store/generated/enums.ts'
import { dropWakeUps } from '../store/sql/wake-up/drop-wake-ups.ts'
import { updateResponding } from '../store/sql/wake-up/update-responding.ts'
import { between, name, text, tokensPerDay } from './input.ts'
import { toolDefinitions } from './tool-definition.ts'
import type { Viewer } from './view.ts'

/** Maximum length of an agent's instructions, in characters. */
export const MAX_INSTRUCTIONS = 65_536
/** Maximum number of tokens of a reply or of a context that may be given. */
export const MAX_AGENT_TOKENS = 10_000_000

/** How the server runs an agent. Null and omitted fields have the defaults of a run. */
export const agentInput = z.object({
  provider: name,
  model: name.nullish(),
  instructions: text(MAX_INSTRUCTIONS).nullish(),
  tools: toolDefinitions.nullish(),
  maxTokens: between(1, MAX_AGENT_TOKENS).nullish(),
  tokenBudget: between(1, MAX_AGENT_TOKENS).nullish(),
  tokensPerDay: tokensPerDay.nullish(),
})
export type AgentSettings = z.output<typeof agentInput>

/** Default, minimum and maximum of a conversation's maximum number of agents' turns in a row. */
export const AGENT_TURNS = { default: 6, min: 0, max: 100 } as const
export const maxAgentTurns = between(AGENT_TURNS.min, AGENT_TURNS.max)

/** Returns the value as Prisma writes it: null is SQL's NULL, not JSON's null. */
export const jsonOrNull = (value: unknown) => (value === null ? Prisma.DbNull : (value as Prisma.InputJsonValue))

type Joining = { actor: string; kind?: ParticipantKind | null; respond?: Respond | null; agent?: unknown }

/**
 * Returns the kind of a participant that joins. Actors that answer by themselves are agents unless stated otherwise,
 * because the turns of people end the count of the loop guard.
 */
export function kindOnJoining({ principal }: Viewer, { actor, kind, respond, agent }: Joining): ParticipantKind {
  if (kind != null) return kind
  if (principal?.actor === actor) return principal.kind
  return agent != null || (respond != null && respond !== 'NEVER') ? 'AGENT' : 'HUMAN'
}

/** @throws InvalidInput if a participant of another kind would be run by the server */
export function requireAgentKind(kind: ParticipantKind, agent: unknown, path: string): void {
  if (agent != null && kind !== 'AGENT') {
    throw InvalidInput.at(path, `is only for participants of kind AGENT; the participant is of kind ${kind}`)
  }
}

/** Updates the data that depends on `respond`, in the transaction that has written it under the conversation's lock. */
export async function changeResponse(tx: Tx, conversationId: string, actor: string, respond: Respond): Promise<void> {
  await updateResponding(tx, conversationId)
  if (respond === 'NEVER') await dropWakeUps(tx, conversationId, actor, 'NO_LONGER_RESPONDS')
}
