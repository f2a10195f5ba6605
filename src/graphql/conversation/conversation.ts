// Conversations: the type, and the queries that find and list them.

import type { GraphQLResolveInfo } from 'graphql'
import { getConversationByKey, type Conversation } from '../../domain/conversation/conversation.ts'
import {
  conversationCursor,
  getConversationPage,
  MAX_SEARCH,
  type ConversationsArgs,
} from '../../domain/conversation/conversation-page.ts'
import { DEFAULT_PAGE_SIZE, type Page } from '../../domain/kernel/page.ts'
import type { AsOfInput } from '../../domain/memory/as-of.ts'
import { InvalidInput, NotFound } from '../../errors.ts'
import { asArg } from '../kernel/view/named.ts'
import { asOfArg, enterPast } from '../memory/as-of.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import { loadConversation, loadTurnCount } from '../kernel/loaders.ts'
import { MetadataFilter, METADATA_FILTER_LIMITS } from '../kernel/metadata.ts'
import { Node } from '../kernel/node.ts'
import type { RequestContext } from '../kernel/request.ts'
import { loadConversationWithTurns, loadOnlyTurns } from '../turn/turn-pages.ts'
import { turnsAhead } from '../turn/turns-ahead.ts'

export const ConversationVisibilityEnum = builder.enumType('ConversationVisibility', {
  description: 'Actors that may see a conversation.',
  values: {
    OPEN: {
      description:
        'Every actor of the tenant. An actor that is not a participant joins automatically by appending a turn.',
    },
    MEMBERS: {
      description:
        'Present and former participants only. For any other actor, the conversation looks like an unknown id. Only a '
        + 'present participant may add participants or change the conversation.',
    },
  } as const,
})

/** Counts the turns in the viewer's view of a conversation that was loaded without counts. */
const countTurnsOf = (conversation: Conversation, context: RequestContext) => loadTurnCount(context, conversation.id)

builder.objectType('Conversation', {
  description: 'Shared transcript of several agents, people and tools, with its settings and participants.',
  interfaces: [Node],
  fields: (t) => ({
    key: t.exposeString('key', {
      nullable: true,
      description:
        'Idempotency key passed to createConversation, unique among the OPEN conversations of the tenant. A MEMBERS '
        + 'conversation may have the same key as another conversation. Null if not given.',
    }),
    tenant: t.exposeString('tenant', {
      description: 'Isolation boundary of the conversation. Viewers of other tenants never see it.',
    }),
    owner: t.exposeString('owner', {
      description: 'User or agent that owns the conversation. Defaults to the actor that created it.',
    }),
    agentName: t.exposeString('agentName', {
      nullable: true,
      description: 'Name of the agent that handles the conversation. Null if not given.',
    }),
    title: t.exposeString('title', {
      nullable: true,
      description:
        'Title for lists; `search` of ConversationFilter matches it. If no title is given, the server makes one from '
        + 'the first turns; see `automaticTitle`. Null before that, and for viewers that do not see all these turns.',
    }),
    automaticTitle: t.exposeBoolean('automaticTitle', {
      description:
        'Whether the server makes a title from the first turns while no title is given, if its setting '
        + 'AUTOMATIC_TITLES is on. It makes the title again after an edit of these turns, and never replaces a given '
        + 'title.',
    }),
    systemPrompt: t.exposeString('systemPrompt', {
      nullable: true,
      description: 'Instructions at the start of every context of the conversation. Null if not given.',
    }),
    metadata: t.expose('metadata', {
      type: 'JSON',
      description: 'Application-defined metadata: a JSON object. Empty if not given.',
    }),
    turnCount: t.int({
      description: 'Number of committed turns that the viewer sees. Superseded versions are not counted.',
      sharing: 'PER_VIEWER',
      resolve: (conversation, _, context) =>
        conversation.counts?.turnCount ?? countTurnsOf(conversation, context).then(({ turnCount }) => turnCount),
    }),
    tokenCount: t.field({
      type: 'BigInt',
      description: 'Number of tokens of the turns in `turnCount`, counted by the server.',
      sharing: 'PER_VIEWER',
      resolve: (conversation, _, context) =>
        conversation.counts?.tokenCount ?? countTurnsOf(conversation, context).then(({ tokenCount }) => tokenCount),
    }),
    lastSeq: t.exposeInt('lastSeq', {
      description:
        'Sequence number of the newest journal entry, including entries outside the view. 0 if the journal is empty.',
    }),
    factExtraction: t.exposeBoolean('factExtraction', {
      description:
        'Whether facts are extracted from the turns automatically. `extractFacts` and `recordFacts` do not depend '
        + 'on it.',
    }),
    maxAgentTurns: t.exposeInt('maxAgentTurns', {
      description:
        'Maximum number of consecutive turns by agents, without a turn by a person, that wake up participants; see '
        + '`respond` of Participant.',
    }),
    version: t.exposeInt('version', {
      description:
        'Number of updates by updateConversation, plus 1. Pass it as `expectedVersion`, so that an update never '
        + 'overwrites a concurrent one. Turns and participants do not change it.',
    }),
    visibility: t.expose('visibility', {
      type: ConversationVisibilityEnum,
      description: 'Actors that may see the conversation: every actor of the tenant, or participants only.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the conversation was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'Time of the newest journal entry; before the first entry, equal to `createdAt`.',
    }),
  }),
})

