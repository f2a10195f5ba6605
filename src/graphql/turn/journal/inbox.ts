// The subscription inbox: the turns that a participant is to answer and its conversations with unread turns, then
// further turns to answer and changes in its list of conversations.

import { MAX_UNREAD } from '../../../domain/conversation/participant/participant-details.ts'
import { readInbox } from '../../../domain/turn/journal/inbox.ts'
import { MAX_UNREAD_CONVERSATIONS } from '../../../domain/turn/journal/unread.ts'
import { REPEAT_MS, REPEATS } from '../../../domain/turn/journal/wake-ups.ts'
import { asArg } from '../../kernel/view/named.ts'
import { builder } from '../../kernel/builder.ts'
import { loadConversation, loadTurn, loadUnreadCount } from '../../kernel/loaders.ts'

const InboxReasonEnum = builder.enumType('InboxReason', {
  description: 'Reason why the inbox delivers a conversation.',
  values: {
    WAKE_UP: {
      description:
        'A turn waits for the answer of the participant, and no claim keeps the participant from answering. Such events of '
        + 'older turns come first. The turn is delivered again when a claim on it ends without an answer, and may be '
        + 'delivered more than once.',
    },
    UNREAD: {
      description:
        'The conversation had unread turns when the subscription started. Such events come before all changes.',
    },
    ADDED: { description: 'The participant joined the conversation: add it to the list.' },
    REMOVED: { description: 'The participant left the conversation: remove it from the list.' },
    APPENDED: { description: 'A turn that the participant sees was appended or committed.' },
    READ: { description: "The participant's read position changed, for example on another device." },
    UPDATED: { description: 'The conversation itself changed, or a turn was edited.' },
    APPROVAL_REQUESTED: {
      description:
        'A tool call waits for approval, and the participant is the owner or an administrator who sees it: see `approvals`.',
    },
    DELETED: { description: 'The conversation was deleted.' },
  } as const,
})

builder.objectType('InboxEvent', {
  description:
    "A conversation in a participant's list that has unread turns, that changed, or in which the participant is to answer a "
    + 'turn. Several changes with the same reason at almost the same time are delivered as one event; each turn to answer '
    + 'has its own.',
  fields: (t) => ({
    conversationId: t.exposeID('conversationId', {
      description: 'Id of the conversation that has unread turns, that changed, or that has the turn to answer.',
    }),
    reason: t.expose('reason', { type: InboxReasonEnum, description: 'Kind of the change, or WAKE_UP or UNREAD.' }),
    turnId: t.exposeID('turnId', {
      nullable: true,
      description: 'Id of the turn to answer, in its first version. Null for reasons other than WAKE_UP.',
    }),
    turn: t.field({
      type: 'Turn',
      nullable: true,
      description:
        'The turn to answer, in its first version. Null for reasons other than WAKE_UP, and if the participant does not see '
        + 'the turn any more.',
      sharing: 'PER_VIEWER',
      resolve: ({ turnId }, _, context) => (turnId === null ? null : loadTurn(context, turnId)),
    }),
    conversation: t.field({
      type: 'Conversation',
      nullable: true,
      description: 'Current state of the conversation. Null if it is deleted.',
      sharing: 'PER_VIEWER',
      resolve: (event, _, context) => loadConversation(context, event.conversationId),
    }),
    unreadCount: t.int({
      description:
        `Current number of turns by others that the participant has not read. At most ${MAX_UNREAD}; 0 if `
        + 'the conversation is deleted.',
      sharing: 'PER_VIEWER',
      resolve: ({ conversationId }, _, context) =>
        loadUnreadCount(context, { conversationId, actor: context.viewer.actor }),
    }),
    at: t.expose('at', {
      type: 'DateTime',
      description:
        'Time of the change. For UNREAD, time of the newest entry of the conversation; for WAKE_UP, time at which the turn '
        + 'woke up the participant.',
    }),
  }),
})

builder.subscriptionField('inbox', (t) =>
  t.field({
    verb: 'readInbox',
    type: 'InboxEvent',
    description:
      "Delivers the turns that wait for a participant's answer and its conversations with unread turns, then further turns to "
      + 'answer and each change in its list of conversations. The first events have the reason WAKE_UP: one for each turn '
      + 'that is not claimed, oldest first. Then follow those with the reason UNREAD: one for each conversation, at most '
      + `${MAX_UNREAD_CONVERSATIONS.toLocaleString('en-US')}, the most recently active first. Changes during that time are `
      + `delivered after them. A turn that nobody claims is delivered again after ${REPEAT_MS / 1000} seconds, then after twice `
      + `that, and so on, ${REPEATS} times. To resume, subscribe again.`,
    args: {
      reasons: t.arg({
        type: [InboxReasonEnum],
        description: 'Reasons of the events to receive; not empty. Omit to receive all.',
      }),
      ...asArg(t),
    },
    subscribe: (_, { reasons }, { deps, principal, viewer }) =>
      readInbox(deps, principal, { as: viewer.actor, reasons }),
    resolve: (event) => event,
  }),
)
