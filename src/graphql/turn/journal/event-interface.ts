// The interface of all events of a conversation. On every transport, the root value of the execution is the copy of the
// event that `projectEvent` makes for the reader's view. Readers share an event and its objects, so they are never
// modified.

import type { VisibleEvent } from '../../../domain/turn/journal/event.ts'
import { builder } from '../../kernel/builder.ts'

export const ConversationEvent = builder
  .interfaceRef<VisibleEvent>('ConversationEvent')
  .implement({
    description:
      'An event of a conversation. The objects in an event have their current state, not their state at '
      + 'the time of the event.',
    resolveType: ({ type }) => type,
    fields: (t) => ({
      conversationId: t.exposeID('conversationId', {
        description: 'Id of the conversation in which the event occurred.',
      }),
      seq: t.exposeInt('seq', {
        nullable: true,
        description:
          'Journal sequence number, ascending; pass it as `afterSeq` to resume. Null for ephemeral events, '
          + 'which are not stored.',
      }),
      at: t.expose('at', { type: 'DateTime', description: 'Time of the event.' }),
    }),
  })

export const interfaces = [ConversationEvent]
