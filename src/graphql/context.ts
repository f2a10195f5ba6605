// Contexts (the messages to send to a model): the types, and the query that builds a context.

import { DEFAULT_SHARES, TOKENS_PER_MESSAGE } from '../domain/context/budget.ts'
import { buildContext, coveringJournal } from '../domain/context/build.ts'
import type {
  Context as Built,
  ContextItem as Item,
  ContextMessage as Message,
  ItemKind,
} from '../domain/context/message.ts'
import { MAX_HITS, MAX_RECENT_TURNS, MAX_TOKENS } from '../domain/context/options.ts'
import { MAX_FACTS, MAX_PROFILES } from '../domain/context/profiles-and-facts.ts'
import { render } from '../domain/context/render.ts'
import { MAX_QUERY } from '../domain/recall/recall.ts'
import { BudgetTooSmall, InvalidInput, NotAllowed, NotFound } from '../errors.ts'
import { yieldToEventLoop } from '../yield.ts'
import { asField } from './as.ts'
import { builder } from './builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { ContentPart } from './content.ts'
import { RecallScopeEnum } from './recall.ts'
import { readOnReplica } from './request.ts'
import { orErrors } from './result.ts'
import { RoleEnum } from './turn.ts'

/** Maximum `tokenBudget` of a context that is built without waiting for other contexts of the tenant. */
const UNGATED_TOKENS = 100_000
/** Maximum number of messages that are rendered without first yielding to the event loop. */
const RENDERED_AT_ONCE = 500

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

const MessageFormatEnum = builder.enumType('MessageFormat', {
  description: 'The provider or library whose message format is used.',
  values: {
    OPENAI: { description: "The `messages` of OpenAI's chat completions API, and of servers compatible with it." },
    ANTHROPIC: {
      description:
        "`{system, messages}` of Anthropic's Messages API. Roles alternate; a message that joins the turns of several "
        + 'participants names each of them.',
    },
    AI_SDK: {
      description:
        "`{system, messages}` of Vercel's AI SDK: the system prompt and instructions as one string, absent if there are "
        + 'none, and `ModelMessage`s.',
    },
    UI_MESSAGES: {
      description:
        "The `UIMessage`s of Vercel's AI SDK, for `useChat`: one for each turn, with its id. A tool result is in the part "
        + 'of its call; a call without a result is `input-available`. The text does not contain the name of the speaker: '
        + '`metadata` has `name`, and `kind`, the section of the context. Token counts exclude `id` and `metadata`.',
    },
  } as const,
})

const KINDS = {
  SYSTEM_PROMPT: { description: "The conversation's system prompt." },
  PROFILE: { description: 'Profiles of the people in the conversation, quoted in one message.' },
  FACT: { description: 'Facts from the conversation and about its people, quoted in one message.' },
  SUMMARY: { description: 'A summary of old turns, quoted in its own message.' },
  PINNED: { description: 'Instructions and pinned turns, included regardless of age if they fit.' },
  RECENT: { description: 'Recent turns verbatim, including the newest turn.' },
  RECALLED: { description: 'Turns relevant to the query, quoted in one message.' },
} as const satisfies Record<ItemKind, object>

const ContextItemKindEnum = builder.enumType('ContextItemKind', {
  description: 'Sections of a context. Their order is fixed; see `Context.messages`.',
  values: KINDS,
})

const ContextMessage = builder
  .objectRef<Message>('ContextMessage')
  .implement({
    description: "A message to a model, independent of any provider's format.",
    fields: (t) => ({
      role: t.field({
        type: RoleEnum,
        description: 'The message role sent to the model: ASSISTANT for the participant given as `as`.',
        resolve: ({ role }) => role,
      }),
      name: t.exposeString('name', {
        nullable: true,
        description:
          'Name of the author: the display name or otherwise the actor, made distinct if two are equal. '
          + '`profile`, `facts`, `summary` or `recall` for quoted sections. Null for SYSTEM messages, and '
          + 'for messages of the participant given as `as`.',
      }),
      content: t.exposeString('content', {
        description: 'The text parts, joined. Excludes tool calls and tool results.',
      }),
      parts: t.field({
        type: [ContentPart],
        description: 'All parts, in order. With `as`, tool calls by others, and their results, are text.',
        resolve: ({ parts }) => parts,
      }),
      tokenCount: t.exposeInt('tokenCount', {
        description: 'Token count of the message in the format that needs the most tokens for it, formatting included.',
      }),
      sourceIds: t.field({
        type: ['ID'],
        description:
          'Ids of the turns, facts or summary from which the message was made; user ids for profiles. '
          + "Empty for the conversation's system prompt.",
        resolve: ({ sourceIds }) => sourceIds,
      }),
    }),
  })

const ContextItem = builder
  .objectRef<Item>('ContextItem')
  .implement({
    description: 'An item of the manifest: a message of the context, or a group of omitted sources.',
    fields: (t) => ({
      kind: t.field({
        type: ContextItemKindEnum,
        description: 'Section to which the item belongs.',
        resolve: ({ kind }) => kind,
      }),
      sourceIds: t.field({
        type: ['ID'],
        description:
          'Ids of the turns, facts or summaries of this item; user ids for profiles. Omitted sources that '
          + 'were not read have no id here; `reason` mentions them.',
        resolve: ({ sourceIds }) => sourceIds,
      }),
      tokenCount: t.exposeInt('tokenCount', { description: 'Token count of the item, included or left out.' }),
      included: t.exposeBoolean('included', { description: 'Whether the item is in the context.' }),
      reason: t.exposeString('reason', { description: 'Reason why it is included or left out, for people.' }),
    }),
  })

