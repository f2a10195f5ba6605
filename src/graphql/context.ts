// Contexts (the messages to send to a model): the types, and the query that builds a context.

import { buildContext, MAX_RECENT_TURNS } from '../domain/context/build.ts'
import type {
  Context as Built,
  ContextItem as Item,
  ContextMessage as Message,
  ItemKind,
} from '../domain/context/message.ts'
import { render } from '../domain/context/render.ts'
import { BudgetTooSmall, InvalidInput, NotAllowed, NotFound } from '../errors.ts'
import { yieldToEventLoop } from '../yield.ts'
import { builder } from './builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { ContentPart } from './content.ts'
import { RecallScopeEnum } from './recall.ts'
import { orErrors } from './result.ts'
import { RoleEnum } from './turn.ts'

/** Maximum `tokenBudget` of a context that is built without waiting for other contexts of the tenant. */
const UNGATED_TOKENS = 100_000

/** Maximum number of messages that are rendered without first yielding to the event loop. */
const RENDERED_AT_ONCE = 500

const ContextStrategyEnum = builder.enumType('ContextStrategy', {
  description:
    'What a context is made of. Each has the newest turn, instructions and pinned turns that fit, and profiles and facts '
    + 'if requested.',
  values: {
    SIMPLE: { description: 'The newest turns that fit, whatever their number, all in their own words.' },
    SUMMARIZATION: { description: 'What the oldest turns come to, then the recent turns in their own words.' },
    HYBRID: {
      description: 'All there is: what the oldest turns come to, the recent turns, and whatever else is asked for.',
    },
  } as const,
})

