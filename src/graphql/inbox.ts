// The subscription inbox: a participant's conversations with unread turns, then changes in its list of conversations.

import { MAX_UNREAD } from '../domain/participant-details.ts'
import { readInbox } from '../domain/event/inbox.ts'
import { MAX_UNREAD_CONVERSATIONS } from '../domain/event/unread.ts'
import { asArg } from './as.ts'
import { builder } from './builder.ts'
import { loadConversation, loadUnreadCount } from './loaders.ts'

const InboxReasonEnum = builder.enumType('InboxReason', {
  description: 'Reason why the inbox delivers a conversation.',
  values: {
    UNREAD: {
      description: 'The conversation had unread turns when the subscription started. All such events come first.',
    },
    ADDED: { description: 'The participant joined the conversation: add it to the list.' },
    REMOVED: { description: 'The participant left the conversation: remove it from the list.' },
    APPENDED: { description: 'A turn that the participant sees was appended or committed.' },
    READ: { description: "The participant's read position changed, for example on another device." },
    UPDATED: { description: 'The conversation itself changed, or a turn was edited.' },
    DELETED: { description: 'The conversation was deleted.' },
  } as const,
})

builder.objectType('InboxEvent', {
  description:
    "A conversation in a participant's list that has unread turns, or that changed. Several changes with "
    + 'the same reason at almost the same time are delivered as one event.',
  fields: (t) => ({
    conversationId: t.exposeID('conversationId', {
      description: 'Id of the conversation that has unread turns or that changed.',
    }),
    reason: t.expose('reason', { type: InboxReasonEnum, description: 'Kind of the change, or UNREAD.' }),
    conversation: t.field({
      type: 'Conversation',
      nullable: true,
      description: 'Current state of the conversation. Null if it is deleted.',
      resolve: (event, _, context) => loadConversation(context, event.conversationId),
    }),
    unreadCount: t.int({
      description:
        `Current number of turns by others that the participant has not read. At most ${MAX_UNREAD}; 0 if `
        + 'the conversation is deleted.',
      resolve: ({ conversationId }, _, context) =>
        loadUnreadCount(context, { conversationId, actor: context.viewer.actor }),
    }),
    at: t.expose('at', {
      type: 'DateTime',
      description: 'Time of the change. For UNREAD, time of the newest entry of the conversation.',
    }),
  }),
})

builder.subscriptionField('inbox', (t) =>
  t.field({
    type: 'InboxEvent',
    description:
      "Delivers a participant's conversations with unread turns, then each change in its list of "
      + 'conversations. The first events have the reason UNREAD: one for each conversation, at most '
      + `${MAX_UNREAD_CONVERSATIONS.toLocaleString('en-US')}, the most recently active first. Changes during `
      + 'that time are delivered after them. To resume, subscribe again.',
    args: asArg(t),
    subscribe: (_, __, { deps, principal, viewer }) => readInbox(deps, principal, { as: viewer.actor }),
    resolve: (event) => event,
  }),
)
