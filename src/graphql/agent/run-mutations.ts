// The mutations that start, continue and cancel runs of agents.

import { BUILT_IN_DEFAULTS, MAX_HITS, MAX_TOKENS } from '../../domain/kernel/call-defaults.ts'
import { MAX_RECENT_TURNS } from '../../domain/memory/context/options.ts'
import { MAX_QUERY } from '../../domain/memory/recall/recall.ts'
import { MAX_ACTIVE_RUNS } from '../../domain/agent/run/active-runs.ts'
import { cancelRun } from '../../domain/agent/run/cancel.ts'
import { MAX_INSTRUCTIONS } from '../../domain/agent/definition/agent-settings.ts'
import { ROUNDS } from '../../domain/agent/run/options.ts'
import { runTurn, type RunTurnInput as Given, type RunTurnResult } from '../../domain/agent/run/start.ts'
import { MAX_TOOLS } from '../../domain/agent/definition/tool-definition.ts'
import type { Run } from '../../domain/agent/definition/visible.ts'
import { Conflict, InvalidInput, LimitReached, NotAllowed, NotFound, QuotaExceeded } from '../../errors.ts'
import { AuthoredTurnInput } from '../turn/append.ts'
import { asField, asNewField } from '../kernel/view/named.ts'
import { builder, type InputFieldBuilder } from '../kernel/builder.ts'
import { atConversation, conversationRef } from '../conversation/conversation-ref.ts'
import { ContextStrategyEnum, SemanticRecallInput } from '../memory/context.ts'
import { orErrors, payload } from '../kernel/errors.ts'
import { Steering } from './agent.ts'
import { ToolDefinitionInput } from './tool-definition.ts'

const number = (value: number) => value.toLocaleString('en-US')

const ToolChoiceEnum = builder.enumType('ToolChoice', {
  description: 'Whether a model must call tools.',
  values: {
    AUTO: { description: 'The model decides.' },
    NONE: { description: 'The model gets no tools.' },
    REQUIRED: { description: 'The first reply of the run must call a tool; for later replies, the model decides.' },
  } as const,
})

const RunContextInput = builder.inputType('RunContextInput', {
  description: 'Options for building the messages for the model; see buildContext. The view is that of the agent.',
  fields: (t) => ({
    tokenBudget: t.int({
      description:
        'Maximum number of tokens of all messages, instructions and tools. Defaults to that of the agent, or to '
        + `\`CallDefaults.tokenBudget\` of the tenant, which defaults to ${number(BUILT_IN_DEFAULTS.tokenBudget)}; at most ${number(MAX_TOKENS)}.`,
    }),
    recentTurns: t.int({
      description: `Maximum number of recent turns, 0 to ${number(MAX_RECENT_TURNS)}, which is the default.`,
    }),
    semanticRecall: t.field({
      type: SemanticRecallInput,
      description: `Recalls relevant older turns, at most ${MAX_HITS}. Defaults to null, for no recall.`,
    }),
    includeFacts: t.boolean({ description: 'Whether to include facts. Defaults to false.' }),
    includeProfile: t.boolean({ description: 'Whether to include profiles of people. Defaults to false.' }),
    includeSharedState: t.boolean({
      description: 'Whether to include the shared state that all readers of the reply see. Defaults to true.',
    }),
    sinceSeq: t.int({
      description: 'Includes only turns written or changed after this journal entry. Defaults to null, for all.',
    }),
    query: t.string({
      description:
        `Query for \`semanticRecall\`, which it requires; 1 to ${number(MAX_QUERY)} characters. Defaults to the text of `
        + 'the newest turn.',
    }),
    strategy: t.field({
      type: ContextStrategyEnum,
      description: 'Sections of the context. Defaults as for buildContext.',
    }),
    store: t.boolean({
      description:
        'Whether to store the context of each call of the provider, without `instructions` and `tools`, so that '
        + '`Turn.context` of its reply returns it. Defaults to false.',
    }),
  }),
})

/** The fields that name the turn that a run answers or regenerates. */
const answeredFields = (t: InputFieldBuilder) => ({
  replyTo: t.id({
    description:
      'Id of the turn to answer. The replies have its audience. Defaults to the last of `turns`, or to the newest turn '
      + 'by another author.',
  }),
  supersedes: t.id({
    description:
      'Id of a reply of the agent, in its newest version, to regenerate. The first reply of the run supersedes it; it '
      + 'streams at the position of the old version. The run answers the turn that the reply answered, from a context that '
      + 'ends before the reply. Excludes `turns`, `replyTo` and `runId`. Defaults to null, for a new reply.',
  }),
})

