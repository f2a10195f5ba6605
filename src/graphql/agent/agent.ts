// The settings of participants that are agents: the turns that wake them up, and how the server runs them.

import {
  MAX_AGENT_TOKENS,
  MAX_INSTRUCTIONS,
  type AgentSettings as Settings,
} from '../../domain/agent/definition/agent-settings.ts'
import { MAX_TOOLS } from '../../domain/agent/definition/tool-definition.ts'
import { builder } from '../kernel/builder.ts'
import { loadParticipantDetails } from '../kernel/loaders.ts'
import { ToolDefinition, ToolDefinitionInput } from './tool-definition.ts'

export const RespondEnum = builder.enumType('Respond', {
  description:
    'Turns that wake up a participant. The participant has to answer them: the server runs an agent with `agent` '
    + 'settings, and others find them in their inbox. A turn wakes up only participants that see it, and never its '
    + 'author.',
  values: {
    MENTIONED: { description: 'Turns whose text mentions the participant; see `mentions` of Turn.' },
    ADDRESSED: {
      description:
        'Turns that mention the participant, turns with an `audience` that includes it, and replies to turns of its own.',
    },
    ALWAYS: { description: 'All turns of others with the role USER or ASSISTANT.' },
    NEVER: { description: 'No turns.' },
  } as const,
})

export const Steering = builder.enumType('Steering', {
  description:
    'What turns that wake up an agent of the server while it runs do. A private turn for other readers than those of the '
    + 'running answer is always answered afterwards, with an answer of its own.',
  values: {
    NEXT_ROUND: {
      description:
        'The next call of the model answers them: after the tool calls of the current reply, or else after the run.',
    },
    QUEUE: { description: 'They are answered after the run, each on its own.' },
    INTERRUPT: {
      description:
        'They interrupt the reply that the model writes, which keeps its text, and the next call of the model answers them. '
        + 'Tools that are being executed are not interrupted.',
    },
  } as const,
})

const TOKENS = `1 to ${MAX_AGENT_TOKENS.toLocaleString('en-US')}`

export const AgentInput = builder.inputType('AgentInput', {
  description: 'Settings with which the server runs a participant.',
  fields: (t) => ({
    provider: t.string({ required: true, description: 'Name of a configured provider; see `providers`.' }),
    model: t.string({
      description: "Provider's name of the model, 1 to 200 characters. Defaults to the provider's default model.",
    }),
    instructions: t.string({
      description:
        'Instructions for the model, before the system prompt of the conversation; at most '
        + `${MAX_INSTRUCTIONS.toLocaleString('en-US')} characters. Every participant can read them. Defaults to null, for none.`,
    }),
    tools: t.field({
      type: [ToolDefinitionInput],
      description: `Tools that the model may call, at most ${MAX_TOOLS}. Defaults to null, for all tools that are registered on the server.`,
    }),
    maxTokens: t.int({
      description: `Maximum number of tokens of a reply, ${TOKENS}. Defaults to null, for the limit of the model.`,
    }),
    tokenBudget: t.int({
      description: `Maximum number of tokens of the context that the model gets, ${TOKENS}. Defaults to the default of runTurn.`,
    }),
    tokensPerDay: t.int({
      description:
        'Quota: number of tokens that runs of the participant in the conversation may use in one day (UTC). At 0, no run '
        + 'starts. Defaults to null, for no quota.',
    }),
    reasoning: t.boolean({
      description:
        'Whether the reasoning of the model becomes parts of its turns, which all their viewers see. Defaults to false.',
    }),
    steering: t.field({
      type: Steering,
      description: 'What turns that wake up the agent while it runs do. Defaults to NEXT_ROUND.',
    }),
  }),
})

const AgentSettings = builder
  .objectRef<Settings>('AgentSettings')
  .implement({
    description: 'Settings with which the server runs a participant.',
    fields: (t) => ({
      provider: t.exposeString('provider', { description: 'Name of the provider that the server calls.' }),
      model: t.exposeString('model', {
        nullable: true,
        description: "Provider's name of the model. Null for the provider's default model.",
      }),
      instructions: t.exposeString('instructions', {
        nullable: true,
        description: 'Instructions for the model, before the system prompt of the conversation. Null for none.',
      }),
      tools: t.expose('tools', {
        type: [ToolDefinition],
        nullable: true,
        description: 'Tools that the model may call. Null for all tools that are registered on the server.',
      }),
      maxTokens: t.exposeInt('maxTokens', {
        nullable: true,
        description: 'Maximum number of tokens of a reply. Null for the limit of the model.',
      }),
      tokenBudget: t.exposeInt('tokenBudget', {
        nullable: true,
        description: 'Maximum number of tokens of the context that the model gets. Null for the default of runTurn.',
      }),
      tokensPerDay: t.exposeInt('tokensPerDay', {
        nullable: true,
        description:
          'Number of tokens that runs of the participant in the conversation may use in one day (UTC). Null for no quota.',
      }),
      reasoning: t.boolean({
        description: 'Whether the reasoning of the model becomes parts of its turns.',
        sharing: 'SHAREABLE',
        resolve: ({ reasoning }) => reasoning ?? false,
      }),
      steering: t.field({
        type: Steering,
        description: 'What turns that wake up the agent while it runs do.',
        sharing: 'SHAREABLE',
        resolve: ({ steering }) => steering ?? 'NEXT_ROUND',
      }),
    }),
  })

builder.objectField('Participant', 'agent', (t) =>
  t.field({
    type: AgentSettings,
    nullable: true,
    description:
      'Settings with which the server runs the participant. Null for a participant that the server does not run.',
    sharing: 'SHAREABLE',
    resolve: async (participant, _, context) =>
      (await loadParticipantDetails(context, participant)).agent as Settings | null,
  }),
)