builder.queryField('conversation', (t) =>
  t.field({
    verb: 'getConversations',
    type: 'Conversation',
    nullable: true,
    description:
      'Returns a conversation by `id` or `key`. Null if the viewer sees no such conversation. Fails with InvalidInput '
      + 'unless exactly one argument is given.',
    args: {
      id: t.arg.id({ description: 'Id of the conversation. Exclusive with `key`.' }),
      key: t.arg.string({
        description:
          'Key passed to createConversation. If the viewer sees several conversations with the key, the oldest is '
          + 'returned. Exclusive with `id`.',
      }),
      ...asOfArg(t),
      ...asArg(t),
    },
    resolve(_, { id, key, asOf }, context, info) {
      if (asOf) return conversationAsOf(context, info, { id, key, asOf })
      if (id != null && key == null) {
        const ahead = turnsAhead(context, info)
        if (!ahead) return loadConversation(context, id)
        const { args, template, isAll } = ahead
        return template && isAll
          ? (loadOnlyTurns(context, id, { args, template }) as Promise<Conversation | null>)
          : loadConversationWithTurns(context, id, { args, template })
      }
      if (id == null && key != null) {
        return context.work.read(() => getConversationByKey(context.reading, context.viewer, key))
      }
      throw eitherIdOrKey()
    },
  }),
)

const eitherIdOrKey = () => InvalidInput.at('', 'give either id or key')

type AsOfArgs = { id?: string | null; key?: string | null; asOf: AsOfInput['asOf'] }

/** Returns the conversation as of the moment; null if it did not exist then, or the viewer does not see it today. */
async function conversationAsOf(
  context: RequestContext,
  info: GraphQLResolveInfo,
  { id, key, asOf }: AsOfArgs,
): Promise<Conversation | null> {
  if ((id == null) === (key == null)) throw eitherIdOrKey()
  const { reading, viewer, work } = context
  const found = id ?? (await work.read(() => getConversationByKey(reading, viewer, key!)))?.id
  if (found === undefined) return null
  try {
    await enterPast(context, info, asOf, found)
  } catch (error) {
    if (error instanceof NotFound) return null
    throw error
  }
  return loadConversation(context, found)
}

type ConversationPage = Page<Conversation> & { order: NonNullable<ConversationsArgs['orderBy']> }

const { Connection: ConversationConnection, Edge } = connectionOf<Conversation, ConversationPage>(
  'Conversation',
  'conversations',
  (conversation, { order }) => conversationCursor(conversation, order),
)
export const ConversationEdge = Edge

const ConversationOrderEnum = builder.enumType('ConversationOrder', {
  description: 'Order of a list of conversations, newest first.',
  values: {
    CREATED_AT: { description: 'By `createdAt`. Concurrent writes do not make pages repeat or skip a conversation.' },
    UPDATED_AT: {
      description:
        'By `updatedAt`. A new journal entry moves its conversation to the front, so pages may skip or repeat it.',
    },
  } as const,
})

const ConversationFilter = builder.inputType('ConversationFilter', {
  description: 'Conditions on the conversations of a list. A conversation must meet all conditions that are given.',
  fields: (t) => ({
    owner: t.string({ description: 'Conversations of this user or agent.' }),
    agentName: t.string({ description: 'Conversations handled by this agent.' }),
    participant: t.string({ description: 'Conversations of which this actor is a present participant.' }),
    metadata: t.field({
      type: [MetadataFilter],
      description: `Conversations whose metadata meets these conditions. ${METADATA_FILTER_LIMITS}`,
    }),
    hasUnread: t.boolean({
      description:
        'Whether the viewer has unread turns in the conversation, that is, whether its `viewerUnreadCount` is above 0. '
        + 'Defaults to null, for conversations with and without unread turns.',
    }),
    updatedAfter: t.field({ type: 'DateTime', description: 'Conversations whose `updatedAt` is this time or later.' }),
    updatedBefore: t.field({ type: 'DateTime', description: 'Conversations whose `updatedAt` is before this time.' }),
    search: t.string({
      description: `Conversations whose title contains this text, ignoring case; at most ${MAX_SEARCH} characters.`,
    }),
  }),
})

builder.queryField('conversations', (t) =>
  t.field({
    verb: 'getConversationPage',
    type: ConversationConnection,
    description:
      `Returns the conversations that the viewer sees, newest first: the first ${DEFAULT_PAGE_SIZE} unless `
      + '`first` or `last` is given.',
    args: {
      filter: t.arg({
        type: ConversationFilter,
        description: 'Conditions that a conversation must meet. Defaults to null, for all conversations.',
      }),
      ...pagingArgs(t, 'conversations'),
      orderBy: t.arg({
        type: ConversationOrderEnum,
        defaultValue: 'CREATED_AT',
        description:
          'Order of the list. Defaults to CREATED_AT. A cursor is valid only for the order in which it was returned.',
      }),
      ...asArg(t),
    },
    async resolve(_, args, { reading, viewer, work }): Promise<ConversationPage> {
      const page = await work.read(() => getConversationPage(reading, viewer, args))
      return { ...page, order: args.orderBy ?? 'CREATED_AT' }
    },
  }),
)
