// Runs of agents: their types, the queries that read them, and the fields of other types that return them.

import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import { isRetryable, RUN_ERRORS, type RunErrorCode } from '../../domain/agent/run/answer/failure.ts'
import { runCursor, type ProviderCall as Call } from '../../domain/agent/run/run.ts'
import type { Run } from '../../domain/agent/definition/visible.ts'
import { asArg } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import {
  loadConversationOf,
  loadPageOfRuns,
  loadParticipant,
  loadProviderCalls,
  loadRun,
  loadTokenSums,
  loadTurn,
} from '../kernel/loaders.ts'
import { Node } from '../kernel/node.ts'
import { TokenUsage } from '../turn/turn.ts'

const RunStateEnum = builder.enumType('RunState', {
  description: 'Whether a run is executed, waits or has ended.',
  values: {
    RUNNING: { description: 'A server process executes the run.' },
    WAITING_FOR_TOOLS: {
      description: 'The caller must append the results of tool calls, and continue the run by runTurn.',
    },
    WAITING_FOR_APPROVAL: { description: 'Tool calls wait for a decision.' },
    COMPLETED: { description: 'The agent has answered.' },
    FAILED: { description: 'The run ended without an answer. `error` says why.' },
    CANCELLED: { description: 'The run was cancelled by cancelRun.' },
  } as const,
})

const ERRORS: Record<RunErrorCode, { description: string }> = {
  PROVIDER_FAILED: { description: 'The provider failed or refused the call.' },
  PROVIDER_STALLED: { description: 'The provider sent nothing for too long.' },
  REPLY_TOO_LONG: { description: 'The reply is longer than a turn, or than the adapter accepts.' },
  INVALID_REPLY: { description: 'The reply is empty, or cannot be stored.' },
  INVALID_TOOL_CALL: {
    description: 'The model made an invalid tool call again after the result of the first one said so.',
  },
  TOO_MANY_ROUNDS: { description: 'The model has not answered after `maxRounds` calls of the provider.' },
  TIME_LIMIT: { description: 'The run took longer than the time limit of the server.' },
  QUOTA_EXCEEDED: {
    description: 'The tokens of the day were used up before a call, or calls in progress had reserved the rest.',
  },
  BUDGET_TOO_SMALL: { description: 'The instructions and the newest turn do not fit into the token budget.' },
  AGENT_LEFT: { description: 'The agent cannot write to the conversation any more.' },
  NOT_ALLOWED: { description: 'The API key that started the run was revoked, or no longer permits what the run does.' },
  INTERRUPTED: { description: 'The process that executed the run ended, or the reply was closed.' },
  EXPIRED: { description: 'No client appended the results of tool calls in time.' },
  INTERNAL: { description: 'An unexpected error, which the server has logged.' },
}
const RunErrorCodeEnum = builder.enumType('RunErrorCode', {
  description: 'Reason why a run failed.',
  values: Object.fromEntries(RUN_ERRORS.map((code) => [code, ERRORS[code]])) as Record<
    RunErrorCode,
    { description: string }
  >,
})

const RunError = builder
  .objectRef<{ code: string; message: string }>('RunError')
  .implement({
    description: 'Reason why a run failed.',
    fields: (t) => ({
      code: t.field({
        type: RunErrorCodeEnum,
        description: 'Stable machine-readable code.',
        sharing: 'SHAREABLE',
        resolve: ({ code }) => code as RunErrorCode,
      }),
      message: t.exposeString('message', {
        description: 'Cause, and the next step if there is one, for developers. Never contains texts of a provider.',
      }),
      retryable: t.boolean({
        description: 'Whether a new run with the same input may succeed.',
        sharing: 'SHAREABLE',
        resolve: ({ code }) => isRetryable(code),
      }),
    }),
  })

const ProviderCall = builder
  .objectRef<Call>('ProviderCall')
  .implement({
    description: 'One call of a provider by a run, with all its attempts.',
    fields: (t) => ({
      round: t.exposeInt('round', { description: 'Number of the call within the run, from 1.' }),
      provider: t.exposeString('provider', { description: 'Name of the provider, as configured on the server.' }),
      model: t.exposeString('model', { description: 'Name of the model, as the provider knows it.' }),
      reply: t.field({
        type: 'Turn',
        nullable: true,
        description: 'Turn with the reply. Null if it is no longer in view.',
        sharing: 'PER_VIEWER',
        resolve: ({ turnId }, _, context) => loadTurn(context, turnId),
      }),
      attempts: t.exposeInt('attempts', { description: 'Number of attempts, at least 1.' }),
      tokenUsage: t.field({
        type: TokenUsage,
        nullable: true,
        description:
          'Numbers of tokens that the provider reported or, if it reported none, that the server counted. Null until '
          + 'the call has ended.',
        sharing: 'SHAREABLE',
        resolve: ({ endedAt, promptTokens, completionTokens }) =>
          endedAt === null ? null : { prompt: promptTokens ?? 0, completion: completionTokens ?? 0 },
      }),
      isEstimated: t.exposeBoolean('isEstimated', {
        description:
          'Whether the server counted the tokens, because the provider did not report them, or the process that called it '
          + 'has died.',
      }),
      finishReason: t.exposeString('finishReason', {
        nullable: true,
        description:
          'Reason why the model stopped: `stop`, `tool-calls`, `length`, `content-filter` or `other`. Null until the '
          + 'call has ended, if it failed, and if the provider gave no reason.',
      }),
      errorCode: t.exposeString('errorCode', {
        nullable: true,
        description: 'Code of the failure, as in `RunError`, or why the run was stopped. Null unless the call failed.',
      }),
      startedAt: t.expose('startedAt', { type: 'DateTime', description: 'Time at which the call began.' }),
      endedAt: t.expose('endedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'Time at which the call ended. Null until then.',
      }),
    }),
  })

