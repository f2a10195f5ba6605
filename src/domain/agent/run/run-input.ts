// The input of runTurn, and the settings of the agent that it runs.

import { z } from 'zod'
import { InvalidInput, NotAllowed, NotFound } from '../../../errors.ts'
import type { NamedProvider } from '../../../providers/ports/chat-providers.ts'
import type { AgentSettings } from '../definition/agent-settings.ts'
import { notParticipant } from '../../kernel/rights/authorize.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import { id, name } from '../../kernel/input.ts'
import { turnInput } from '../../turn/append/turn-input.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { RunDeps } from './deps.ts'
import { optionFields, type RunOptions } from './options.ts'

export const runTurnInput = z.object({
  conversationId: id('conversation'),
  actor: name.nullish(),
  turns: z.array(turnInput).nullish(),
  replyTo: id('turn').nullish(),
  supersedes: id('turn').nullish(),
  provider: name.nullish(),
  model: name.nullish(),
  ...optionFields,
  wait: z.boolean().nullish(),
  clientId: name.max(150, 'must be at most 150 characters').nullish(),
  runId: id('run').nullish(),
})
export type ParsedRunTurn = z.output<typeof runTurnInput>

/** The agent that writes the replies of a run. `settings` is null for an agent without settings. */
export type Agent = { actor: string; settings: AgentSettings | null }

/** Whether the call overrides the provider, model, instructions or tools of the agent's settings. */
export const overridesSettings = ({ provider, model, instructions, tools }: ParsedRunTurn): boolean =>
  provider != null || model != null || instructions != null || tools != null

/**
 * Returns the agent to run: `actor`, or else the agent of the conversation. It must be a present participant, the agent
 * of the conversation, or the viewer.
 * @throws InvalidInput @throws NotFound @throws NotAllowed if it was removed, or has left a MEMBERS conversation
 */
export async function findAgent(
  deps: Pick<RunDeps, 'db'>,
  viewer: Viewer,
  conversation: Conversation,
  given: ParsedRunTurn,
): Promise<Agent> {
  const actor = given.actor ?? conversation.agentName
  if (actor === null) {
    throw InvalidInput.at('actor', 'must name the agent, because the conversation has no agentName')
  }
  const participant = await deps.db
    .of(viewer.tenant)
    .participant.findFirst({
      where: { conversationId: conversation.id, actor },
      select: { leftAt: true, removed: true, agent: true },
    })
  const isPresent = participant !== null && participant.leftAt === null
  if (!isPresent && actor !== viewer.actor && actor !== conversation.agentName) throw new NotFound('agent', actor)
  if (participant?.removed) throw new NotAllowed(`${JSON.stringify(actor)} was removed from the conversation.`)
  if (!isPresent && conversation.visibility === 'MEMBERS') throw notParticipant(actor)
  return { actor, settings: (participant?.agent ?? null) as AgentSettings | null }
}

/**
 * Returns the provider and the model of a run: the given ones, or else those of the agent's settings, or else the first
 * provider and its default model.
 * @throws NotFound for an unknown provider @throws InvalidInput
 */
export function chooseModel(
  { providers }: Pick<RunDeps, 'providers'>,
  given: ParsedRunTurn,
  { settings }: Agent,
): { provider: NamedProvider; model: string } {
  const wanted = given.provider ?? settings?.provider ?? providers.list()[0]?.name
  if (wanted === undefined) throw InvalidInput.at('provider', 'the server has no provider: configure one')
  const provider = providers.get(wanted)
  if (!provider) throw new NotFound('provider', wanted)
  const ofSettings = given.provider == null || given.provider === settings?.provider ? settings?.model : null
  const model = given.model ?? ofSettings ?? provider.defaultModel
  if (provider.models !== null && !provider.models.includes(model)) {
    throw InvalidInput.at('model', `is ${JSON.stringify(model)}; ${wanted} offers ${provider.models.join(', ')}`)
  }
  return { provider, model }
}

/** Returns the options of a run: each given option, or else the one of the agent's settings. */
export function mergeOptions(given: ParsedRunTurn, { settings }: Agent): RunOptions {
  const tokenBudget = given.context?.tokenBudget ?? settings?.tokenBudget
  return {
    instructions: given.instructions ?? settings?.instructions,
    tools: given.tools ?? settings?.tools,
    toolChoice: given.toolChoice,
    maxTokens: given.maxTokens ?? settings?.maxTokens,
    maxRounds: given.maxRounds,
    reasoning: given.reasoning ?? settings?.reasoning,
    steering: given.steering ?? settings?.steering,
    context: { ...given.context, tokenBudget },
    agentContext: given.agentContext,
  }
}
