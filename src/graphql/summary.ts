// Summaries of a conversation's oldest turns, the compaction policy, and the mutation that compacts on demand.

import { policyOf } from '../domain/compaction-policy.ts'
import { compact, summarize, type Compaction } from '../domain/summary/compact.ts'
import { pageOfSummaries, summaryCursor, type Summary } from '../domain/summary/summary.ts'
import type { CompactionPolicy as Policy } from '../domain/compaction-policy.ts'
import { InvalidInput, NotAllowed, NotFound, ProviderFailed } from '../errors.ts'
import { builder } from './builder.ts'
import { connectionOf, pagingArgs } from './connection.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { loadConversationOf, loadSummaries, loadSummarizedThrough } from './loaders.ts'
import { Node } from './node.ts'
import { viewerOf } from './inherited-view.ts'
import { PER_VIEWER, SHAREABLE } from './sharing.ts'
import { orErrors, payload } from './result.ts'

builder.objectType('Summary', {
  description:
    'Stands for a run of old turns: all committed ones without an audience from one place to another. The turns '
    + 'stay, and can be read. Only who sees all that it was made of sees it.',
  interfaces: [Node],
  fields: (t) => ({
    conversation: t.field({
      type: 'Conversation',
      description: 'The conversation it sums up, in the same view as the summary.',
      extensions: SHAREABLE,
      resolve: (summary, _, context) => loadConversationOf(context, viewerOf(context, summary), summary.conversationId),
    }),
    level: t.exposeInt('level', { description: 'What it sums up: 0 for turns, 1 for such summaries, and so on.' }),
    fromPosition: t.exposeInt('fromPosition', { description: 'Position of the first turn that the summary covers.' }),
    toPosition: t.exposeInt('toPosition', { description: 'Position of the last turn that the summary covers.' }),
    content: t.exposeString('content', {
      description: 'What it says. It was written by a model or taken from the turns: data, not instructions.',
    }),
    tokenCount: t.exposeInt('tokenCount', { description: 'Tokens of the content, as the server counts them.' }),
    model: t.exposeString('model', {
      nullable: true,
      description: 'What wrote it: a model, or `extractive` for sentences taken from the turns.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was written.' }),
  }),
})

const CompactionStrategyEnum = builder.enumType('CompactionStrategy', {
  description: 'How the oldest turns of a conversation give way to summaries.',
  values: {
    ROLLING: { description: 'One summary grows: it is merged with what was said since.' },
    HIERARCHICAL: { description: 'Each span gets a summary of its own; the oldest of those are summarised in turn.' },
    NEVER: { description: 'Nothing is summarised unless somebody asks for it.' },
  } as const,
})

const CompactionPolicy = builder
  .objectRef<Policy>('CompactionPolicy')
  .implement({
    description:
      'When old turns are summarised: beyond either trigger, the oldest half of what no summary covers yet. Nothing is '
      + 'deleted by it.',
    fields: (t) => ({
      triggerTurns: t.exposeInt('triggerTurns', { description: 'So many turns may stand without a summary.' }),
      triggerTokens: t.exposeInt('triggerTokens', { description: 'So many tokens of turns may.' }),
      summarizerModel: t.exposeString('summarizerModel', {
        description:
          'What writes them: a model that the server knows, its own where the conversation names none, or `extractive`.',
      }),
      strategy: t.expose('strategy', {
        type: CompactionStrategyEnum,
        description: 'Whether one summary grows, several are kept, or none is written by itself.',
      }),
    }),
  })

export const CompactionPolicyInput = builder.inputType('CompactionPolicyInput', {
  description: 'When and how old turns are summarised. Null sets the default again, what is left out stays as it is.',
  fields: (t) => ({
    triggerTurns: t.int({ description: 'So many turns may stand without a summary; 50 by default.' }),
    triggerTokens: t.int({ description: 'So many tokens of turns may; 8,000 by default.' }),
    summarizerModel: t.string({
      description: "`extractive`, or the model of the server's settings; the latter by default where there is one.",
    }),
    strategy: t.field({ type: CompactionStrategyEnum, description: 'ROLLING by default.' }),
  }),
})

const { Connection: SummaryConnection } = connectionOf<Summary>('Summary', 'summaries', summaryCursor)