const RunTurnInput = builder.inputType('RunTurnInput', {
  description: 'Input of runTurn: turns to append, the agent that answers, and how its model is called.',
  fields: (t) => ({
    ...conversationRef(t, 'in which the agent answers'),
    actor: t.string({
      description:
        'Agent that answers: a present participant, or the viewer. Defaults to the author of the turn `supersedes`, or to '
        + '`agentName` of the conversation.',
    }),
    turns: t.field({
      type: [AuthoredTurnInput],
      description:
        "Turns to append before the run, oldest first; at most the server's batch size, 1,000 by default. With `runId`, "
        + 'the results of tool calls. Defaults to none.',
    }),
    ...answeredFields(t),
    provider: t.string({
      description: 'Name of the provider. Defaults to that of the agent, or to the first one of the server.',
    }),
    model: t.string({ description: 'Name of the model. Defaults to that of the agent, or of the provider.' }),
    instructions: t.string({
      description:
        `System message for this run, at most ${number(MAX_INSTRUCTIONS)} characters. Defaults to those of the agent, or `
        + 'to none.',
    }),
    tools: t.field({
      type: [ToolDefinitionInput],
      description:
        `Tools that the model may call, at most ${MAX_TOOLS}. Defaults to those of the agent, or to all tools that the `
        + 'server executes; an empty list for none.',
    }),
    toolChoice: t.field({ type: ToolChoiceEnum, description: 'Whether the model must call tools. Defaults to AUTO.' }),
    maxTokens: t.int({
      description:
        `Maximum number of tokens of one reply, 1 to ${number(MAX_TOKENS)}. Defaults to that of the agent, or to the limit `
        + 'of the model.',
    }),
    maxRounds: t.int({
      description:
        `Maximum number of calls of the provider, after which the run fails. Defaults to ${ROUNDS.default}; at most `
        + `${ROUNDS.max}.`,
    }),
    reasoning: t.boolean({
      description:
        'Whether the reasoning of the model becomes parts of its turns, which all their viewers see. Defaults to that of the '
        + 'settings of the agent, or else to false.',
    }),
    steering: t.field({
      type: Steering,
      description:
        'What turns that wake up the agent while it runs do. Defaults to that of the settings of the agent, or else to '
        + 'NEXT_ROUND.',
    }),
    context: t.field({ type: RunContextInput, description: 'Options for building the messages for the model.' }),
    agentContext: t.field({
      type: 'JSON',
      description: 'Application-defined value that the adapter of the provider gets unchanged. Defaults to null.',
    }),
    wait: t.boolean({
      description:
        'Whether the call returns when the run has ended or waits. Defaults to true; false returns the started run.',
    }),
    clientId: t.string({
      description:
        'Idempotency key of the run, unique per viewer and conversation; 1 to 150 characters. A repeated call returns the '
        + 'existing run; with other input, it fails with Conflict. Defaults to null, for no key.',
    }),
    runId: t.id({
      description:
        'Id of a run that waits for the results of tools, to continue it. Fields about the agent are then ignored. '
        + 'Defaults to null, for a new run.',
    }),
    ...asNewField(t, 'Actor that starts the run, and the author of turns without `actor`.'),
  }),
})

const RunTurnPayload = payload<RunTurnResult>('RunTurn').implement({
  description: 'The run, and the turns that the call appended.',
  fields: (t) => ({
    run: t.field({
      type: 'Run',
      description: 'The run, which may have failed; `replies` has its turns.',
      sharing: 'SHAREABLE',
      resolve: ({ run }) => run,
    }),
    turns: t.field({
      type: ['Turn'],
      description: 'Turns of the input, in order; also those that an earlier call with the same clientId appended.',
      sharing: 'SHAREABLE',
      resolve: ({ turns }) => turns,
    }),
  }),
})

builder.mutationField('runTurn', (t) =>
  t.field({
    type: RunTurnPayload,
    description:
      'Appends turns and lets an agent answer them, or continues a run. The reply is a streaming turn. An agent has one '
      + 'running run in a conversation: another call fails with Conflict, which names it. Runs that wait do not count. '
      + `At most ${MAX_ACTIVE_RUNS} runs are executed by one server process. If the call fails, nothing was written, except `
      + 'the turns of a call that continues a run; once the run has started, its failures are in `Run.error`.',
    introducesActor: true,
    errors: orErrors('RunTurn', [InvalidInput, NotFound, NotAllowed, Conflict, LimitReached, QuotaExceeded]),
    args: { input: t.arg({ type: RunTurnInput, required: true, description: 'The turns, and the agent to run.' }) },
    async resolve(_, { input: { as: _as, ...input } }, context) {
      const given = await atConversation(context, input)
      return runTurn(context.deps, context.viewer, given as Given)
    },
  }),
)

const CancelRunInput = builder.inputType('CancelRunInput', {
  description: 'Input of cancelRun: the run to end.',
  fields: (t) => ({
    runId: t.id({ required: true, description: 'Id of the run to cancel.' }),
    ...asField(t, 'Actor that cancels the run.'),
  }),
})

const CancelRunPayload = payload<{ run: Run }>('CancelRun').implement({
  description: 'Result of cancelRun.',
  fields: (t) => ({ run: t.expose('run', { type: 'Run', description: 'The cancelled run.' }) }),
})

builder.mutationField('cancelRun', (t) =>
  t.field({
    type: CancelRunPayload,
    description:
      'Ends a run that is running or waits. The reply that it writes is aborted and keeps its text. Cancelling a cancelled '
      + 'run changes nothing; fails with Conflict for a run that has ended otherwise.',
    errors: orErrors('CancelRun', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: CancelRunInput, required: true, description: 'The run to cancel.' }) },
    async resolve(_, { input: { runId } }, { deps, viewer }) {
      return { run: await cancelRun(deps, viewer, { runId }) }
    },
  }),
)
