// What changes in somebody's list of rooms: one subscription for all of them, instead of one for each.

import { readInbox } from '../domain/event/inbox.ts'
import { builder } from './builder.ts'
import { loadConversation, loadUnreadCount } from './loaders.ts'
import { PER_VIEWER } from './per-viewer.ts'

const InboxReasonEnum = builder.enumType('InboxReason', {
  description: 'Why a room in the list has to be looked at again.',
  values: {
    ADDED: { description: 'The participant has joined the room: it belongs into the list.' },
    REMOVED: { description: 'The participant has left the room: it does not belong into the list any more.' },
    TURN: { description: 'Something was said that the participant sees.' },
    READ: { description: 'The participant has read on, perhaps on another device.' },
    UPDATED: { description: 'The room itself, or a turn that was said before, was changed.' },
    DELETED: { description: 'The room is gone.' },
  } as const,
})

builder.objectType('InboxEvent', {
  description: "A room in somebody's list has changed. Several things of one kind that come together are told once.",
  fields: (t) => ({
    conversationId: t.exposeID('conversationId', { description: 'The room that has changed.' }),
    reason: t.field({ type: InboxReasonEnum, description: 'What has changed.', resolve: ({ reason }) => reason }),
    conversation: t.field({
      type: 'Conversation',
      nullable: true,
      description: 'The room as it is now; null once it is deleted.',
      resolve: ({ conversationId, viewer }, _, context) => loadConversation(context, viewer, conversationId),
    }),
    unreadCount: t.int({
      description: 'Turns by others that the participant has not read, as of now; 0 once the room is deleted.',
      extensions: PER_VIEWER,
      resolve: ({ conversationId, viewer }, _, context) =>
        loadUnreadCount(context, viewer, { conversationId, actor: viewer.actor }),
    }),
    at: t.expose('at', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

builder.subscriptionField('inbox', (t) =>
  t.field({
    type: 'InboxEvent',
    description:
      "What changes in a participant's list of rooms, from now on. Nothing is kept for later: read `conversations` "
      + 'first.',
    args: { as: t.arg.string({ description: "Whose list; the viewer's when left out." }) },
    subscribe: (_, args, { deps, viewer }) => readInbox(deps, viewer, args),
    resolve: (event) => event,
  }),
)