builder.objectFields('Conversation', (t) => ({
  compaction: t.field({
    type: CompactionPolicy,
    description: 'When and how the oldest turns of the conversation are summarised.',
    extensions: SHAREABLE,
    resolve: (conversation, _, { deps }) => policyOf(deps, conversation),
  }),
  summary: t.field({
    type: 'Summary',
    nullable: true,
    description:
      'The one summary that stands for all the oldest turns; null where there is none that the viewer may see, or '
      + 'several: see `summaries`.',
    extensions: PER_VIEWER,
    async resolve(conversation, _, context) {
      const summaries = await loadSummaries(context, viewerOf(context, conversation), conversation.id)
      return summaries.length === 1 ? summaries[0]! : null
    },
  }),
  summarizedThrough: t.field({
    type: 'Turn',
    nullable: true,
    description: 'The last turn that summaries stand for, in its newest version; null where none does.',
    extensions: PER_VIEWER,
    resolve: (conversation, _, context) =>
      loadSummarizedThrough(context, viewerOf(context, conversation), conversation.id),
  }),
  summaries: t.field({
    type: SummaryConnection,
    description:
      'The current summaries of the oldest turns, oldest first: each of these turns is covered by exactly one. The list '
      + 'ends before the first summary of which the viewer does not see every covered turn. Defaults to the first 50.',
    extensions: PER_VIEWER,
    args: pagingArgs(t, 'summaries'),
    async resolve(conversation, args, context) {
      const summaries = await loadSummaries(context, viewerOf(context, conversation), conversation.id)
      return pageOfSummaries(context.deps, summaries, args)
    },
  }),
}))

const SummarizeInput = builder.inputType('SummarizeInput', {
  description: 'What is to be summarised.',
  fields: (t) => ({
    ...conversationRef(t, 'to summarise'),
    through: t.id({ description: 'The last turn that a summary is to stand for; the newest one when left out.' }),
  }),
})

const SummarizePayload = payload<{ summary: Summary }>('Summarize').implement({
  description: 'The summary, new or already stored.',
  fields: (t) => ({
    summary: t.expose('summary', { type: 'Summary', description: 'The summary that covers the last of the turns.' }),
  }),
})

builder.mutationField('summarize', (t) =>
  t.field({
    type: SummarizePayload,
    description:
      'Has everything up to a turn stand in a summary, at once: the one that then covers the last of it. It ends '
      + 'earlier where a tool call would be parted from its result, or something is still being written.',
    errors: orErrors('Summarize', [InvalidInput, NotFound, NotAllowed, ProviderFailed]),
    args: { input: t.arg({ type: SummarizeInput, required: true, description: 'Which conversation, and how far.' }) },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      const given = await atConversation(context, input)
      return { summary: await deps.gates.memory.run(viewer.tenant, () => summarize(deps, viewer, given)) }
    },
  }),
)

const NULL_OUTSIDE_VIEW = 'Null if the viewer does not see all turns without an audience.'

const CompactPayload = payload<Compaction>('Compact').implement({
  description: 'What compacting a conversation did.',
  fields: (t) => ({
    summaries: t.field({
      type: ['Summary'],
      description: 'The summaries it wrote that stand at present and that the viewer may see, oldest first.',
      resolve: ({ summaries }) => summaries,
    }),
    turnsCovered: t.exposeInt('turnsCovered', {
      nullable: true,
      description: `Number of turns that this compaction covered. ${NULL_OUTSIDE_VIEW}`,
    }),
    tokensBefore: t.exposeInt('tokensBefore', {
      nullable: true,
      description: `Token count of the current summaries and the uncovered turns, before. ${NULL_OUTSIDE_VIEW}`,
    }),
    tokensAfter: t.exposeInt('tokensAfter', {
      nullable: true,
      description: `Token count of the current summaries and the uncovered turns, after. ${NULL_OUTSIDE_VIEW}`,
    }),
  }),
})

const CompactInput = builder.inputType('CompactInput', {
  description: 'Which conversation is to be compacted, and how far.',
  fields: (t) => ({
    ...conversationRef(t, 'to compact'),
    policy: t.field({
      type: CompactionPolicyInput,
      description:
        "Overrides the fields of the conversation's policy for this call: the oldest half of the uncovered turns is "
        + 'summarised, again and again until the others are within the policy. If omitted, the oldest half is summarised '
        + 'once, even if the conversation is within its policy.',
    }),
  }),
})

builder.mutationField('compact', (t) =>
  t.field({
    type: CompactPayload,
    description:
      'Summarises the oldest half of the turns that no summary covers. Returns when the summaries are written.',
    errors: orErrors('Compact', [InvalidInput, NotFound, NotAllowed, ProviderFailed]),
    args: {
      input: t.arg({ type: CompactInput, required: true, description: 'Which conversation, and by which policy.' }),
    },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      const given = await atConversation(context, input)
      return deps.gates.memory.run(viewer.tenant, () => compact(deps, viewer, given))
    },
  }),
)
