// The subscription inbox: changes in a participant's list of conversations.

import { MAX_UNREAD } from '../domain/participant.ts'
import { readInbox } from '../domain/event/inbox.ts'
import { builder } from './builder.ts'
import { readFor, viewerOf } from './inherited-view.ts'
import { loadConversation, loadUnreadCount } from './loaders.ts'
import { viewAs } from './viewer.ts'

const InboxReasonEnum = builder.enumType('InboxReason', {
  description: 'Why a conversation in the list has to be looked at again.',
  values: {
    ADDED: { description: 'The participant has joined the conversation: it belongs into the list.' },
    REMOVED: { description: 'The participant has left the conversation: it does not belong into the list any more.' },
    TURN: { description: 'Something was said that the participant sees.' },
    READ: { description: 'The participant has read on, perhaps on another device.' },
    UPDATED: { description: 'The conversation itself, or a turn that was said before, was changed.' },
    DELETED: { description: 'The conversation is gone.' },
  } as const,
})

builder.objectType('InboxEvent', {
  description:
    "A conversation in somebody's list has changed. Several things of one kind that come together are told once.",
  fields: (t) => ({
    conversationId: t.exposeID('conversationId', { description: 'The conversation that has changed.' }),
    reason: t.expose('reason', { type: InboxReasonEnum, description: 'What has changed.' }),
    conversation: t.field({
      type: 'Conversation',
      nullable: true,
      description: 'The conversation as it is now; null once it is deleted.',
      resolve: (event, _, context) => loadConversation(context, viewerOf(context, event), event.conversationId),
    }),
    unreadCount: t.int({
      description:
        `Turns by others that the participant has not read, as of now, at most ${MAX_UNREAD}; 0 once the conversation is `
        + 'deleted.',
      resolve(event, _, context) {
        const viewer = viewerOf(context, event)
        return loadUnreadCount(context, viewer, { conversationId: event.conversationId, actor: viewer.actor })
      },
    }),
    at: t.expose('at', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

builder.subscriptionField('inbox', (t) =>
  t.field({
    type: 'InboxEvent',
    description:
      "What changes in a participant's list of conversations, from now on. Nothing is kept for later: read `conversations` "
      + 'first.',
    args: { as: t.arg.string({ description: "Whose list; the viewer's when left out." }) },
    subscribe: (_, args, { deps, viewer }) => readInbox(deps, viewer, args),
    resolve: (event, { as }, context) => readFor(context, viewAs(context.viewer, as), event, (own) => [own]),
  }),
)
