// The subscription inbox: a participant's conversations with unread turns, then changes in its list of conversations.

import { MAX_UNREAD } from '../domain/participant.ts'
import { readInbox } from '../domain/event/inbox.ts'
import { MAX_UNREAD_CONVERSATIONS } from '../domain/event/unread.ts'
import { builder } from './builder.ts'
import { readFor, viewerOf } from './inherited-view.ts'
import { loadConversation, loadUnreadCount } from './loaders.ts'
import { viewAs } from './viewer.ts'

const InboxReasonEnum = builder.enumType('InboxReason', {
  description: 'Why the inbox delivers a conversation.',
  values: {
    UNREAD: {
      description: 'The conversation had unread turns when the subscription started. All such events come first.',
    },
    ADDED: { description: 'The participant has joined the conversation: it belongs into the list.' },
    REMOVED: { description: 'The participant has left the conversation: it does not belong into the list any more.' },
    APPENDED: { description: 'Something was said that the participant sees.' },
    READ: { description: 'The participant has read on, perhaps on another device.' },
    UPDATED: { description: 'The conversation itself, or a turn that was said before, was changed.' },
    DELETED: { description: 'The conversation is gone.' },
  } as const,
})

builder.objectType('InboxEvent', {
  description:
    "A conversation in a participant's list that has unread turns, or has changed. Changes of one kind that are made "
    + 'together are delivered once.',
  fields: (t) => ({
    conversationId: t.exposeID('conversationId', {
      description: 'The conversation that has unread turns or has changed.',
    }),
    reason: t.expose('reason', { type: InboxReasonEnum, description: 'Why it is delivered.' }),
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
    at: t.expose('at', {
      type: 'DateTime',
      description: 'Time of the change; for UNREAD, of the newest entry of the conversation.',
    }),
  }),
})

builder.subscriptionField('inbox', (t) =>
  t.field({
    type: 'InboxEvent',
    description:
      "A participant's conversations with unread turns, then each change in its list of conversations. First delivers one "
      + `event with the reason UNREAD for each of at most ${MAX_UNREAD_CONVERSATIONS.toLocaleString('en-US')} conversations, `
      + 'the most recently active first. A change during that time is delivered after them. To resume, subscribe again.',
    args: { as: t.arg.string({ description: "Whose list; the viewer's when left out." }) },
    subscribe: (_, args, { deps, viewer }) => readInbox(deps, viewer, args),
    resolve: (event, { as }, context) => readFor(context, viewAs(context.viewer, as), event, (own) => [own]),
  }),
)