const Context = builder.objectRef<Built>('Context').implement({
  description: 'Messages for a model within a token budget, and a manifest of included and omitted items.',
  fields: (t) => ({
    messages: t.field({
      type: [ContextMessage],
      description:
        "The messages, in the order of the sections: the conversation's system prompt, profiles, facts, "
        + 'summaries, instructions and pinned turns, recent turns, recalled turns, the newest turn.',
      resolve: ({ messages }) => messages,
    }),
    rendered: t.field({
      type: 'JSON',
      description:
        'The messages in the format of a provider or library. Each tool result follows its call. A call without a '
        + 'result gets a result that says so, except in UI_MESSAGES.',
      args: {
        format: t.arg({
          type: MessageFormatEnum,
          defaultValue: 'OPENAI',
          description: 'Format of the provider or library that receives the messages. Defaults to OPENAI.',
        }),
      },
      resolve({ messages }, { format }) {
        const rendered = () => render(messages, format ?? 'OPENAI')
        return messages.length > RENDERED_AT_ONCE ? yieldToEventLoop().then(rendered) : rendered()
      },
    }),
    tokenCount: t.exposeInt('tokenCount', {
      description:
        'Token count of the messages in the format that needs the most tokens: the tokens of the JSON that '
        + `is sent, and ${TOKENS_PER_MESSAGE} tokens for each message. Never above \`tokenBudget\`.`,
    }),
    tokenBudget: t.exposeInt('tokenBudget', { description: 'The budget given in the input, in tokens.' }),
    truncated: t.exposeBoolean('truncated', {
      description:
        'Whether any requested source in view is neither included nor covered by an included summary. '
        + '`items` has the sources and the reasons.',
    }),
    items: t.field({
      type: [ContextItem],
      description: 'The manifest: one item for each message, in order, then one for each group of omitted sources.',
      resolve: ({ items }) => items,
    }),
    stablePrefixTokens: t.exposeInt('stablePrefixTokens', {
      description:
        'Token count of the messages before the recalled turns, or of all messages without recalled turns. '
        + 'The next context usually begins with the same bytes, so a provider can cache them.',
    }),
  }),
})

export const SemanticRecallInput = builder.inputType('SemanticRecallInput', {
  description: 'Options for recalling turns that are not in the context already.',
  fields: (t) => ({
    k: t.int({ defaultValue: 5, description: `Maximum number of turns to quote, 1 to ${MAX_HITS}. Defaults to 5.` }),
    threshold: t.float({
      description: 'Minimum `RecallHit.relevance` of a quoted turn, 0 to 1. Defaults to 0, which excludes nothing.',
    }),
    scope: t.field({
      type: RecallScopeEnum,
      defaultValue: 'CONVERSATION',
      description: 'Conversations to search. Defaults to CONVERSATION.',
    }),
  }),
})

const BuildContextInput = builder.inputType('BuildContextInput', {
  description:
    'Input of buildContext: the conversation, the limits, and the optional sections. Sections that are not '
    + 'requested here are not in the context.',
  fields: (t) => ({
    ...conversationRef(t, 'to build a context of'),
    tokenBudget: t.int({
      required: true,
      description: `Maximum token count of the messages in any format: 1 to ${MAX_TOKENS.toLocaleString('en-US')}.`,
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
    includeFacts: t.boolean({
      defaultValue: false,
      description:
        'Whether to include active facts from the conversation and about the people in it: of the '
        + `${MAX_FACTS} most recently observed, those that fit in ${DEFAULT_SHARES.facts * 100} % of the `
        + 'budget and in the space that profiles leave. Facts are quoted as data; statements by agents, '
        + 'tools, or other people about a person are quoted as claims. Defaults to false.',
    }),
    includeProfile: t.boolean({
      defaultValue: false,
      description:
        'Whether to include profiles of the people in the conversation except `as`: at most '
        + `${MAX_PROFILES}, the owner's first, in ${DEFAULT_SHARES.profile * 100} % of the budget. Excludes `
        + 'profiles that contain a fact outside the view. Defaults to false.',
    }),
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
    sinceSeq: t.int({
      description:
        'Includes only turns whose newest version was written, committed or aborted after this journal '
        + 'entry: new turns, and edited turns at their position. Includes all instructions and pinned turns '
        + 'that fit; excludes summaries. Null for all turns.',
    }),
    query: t.string({
      description:
        `Query for \`semanticRecall\`, which it requires; 1 to ${MAX_QUERY.toLocaleString('en-US')} `
        + 'characters. Defaults to the text of the newest USER message.',
    }),
    strategy: t.field({
      type: ContextStrategyEnum,
      defaultValue: 'HYBRID',
      description: 'Sections of the context, and whether summaries replace the oldest turns. Defaults to HYBRID.',
    }),
    maxMessages: t.int({ description: 'Maximum number of messages. Null for no limit.' }),
    maxChars: t.int({ description: 'Maximum length of all text, in UTF-16 units. Null for no limit.' }),
  }),
})

builder.queryField('buildContext', (t) =>
  t.field({
    type: Context,
    description:
      'Builds the messages to send to a model, within a token budget. The same input and an unchanged '
      + 'conversation give the same context. Marks the included facts as recalled, and stores nothing else.',
    errors: orErrors('BuildContext', [InvalidInput, NotFound, NotAllowed, BudgetTooSmall], 'The context, or an error.'),
    args: {
      input: t.arg({
        type: BuildContextInput,
        required: true,
        description: 'The conversation, the limits, and the optional sections.',
      }),
    },
    async resolve(_, { input }, context) {
      const { reading, viewer } = context
      const given = await atConversation(context, input)
      const build = () => readOnReplica(context, coveringJournal(given), (deps) => buildContext(deps, viewer, given))
      return input.tokenBudget > UNGATED_TOKENS ? reading.gates.contexts.run(viewer.tenant, build) : build()
    },
  }),
)