const MessageFormatEnum = builder.enumType('MessageFormat', {
  description: 'Whose shape messages are given in.',
  values: {
    OPENAI: { description: "The messages of OpenAI's chat completions, and of all servers that speak like it." },
    ANTHROPIC: {
      description:
        "`{system, messages}` of Anthropic's messages: roles alternate, and of several people in a row each is named.",
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
  PROFILE: { description: 'What is known of the people in the conversation, in one message of quotes.' },
  FACT: { description: 'Facts of the conversation and about its people, in one message of quoted lines.' },
  SUMMARY: { description: 'A summary of the oldest turns, quoted in a message of its own.' },
  PINNED: { description: 'Instructions and pinned turns, included whatever their age if they fit.' },
  RECENT: { description: 'Turns in their own words, the newest among them.' },
  RECALLED: { description: 'Turns that bear on the query, quoted in one message.' },
} as const satisfies Record<ItemKind, object>

const ContextItemKindEnum = builder.enumType('ContextItemKind', {
  description: 'The sections of a context, which stand in a fixed order.',
  values: KINDS,
})

const ContextMessage = builder
  .objectRef<Message>('ContextMessage')
  .implement({
    description: 'One message to a model, before it takes the shape of a provider.',
    fields: (t) => ({
      role: t.field({
        type: RoleEnum,
        description: 'In whose part it is: ASSISTANT is the model, or the participant that the context is built `as`.',
        resolve: ({ role }) => role,
      }),
      name: t.exposeString('name', {
        nullable: true,
        description:
          'Who speaks, by display name or else by actor; `profile`, `facts` and `recall` for what is known or was '
          + 'recalled. Null for instructions, and for the words of the one it is built `as`.',
      }),
      content: t.exposeString('content', {
        description: 'Its text parts joined. Calls and results of tools are not in it.',
      }),
      parts: t.field({
        type: [ContentPart],
        description: 'All that it says, in order. What others did with tools is told in words here.',
        resolve: ({ parts }) => parts,
      }),
      tokenCount: t.exposeInt('tokenCount', {
        description:
          'Token count of the message in the rendering that needs the most tokens for it, formatting included.',
      }),
      sourceIds: t.field({
        type: ['ID'],
        description:
          'Ids of the turns, facts or summary from which the message was made; user ids for profiles. Empty for the '
          + "conversation's system prompt.",
        resolve: ({ sourceIds }) => sourceIds,
      }),
    }),
  })

const ContextItem = builder
  .objectRef<Item>('ContextItem')
  .implement({
    description: 'A line of the manifest: a message that is in the context, or a group of things that is not.',
    fields: (t) => ({
      kind: t.field({
        type: ContextItemKindEnum,
        description: 'The section that it is of.',
        resolve: ({ kind }) => kind,
      }),
      sourceIds: t.field({
        type: ['ID'],
        description:
          'Ids of the turns, facts or summaries of this item; user ids for profiles. Of the turns and facts that were left '
          + 'out, only those that were read; `reason` says whether earlier ones exist.',
        resolve: ({ sourceIds }) => sourceIds,
      }),
      tokenCount: t.exposeInt('tokenCount', { description: 'Token count of the item, included or not.' }),
      included: t.exposeBoolean('included', { description: 'Whether they are in the context.' }),
      reason: t.exposeString('reason', { description: 'Why they are, or are not; for people.' }),
    }),
  })

const Context = builder.objectRef<Built>('Context').implement({
  description: 'What a model is given of a conversation: as much as fits, and an account of it.',
  fields: (t) => ({
    messages: t.field({
      type: [ContextMessage],
      description:
        "In the order of the sections: the conversation's system prompt, profiles, facts, summaries, instructions, pinned "
        + 'and recent turns, what was recalled, the newest turn.',
      resolve: ({ messages }) => messages,
    }),
    rendered: t.field({
      type: 'JSON',
      description:
        "The messages, ready for a provider's API. Tool results stand right after their calls, and a call that "
        + 'nobody answered is answered so. Summaries stand before profiles and facts, so that what is the '
        + "system's stands first.",
      args: {
        format: t.arg({
          type: MessageFormatEnum,
          defaultValue: 'OPENAI',
          description: 'The provider or library that will take them.',
        }),
      },
      resolve({ messages }, { format }) {
        const rendered = () => render(messages, format ?? 'OPENAI')
        return messages.length > RENDERED_AT_ONCE ? yieldToEventLoop().then(rendered) : rendered()
      },
    }),
    tokenCount: t.exposeInt('tokenCount', {
      description:
        'Token count of the messages in the rendering that needs the most tokens: the JSON that is sent, and 4 tokens for '
        + 'each message. Never above `tokenBudget`.',
    }),
    tokenBudget: t.exposeInt('tokenBudget', { description: 'What was asked for.' }),
    truncated: t.exposeBoolean('truncated', {
      description: 'Whether anything was left out that is in view and was asked for. `items` says what, and why.',
    }),
    items: t.field({
      type: [ContextItem],
      description: 'The manifest: one for each message, in their order, then one for each group that was left out.',
      resolve: ({ items }) => items,
    }),
    stablePrefixTokens: t.exposeInt('stablePrefixTokens', {
      description:
        "Tokens of the messages that the next call is expected to begin with, unchanged: what a provider's cache "
        + 'holds.',
    }),
  }),
})

const SemanticRecallInput = builder.inputType('SemanticRecallInput', {
  description: 'What to recall for a context, beside the turns that are in it anyway.',
  fields: (t) => ({
    k: t.int({ defaultValue: 5, description: 'Turns to quote at most: 1 to 100.' }),
    threshold: t.float({
      description: 'Minimum `RecallHit.relevance` of a quoted turn, 0 to 1. Defaults to 0, which excludes nothing.',
    }),
    scope: t.field({
      type: RecallScopeEnum,
      defaultValue: 'CONVERSATION',
      description: 'Which conversations to recall from.',
    }),
  }),
})

const BuildContextInput = builder.inputType('BuildContextInput', {
  description:
    'Of which conversation to build a context, for whom, and how large. What is left out here is not in the context.',
  fields: (t) => ({
    ...conversationRef(t, 'to build a context of'),
    tokenBudget: t.int({
      required: true,
      description: 'Tokens that the messages may take in any rendering: 1 to 2,000,000.',
    }),
    recentTurns: t.int({
      description:
        'How many of the newest turns to keep in their own words, if they fit. So that the beginning of the context '
        + 'stays the same from call to call, up to twice as many may stand; never more with SIMPLE. '
        + `Defaults to ${MAX_RECENT_TURNS}, which is also the maximum.`,
    }),
    semanticRecall: t.field({
      type: SemanticRecallInput,
      description: 'Quotes turns that bear on the query; without it nothing is recalled.',
    }),
    includeFacts: t.boolean({
      defaultValue: false,
      description:
        'Tells the facts that hold, of the conversation and about the people in it: of the 500 last observed, as many as fit '
        + 'a tenth of the budget. They come as quoted data, and what an agent or a tool said as a claim.',
    }),
    includeProfile: t.boolean({
      defaultValue: false,
      description:
        'Tells what is known of the people in the conversation, `as` aside: at most 10 profiles, of the owner first, in a '
        + 'tenth of the budget. One is told only to who sees all facts that it was made of.',
    }),
    filterParticipants: t.stringList({
      description:
        'Only turns by these actors, what tools answered them, and instructions. Summaries, which are of everybody, '
        + 'are left out then; facts and profiles that are asked for are not.',
    }),
    as: t.string({
      description:
        "The participant whose view it is: its own turns become ASSISTANT, everyone else's USER with a name. Without "
        + "it, the view is the viewer's, and each turn has its own role.",
    }),
    sinceSeq: t.int({
      description:
        'Only turns whose newest version was written, committed or aborted after this journal entry, such as the '
        + '`lastReadSeq` of a participant: new turns, and turns edited since, which keep their position. Instructions and '
        + 'pinned turns are included anyway; summaries are not.',
    }),
    query: t.string({
      description: 'What to recall for: 1 to 10,000 characters. The words of the newest USER message when left out.',
    }),
    strategy: t.field({
      type: ContextStrategyEnum,
      defaultValue: 'HYBRID',
      description: 'Which sections the context may have.',
    }),
    maxMessages: t.int({ description: 'Messages at most, beside the budget.' }),
    maxChars: t.int({ description: 'Characters that the messages may say at most, beside the budget.' }),
  }),
})

builder.queryField('buildContext', (t) =>
  t.field({
    type: Context,
    description:
      'The messages to give a model, never above the budget. Nothing is stored by it: of the same conversation, the same '
      + 'input makes the same context.',
    errors: orErrors('BuildContext', [InvalidInput, NotFound, NotAllowed, BudgetTooSmall], 'The context, or an error.'),
    args: {
      input: t.arg({
        type: BuildContextInput,
        required: true,
        description: 'Of which conversation, for whom, how large.',
      }),
    },
    async resolve(_, { input }, context) {
      const { reading, viewer, work } = context
      const given = await atConversation(context, input, input.as)
      const build = () => work.read(() => buildContext(reading, viewer, given))
      return input.tokenBudget > UNGATED_TOKENS ? reading.gates.contexts.run(viewer.tenant, build) : build()
    },
  }),
)
