// The settings of participants that are agents: the turns that wake them up, and how the server runs them.

import { z } from 'zod'
import { InvalidInput } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import { Prisma } from '../../../store/generated/client.ts'
import type { ParticipantKind, Respond } from '../../../store/generated/enums.ts'
import { dropWakeUps } from '../../../store/sql/agent/wake-up/drop-wake-ups.ts'
import { updateResponding } from '../../../store/sql/agent/wake-up/update-responding.ts'
import { between, name, text, tokensPerDay } from '../../kernel/input.ts'
import { kindOfCredential, lessTrusted } from '../../kernel/rights/principal.ts'
import { toolDefinitions } from './tool-definition.ts'
import type { Viewer } from '../../kernel/view.ts'

/** Maximum length of an agent's instructions, in characters. */
export const MAX_INSTRUCTIONS = 65_536
/** Maximum value of `maxTokens` (the tokens of one reply) and of `tokenBudget` (the tokens of one context). */
export const MAX_AGENT_TOKENS = 10_000_000

/** How a turn that wakes up an agent while it runs is answered. */
export const STEERING = ['NEXT_ROUND', 'QUEUE', 'INTERRUPT'] as const

/** How the server runs an agent. A null or omitted field uses the default of runTurn. */
export const agentInput = z.object({
  provider: name,
  model: name.nullish(),
  instructions: text(MAX_INSTRUCTIONS).nullish(),
  tools: toolDefinitions.nullish(),
  maxTokens: between(1, MAX_AGENT_TOKENS).nullish(),
  tokenBudget: between(1, MAX_AGENT_TOKENS).nullish(),
  tokensPerDay: tokensPerDay.nullish(),
  reasoning: z.boolean().nullish(),
  steering: z.enum(STEERING).nullish(),
})
export type AgentSettings = z.output<typeof agentInput>

/** Default and bounds of `maxAgentTurns`, the maximum number of consecutive turns by agents in a conversation. */
export const AGENT_TURNS = { default: 6, min: 0, max: 100 } as const
export const maxAgentTurns = between(AGENT_TURNS.min, AGENT_TURNS.max)

/** Converts a JSON value for Prisma, so that null is written as SQL's NULL, not as JSON's null. */
export const jsonOrNull = (value: unknown) => (value === null ? Prisma.DbNull : (value as Prisma.InputJsonValue))

type Joining = { actor: string; kind?: ParticipantKind | null; respond?: Respond | null; agent?: unknown }

/**
 * Returns the kind of a participant that joins. Without a given kind, it is that of the viewer's credential for the
 * credential's own actor. Another actor that responds automatically is an AGENT, not a HUMAN, because a turn by a HUMAN
 * resets the number of consecutive agents' turns that `maxAgentTurns` limits. Any other actor is a HUMAN, or of the
 * credential's kind if that is less trusted and the credential may not act as other actors.
 */
export function kindOnJoining(viewer: Viewer, { actor, kind, respond, agent }: Joining): ParticipantKind {
  if (kind != null) return kind
  const own = kindOfCredential(viewer, actor)
  if (own !== null) return own
  const usual = agent != null || (respond != null && respond !== 'NEVER') ? 'AGENT' : 'HUMAN'
  const { principal } = viewer
  return principal === undefined || principal.rights.has('act-as') ? usual : lessTrusted(usual, principal.kind)
}

/** @throws InvalidInput if `agent` settings are given for a participant of a kind other than AGENT */
export function requireAgentKind(kind: ParticipantKind, agent: unknown, path: string): void {
  if (agent != null && kind !== 'AGENT') {
    throw InvalidInput.at(path, `is only for participants of kind AGENT; the participant is of kind ${kind}`)
  }
}

/** Updates the data that depends on `respond`. `tx` has locked the conversation and written the new `respond`. */
export async function changeResponse(tx: Tx, conversationId: string, actor: string, respond: Respond): Promise<void> {
  await updateResponding(tx, conversationId)
  if (respond === 'NEVER') await dropWakeUps(tx, conversationId, actor, 'NO_LONGER_RESPONDS')
}
