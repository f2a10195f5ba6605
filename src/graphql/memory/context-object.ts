// The types of a context: its messages, their renderings, and the manifest.

import { TOKENS_PER_MESSAGE } from '../../domain/memory/context/budget/budget.ts'
import type {
  Context as Built,
  ContextItem as Item,
  ContextMessage as Message,
  ItemKind,
} from '../../domain/memory/context/message.ts'
import { render } from '../../domain/memory/context/render.ts'
import { yieldToEventLoop } from '../../runtime/yield.ts'
import { builder } from '../kernel/builder.ts'
import { ContentPart } from '../turn/content.ts'
import { RoleEnum } from '../turn/turn.ts'

/** Maximum number of messages that are rendered without first yielding to the event loop. */
const RENDERED_AT_ONCE = 500

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
  FACT: {
    description:
      'Facts from the conversation and about its people, quoted in one message before the turns and one after the recent '
      + 'turns.',
  },
  SUMMARY: { description: 'A summary of old turns, or several that are shortened, quoted in one message.' },
  PINNED: { description: 'Instructions and pinned turns, included regardless of age if they fit.' },
  RECENT: { description: 'Recent turns verbatim, including the newest turn.' },
  SHARED_STATE: { description: 'The present shared state, quoted in one message after the recent turns.' },
  RECALLED: {
    description:
      'Turns relevant to the query, turns next to them, and older turns that do not fit elsewhere, quoted in one message.',
  },
  ANSWERED: { description: 'The turn to answer (`answering`), quoted in the last message if it is an earlier turn.' },
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
        sharing: 'SHAREABLE',
        resolve: ({ role }) => role,
      }),
      name: t.exposeString('name', {
        nullable: true,
        description:
          'Name of the author: the display name or otherwise the actor, made distinct if two are equal. '
          + '`profile`, `facts`, `summary`, `state` or `recall` for quoted sections. Null for SYSTEM messages, for the quoted turn '
          + 'to answer, and for messages of the participant given as `as`.',
      }),
      content: t.exposeString('content', {
        description: 'The text parts, joined. Excludes tool calls and tool results.',
      }),
      parts: t.field({
        type: [ContentPart],
        description: 'All parts, in order. With `as`, tool calls by others, and their results, are text.',
        sharing: 'SHAREABLE',
        resolve: ({ parts }) => parts,
      }),
      tokenCount: t.exposeInt('tokenCount', {
        description: 'Token count of the message in the format that needs the most tokens for it, formatting included.',
      }),
      sourceIds: t.field({
        type: ['ID'],
        description:
          'Ids of the turns, facts, summary or states from which the message was made; user ids for profiles. '
          + "Empty for the conversation's system prompt.",
        sharing: 'SHAREABLE',
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
        sharing: 'SHAREABLE',
        resolve: ({ kind }) => kind,
      }),
      sourceIds: t.field({
        type: ['ID'],
        description:
          'Ids of the turns, facts, summaries or states of this item; user ids for profiles. Omitted sources that '
          + 'were not read have no id here; `reason` mentions them.',
        sharing: 'SHAREABLE',
        resolve: ({ sourceIds }) => sourceIds,
      }),
      tokenCount: t.exposeInt('tokenCount', { description: 'Token count of the item, included or left out.' }),
      included: t.exposeBoolean('included', { description: 'Whether the item is in the context.' }),
      reason: t.exposeString('reason', { description: 'Reason why it is included or left out, for people.' }),
    }),
  })

export const Context = builder.objectRef<Built>('Context').implement({
  description: 'Messages for a model within a token budget, and a manifest of included and omitted items.',
  fields: (t) => ({
    id: t.exposeID('id', {
      nullable: true,
      description: 'Identifies a stored context; see `contextById`. Null for a context that was not stored.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the context was stored. Null for a context that was not stored.',
    }),
    asOfSeq: t.exposeInt('asOfSeq', {
      description:
        'Journal sequence number of the newest entry of the conversation when the server began to build the context.',
    }),
    goneSourceIds: t.field({
      type: ['ID'],
      description:
        'Sources that a stored context has lost: turns, facts and summaries that were erased or deleted, whose content '
        + 'retention removed, or that the viewer no longer sees; the user id for a profile, or the ids of the facts from '
        + 'which it was made. The messages with these sources are left out of `messages` and `rendered`; `items` and the '
        + 'token counts stay as they were. Empty for a complete context.',
      sharing: 'SHAREABLE',
      resolve: ({ goneSourceIds }) => goneSourceIds,
    }),
    messages: t.field({
      type: [ContextMessage],
      description:
        "The messages, in the order of the sections: the conversation's system prompt, profiles, facts, "
        + 'summaries, instructions and pinned turns, recent turns, shared state, relevant facts, recalled turns, the newest turn, and the turn to answer '
        + 'if it is an earlier one.',
      sharing: 'SHAREABLE',
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
      sharing: 'SHAREABLE',
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
        'Whether any requested source in view is neither included nor covered by an included summary, or a summary is '
        + 'shortened. '
        + '`items` has the sources and the reasons.',
    }),
    items: t.field({
      type: [ContextItem],
      description: 'The manifest: one item for each message, in order, then one for each group of omitted sources.',
      sharing: 'SHAREABLE',
      resolve: ({ items }) => items,
    }),
    stablePrefixTokens: t.exposeInt('stablePrefixTokens', {
      description:
        'Token count of the messages before the shared state, relevant facts and recalled turns, or of all messages without '
        + 'these. '
        + 'The next context usually begins with the same bytes, so a provider can cache them.',
    }),
  }),
})