builder.objectType('Run', {
  description:
    'A run of an agent: it answers a turn of a conversation in one or more calls of a provider. Visible to the viewers of '
    + 'its replies.',
  interfaces: [Node],
  fields: (t) => ({
    conversation: t.field({
      type: 'Conversation',
      description: 'The conversation, in the same view as the run.',
      sharing: 'SHAREABLE',
      resolve: ({ conversationId }, _, context) => loadConversationOf(context, conversationId),
    }),
    actor: t.exposeString('actor', { description: 'The agent, who is the author of the replies.' }),
    agent: t.field({
      type: 'Participant',
      nullable: true,
      description: 'The agent as a participant. Null until its first reply, if it was no participant before.',
      sharing: 'SHAREABLE',
      resolve: ({ conversationId, actor }, _, context) => loadParticipant(context, { conversationId, actor }),
    }),
    startedBy: t.exposeString('viewer', { description: 'Actor that started the run.' }),
    state: t.expose('state', { type: RunStateEnum, description: 'Current state.' }),
    provider: t.exposeString('provider', { description: 'Name of the provider, as configured on the server.' }),
    model: t.exposeString('model', { description: 'Name of the model, as the provider knows it.' }),
    replyTo: t.field({
      type: 'Turn',
      nullable: true,
      description: 'Turn that the run answers. Null if there is none, or if it is no longer in view.',
      sharing: 'PER_VIEWER',
      resolve: ({ replyToId }, _, context) => (replyToId === null ? null : loadTurn(context, replyToId)),
    }),
    calls: t.field({
      type: [ProviderCall],
      description: 'Calls of the provider, in order.',
      sharing: 'PER_VIEWER',
      resolve: ({ id }, _, context) => loadProviderCalls(context, id),
    }),
    replies: t.field({
      type: ['Turn'],
      description:
        'Turns that the run has written, in order: replies, and the results of tools that the server executed.',
      sharing: 'PER_VIEWER',
      async resolve({ id }, _, context) {
        const calls = await loadProviderCalls(context, id)
        const ids = calls.flatMap(({ turnId, resultsId }) => (resultsId === null ? [turnId] : [turnId, resultsId]))
        const turns = await Promise.all(ids.map((turnId) => loadTurn(context, turnId)))
        return turns.filter((turn) => turn !== null)
      },
    }),
    tokenUsage: t.field({
      type: TokenUsage,
      description: 'Sums of the tokens of the calls that have ended.',
      sharing: 'SHAREABLE',
      resolve: ({ promptTokens, completionTokens }) => ({ prompt: promptTokens, completion: completionTokens }),
    }),
    error: t.field({
      type: RunError,
      nullable: true,
      description: 'Reason why the run failed. Null unless its state is FAILED.',
      sharing: 'SHAREABLE',
      resolve: ({ errorCode, errorMessage }) =>
        errorCode === null ? null : { code: errorCode, message: errorMessage ?? '' },
    }),
    version: t.exposeInt('version', {
      description: 'Number of this state of the run: 1 when created, greater after each change.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the run was requested.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the run ended. Null until then.',
    }),
  }),
})

const { Connection: RunConnection } = connectionOf<Run>('Run', 'runs', runCursor)

builder.queryField('run', (t) =>
  t.field({
    verb: 'getRuns',
    type: 'Run',
    nullable: true,
    description: 'The run with that id. Null if it does not exist or the viewer does not see it.',
    args: { id: t.arg.id({ required: true, description: 'Id of the run.' }), ...asArg(t) },
    resolve: (_, { id }, context) => loadRun(context, id),
  }),
)

builder.objectFields('Conversation', (t) => ({
  runs: t.field({
    type: RunConnection,
    description: `Runs of agents that the viewer sees, newest first. Defaults to the first ${DEFAULT_PAGE_SIZE}.`,
    sharing: 'PER_VIEWER',
    args: pagingArgs(t, 'runs'),
    resolve: ({ id }, args, context) => loadPageOfRuns(context, id, args),
  }),
  tokenUsage: t.field({
    type: TokenUsage,
    description: 'Sums of the tokens of the runs that the viewer sees.',
    sharing: 'PER_VIEWER',
    resolve: ({ id }, _, context) => loadTokenSums(context, id),
  }),
}))

builder.objectField('Participant', 'tokenUsage', (t) =>
  t.field({
    type: TokenUsage,
    description:
      'Sums over the runs of the participant as an agent in the conversation, as far as the viewer sees them.',
    sharing: 'PER_VIEWER',
    async resolve({ conversationId, actor }, _, context) {
      const { byActor } = await loadTokenSums(context, conversationId)
      return byActor.get(actor) ?? { prompt: 0, completion: 0 }
    },
  }),
)
