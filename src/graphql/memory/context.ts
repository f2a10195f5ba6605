// The query that builds a context (the messages to send to a model), and its input.

import { BUILT_IN_DEFAULTS, HITS, MAX_HITS, MAX_TOKENS } from '../../domain/kernel/call-defaults.ts'
import { DEFAULT_SHARES, STATE_SHARE } from '../../domain/memory/context/budget/budget.ts'
import { buildContext, onlyConversation } from '../../domain/memory/context/build.ts'
import { MAX_RECENT_TURNS } from '../../domain/memory/context/options.ts'
import { MAX_STORED } from '../../domain/memory/context/store.ts'
import { MAX_FACTS, MAX_PROFILES } from '../../domain/memory/context/material/profiles-and-facts.ts'
import { MAX_QUERY } from '../../domain/memory/recall/recall.ts'
import { BudgetTooSmall, InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { asOfField, enterPast } from './as-of.ts'
import { builder, type InputFieldBuilder } from '../kernel/builder.ts'
import { atConversation, conversationRef } from '../conversation/conversation-ref.ts'
import { Context } from './context-object.ts'
import { RecallScopeEnum } from './recall.ts'
import { readOnReplica } from '../kernel/request.ts'
import { orErrors } from '../kernel/errors.ts'

/** Maximum `tokenBudget` of a context that is built without waiting for other contexts of the tenant. */
const UNGATED_TOKENS = 100_000

const RECENT_TURNS = MAX_RECENT_TURNS.toLocaleString('en-US')

export const ContextStrategyEnum = builder.enumType('ContextStrategy', {
  description:
    'Sections of a context. Every context has the newest turn, the instructions that fit, and profiles, facts and '
    + 'recalled turns if requested.',
  values: {
    SIMPLE: { description: 'The newest turns that fit, verbatim, and pinned turns of any age. No summaries.' },
    SUMMARIZATION: {
      description:
        'Summaries of the oldest turns if not all turns fit, then the recent turns verbatim. '
        + 'A pinned turn is treated like any other turn.',
    },
    HYBRID: { description: 'Like SUMMARIZATION, but pinned turns of any age stay verbatim.' },
  } as const,
})

export const SemanticRecallInput = builder.inputType('SemanticRecallInput', {
  description: 'Options for recalling turns that are not in the context already.',
  fields: (t) => ({
    k: t.int({
      extensions: { usualSize: HITS.context },
      description:
        `Maximum number of hits to quote, 1 to ${MAX_HITS}; turns next to them may be quoted, too. Defaults to \`CallDefaults.recallHits\` of the tenant, which `
        + `defaults to ${HITS.context} here.`,
    }),
    threshold: t.float({
      description:
        'Minimum `RecallHit.relevance` of a quoted turn, 0 to 1. Defaults to `CallDefaults.recallThreshold` of the tenant, '
        + 'which defaults to 0 and then excludes nothing.',
    }),
    scope: t.field({
      type: RecallScopeEnum,
      defaultValue: 'CONVERSATION',
      description: 'Conversations to search. Defaults to CONVERSATION.',
    }),
  }),
})

/** The fields that select sections other than turns. */
const memoryFields = (t: InputFieldBuilder) => ({
  includeFacts: t.boolean({
    defaultValue: false,
    description:
      'Whether to include active facts from the conversation and about the people in it: the most recently observed '
      + `ones in ${DEFAULT_SHARES.facts * 100} % of the budget; after the recent turns, those most relevant to the query `
      + `and, of the ${MAX_FACTS} most recently observed, others that fit. Facts are quoted as data; statements by agents, `
      + 'tools, or other people about a person are quoted as claims. Defaults to false.',
  }),
  includeProfile: t.boolean({
    defaultValue: false,
    description:
      'Whether to include profiles of the people in the conversation except `as`: at most '
      + `${MAX_PROFILES}, the owner's first, in ${DEFAULT_SHARES.profile * 100} % of the budget or more if space is left. Excludes `
      + 'profiles that contain a fact outside the view. Defaults to false.',
  }),
  includeSharedState: t.boolean({
    defaultValue: true,
    description:
      'Whether to include the shared state in the view, oldest key first, quoted as one JSON object after the recent '
      + `turns: at most ${STATE_SHARE * 100} % of the budget. Defaults to true. Without effect with \`asOf\`.`,
  }),
})

const BuildContextInput = builder.inputType('BuildContextInput', {
  description:
    'Input of buildContext: the conversation, the limits, and the optional sections. Sections that are not '
    + 'requested here are not in the context.',
  fields: (t) => ({
    ...conversationRef(t, 'to build a context of'),
    tokenBudget: t.int({
      description:
        `Maximum token count of the messages in any format: 1 to ${MAX_TOKENS.toLocaleString('en-US')}. Defaults to `
        + '`CallDefaults.tokenBudget` of the tenant, which defaults to '
        + `${BUILT_IN_DEFAULTS.tokenBudget.toLocaleString('en-US')}.`,
    }),
    recentTurns: t.int({
      description:
        `Number of newest turns to include verbatim if they fit, 0 to ${RECENT_TURNS}. Except with SIMPLE, `
        + 'up to twice as many are included, so that consecutive contexts begin with the same messages. '
        + `Defaults to ${RECENT_TURNS}.`,
    }),
    semanticRecall: t.field({
      type: SemanticRecallInput,
      description: 'Recalls turns that are relevant to the query, and quotes them. Null to recall nothing.',
    }),
    ...memoryFields(t),
    filterParticipants: t.stringList({
      description:
        'Includes only turns by these actors, the results of their tool calls, and instructions; excludes '
        + 'summaries. Does not affect facts and profiles. Must not be empty. Null for all actors.',
    }),
    ...asField(
      t,
      'Participant for whom to build the context; must be or have been in the conversation. Its own turns become '
        + 'ASSISTANT, turns by others USER with a name. If null, each turn keeps its role.',
    ),
    answering: t.id({
      description:
        'Turn to answer, with which the context ends: a committed turn of the conversation in the view; of an edited turn, '
        + 'any version. If other turns follow it, they are included as usual, and the last message quotes the turn; turns '
        + 'with the tool calls of the answer may follow it. It is always included, whatever the other fields select. '
        + 'Defaults to the newest turn.',
    }),
    sinceSeq: t.int({
      description:
        'Includes only turns whose newest version was written, committed or aborted after this journal '
        + 'entry: new turns, and edited turns at their position. Includes all instructions and pinned turns '
        + 'that fit; excludes summaries. Null for all turns.',
    }),
    query: t.string({
      description:
        `Query for \`semanticRecall\` and \`includeFacts\`, one of which it requires; 1 to ${MAX_QUERY.toLocaleString('en-US')} `
        + 'characters. Defaults to the text of the turn `answering`, or else of the newest USER message.',
    }),
    strategy: t.field({
      type: ContextStrategyEnum,
      description:
        'Sections of the context, and whether summaries replace the oldest turns. Defaults to '
        + `\`CallDefaults.contextStrategy\` of the tenant, which defaults to ${BUILT_IN_DEFAULTS.contextStrategy}.`,
    }),
    store: t.boolean({
      defaultValue: false,
      description:
        'Whether to store the context with the conversation, so that `contextById` returns it again. Must be false with '
        + '`asOf`. Needs the right `write`. '
        + `The newest ${MAX_STORED.toLocaleString('en-US')} of a conversation are kept. Defaults to false.`,
    }),
    ...asOfField(t),
    maxMessages: t.int({ description: 'Maximum number of messages. Null for no limit.' }),
    maxChars: t.int({ description: 'Maximum length of all text, in UTF-16 units. Null for no limit.' }),
  }),
})

builder.queryField('buildContext', (t) =>
  t.field({
    verb: 'buildContext',
    type: Context,
    description:
      'Builds the messages to send to a model, within a token budget. The same input and an unchanged '
      + 'conversation give the same context. Marks the included facts as recalled, and stores nothing else unless `store` is true.',
    errors: orErrors('BuildContext', [InvalidInput, NotFound, NotAllowed, BudgetTooSmall], 'The context, or an error.'),
    args: {
      input: t.arg({
        type: BuildContextInput,
        required: true,
        description: 'The conversation, the limits, and the optional sections.',
      }),
    },
    async resolve(_, { input }, context, info) {
      const given = await atConversation(context, input)
      await enterPast(context, info, input.asOf, given.conversationId)
      const { reading, viewer } = context
      const build = () =>
        given.store && !input.asOf
          ? context.work.read(() => buildContext(context.deps, viewer, given))
          : readOnReplica(context, onlyConversation(given), (deps) => buildContext(deps, viewer, given))
      const tokenBudget = input.tokenBudget ?? (await reading.defaults.of(viewer.tenant)).tokenBudget
      return tokenBudget > UNGATED_TOKENS ? reading.gates.heavy.run(viewer.tenant, build) : build()
    },
  }),
)
