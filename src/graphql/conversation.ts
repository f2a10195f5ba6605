// Conversations: the type, and the queries that find and list them.

import { getConversationByKey, type Conversation } from '../domain/conversation.ts'
import { conversationCursor, getConversationPage, type ConversationsArgs } from '../domain/conversation-page.ts'
import type { Page } from '../domain/page.ts'
import { InvalidInput } from '../errors.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { ConversationVisibilityEnum } from './conversation-visibility.ts'
import { loadConversation, loadTurnCount } from './loaders.ts'
import { Node } from './node.ts'
import { viewerOf } from './inherited-view.ts'
import type { RequestContext } from './request.ts'
import { PER_VIEWER } from './sharing.ts'

/** Counts the turns in the viewer's view of a conversation that was loaded without counts. */
const countTurnsOf = (conversation: Conversation, context: RequestContext) =>
  loadTurnCount(context, viewerOf(context, conversation), conversation.id)

builder.objectType('Conversation', {
  description: 'A conversation: people, agents and tools, and all that was said between them, in one order.',
  interfaces: [Node],
  fields: (t) => ({
    key: t.exposeString('key', {
      nullable: true,
      description:
        'Key given by createConversation, unique among the OPEN conversations of the tenant; a MEMBERS conversation may have '
        + 'the same key. Null without one.',
    }),
    tenant: t.exposeString('tenant', {
      description: 'The space the conversation lies in. Viewers of other tenants never see it.',
    }),
    owner: t.exposeString('owner', {
      description: 'The user or agent that the conversation belongs to: its maker, unless another was named.',
    }),
    agentName: t.exposeString('agentName', {
      nullable: true,
      description: 'Which agent handles the conversation; null where nobody said so.',
    }),
    title: t.exposeString('title', {
      nullable: true,
      description: 'What lists show, and search looks through; null for an untitled conversation.',
    }),
    systemPrompt: t.exposeString('systemPrompt', {
      nullable: true,
      description: 'Instructions that open every context built from the conversation; null for none.',
    }),
    metadata: t.expose('metadata', {
      type: 'JSON',
      description: "The caller's own data, an object; empty when none was given. Lists can be filtered by it.",
    }),
    turnCount: t.int({
      description: 'Committed turns that the viewer sees; of a turn with several versions, only the newest counts.',
      extensions: PER_VIEWER,
      resolve: (conversation, _, context) =>
        conversation.counts?.turnCount ?? countTurnsOf(conversation, context).then(({ turnCount }) => turnCount),
    }),
    tokenCount: t.field({
      type: 'BigInt',
      description: 'Tokens of the turns in `turnCount`, as the server counts them.',
      extensions: PER_VIEWER,
      resolve: (conversation, _, context) =>
        conversation.counts?.tokenCount ?? countTurnsOf(conversation, context).then(({ tokenCount }) => tokenCount),
    }),
    lastSeq: t.exposeInt('lastSeq', {
      description:
        'Number of the newest journal entry, seen or not: it tells that something happened, never what. 0 for none.',
    }),
    factExtraction: t.exposeBoolean('factExtraction', {
      description:
        'Whether facts are extracted from the turns automatically. `extractFacts` and `recordFacts` work in any case.',
    }),
    version: t.exposeInt('version', {
      description:
        'Number of updates by updateConversation, plus 1. Pass it as `expectedVersion` to refuse to overwrite another '
        + 'update. Turns and participants do not change it.',
    }),
    visibility: t.expose('visibility', {
      type: ConversationVisibilityEnum,
      description: 'Who sees that the conversation exists.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the conversation was made.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When the newest journal entry was written, whatever it was.',
    }),
  }),
})

builder.queryField('conversation', (t) =>
  t.field({
    type: 'Conversation',
    nullable: true,
    description: "One conversation, by its id or by its key; null where the viewer's tenant has no such conversation.",
    args: {
      id: t.arg.id({ description: "The conversation's id. Give this or `key`, not both." }),
      key: t.arg.string({ description: "The caller's own name for the conversation. Give this or `id`, not both." }),
    },
    resolve(_, { id, key }, context) {
      if (id != null && key == null) return loadConversation(context, context.viewer, id)
      if (id == null && key != null) {
        return context.work.read(() => getConversationByKey(context.reading, context.viewer, key))
      }
      throw InvalidInput.at('', 'give id or key, exactly one of them')
    },
  }),
)

type ConversationPage = Page<Conversation> & { order: NonNullable<ConversationsArgs['orderBy']> }

const { Connection: ConversationConnection, Edge } = connectionOf<Conversation, ConversationPage>(
  'Conversation',
  'conversations',
  (conversation, { order }) => conversationCursor(conversation, order),
)
export const ConversationEdge = Edge

const ConversationOrderEnum = builder.enumType('ConversationOrder', {
  description: 'What a list of conversations is ordered by; newest first either way.',
  values: {
    CREATED_AT: {
      description:
        'When the conversation was made. Pages neither repeat nor miss a conversation, whatever is written meanwhile.',
    },
    UPDATED_AT: {
      description:
        'When its newest journal entry was written. A conversation that gets one moves to the front meanwhile.',
    },
  } as const,
})

const ConversationFilter = builder.inputType('ConversationFilter', {
  description: 'Which conversations a list holds: those that meet all that is given.',
  fields: (t) => ({
    owner: t.string({ description: 'Conversations that belong to this user or agent.' }),
    agentName: t.string({ description: 'Conversations that this agent handles.' }),
    participant: t.string({
      description: 'Conversations that this actor is in at present; having left does not count.',
    }),
    metadata: t.field({
      type: 'JSON',
      description:
        'An object: conversations whose metadata contains it, that is, has all its keys with these values, at any depth.',
    }),
    updatedAfter: t.field({
      type: 'DateTime',
      description: 'Conversations whose newest journal entry was written at this time or later.',
    }),
    updatedBefore: t.field({
      type: 'DateTime',
      description: 'Conversations whose newest journal entry is older than this.',
    }),
    search: t.string({ description: 'Conversations whose title contains this text, in either case.' }),
  }),
})

builder.queryField('conversations', (t) =>
  t.field({
    type: ConversationConnection,
    description:
      "The conversations of the viewer's tenant, newest first; 50 a page unless `first` or `last` says otherwise.",
    args: {
      filter: t.arg({
        type: ConversationFilter,
        description: 'Leaves out the conversations that do not meet it; all conversations without it.',
      }),
      first: t.arg.int({
        description: "Conversations from the front of the list, at most; up to the server's page size, 200 by default.",
      }),
      after: t.arg.string({ description: 'A cursor of this list: only what follows it.' }),
      last: t.arg.int({ description: 'Conversations from the end of the list, at most. Not together with `first`.' }),
      before: t.arg.string({ description: 'A cursor of this list: only what lies before it.' }),
      orderBy: t.arg({
        type: ConversationOrderEnum,
        defaultValue: 'CREATED_AT',
        description: 'What decides the order. Cursors only fit the order they come from.',
      }),
    },
    async resolve(_, args, { reading, viewer, work }): Promise<ConversationPage> {
      const page = await work.read(() => getConversationPage(reading, viewer, args))
      return { ...page, order: args.orderBy ?? 'CREATED_AT' }
    },
  }),
)
