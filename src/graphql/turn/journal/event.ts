// The events of participants, conversations, summaries and facts, and the subscription that delivers all events.

import type {
  ConversationDeleted,
  ConversationUpdated,
  Gap,
  ParticipantEvent,
  ParticipantRead,
  PresenceChanged,
  VisibleFacts,
  VisibleSummary,
} from '../../../domain/turn/journal/event.ts'
import { MAX_ENTRIES_BEHIND } from '../../../domain/turn/journal/reader-state.ts'
import { readEventsOf } from '../../../domain/turn/journal/reader.ts'
import { getFacts } from '../../../domain/memory/fact/fact.ts'
import { asArg } from '../../kernel/view/named.ts'
import { builder } from '../../kernel/builder.ts'
import { ConversationEvent, interfaces } from './event-interface.ts'
import { atConversation } from '../../conversation/conversation-ref.ts'
import { ConversationEventTypeEnum } from './event-type.ts'
import { loadConversationOf } from '../../kernel/loaders.ts'
import { PresenceStateEnum } from '../../conversation/presence.ts'

const BEHIND = MAX_ENTRIES_BEHIND.toLocaleString('en-US')

type AboutParticipant = ParticipantEvent | ParticipantRead

const PARTICIPANT_EVENTS: Record<AboutParticipant['type'], [description: string, participant: string]> = {
  ParticipantJoined: ['An actor joined the conversation: it was added, or it wrote a turn.', 'The actor that joined.'],
  ParticipantLeft: ['A participant left the conversation or was removed from it.', 'The actor that left.'],
  ParticipantUpdated: [
    "A participant's display name, history visibility, metadata or agent settings changed.",
    'The participant after the change.',
  ],
  ParticipantRead: ["A participant's read position changed.", 'The participant, with its new `lastReadSeq`.'],
}

for (const [name, [description, participant]] of Object.entries(PARTICIPANT_EVENTS)) {
  builder
    .objectRef<AboutParticipant>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({ participant: t.expose('participant', { type: 'Participant', description: participant }) }),
    })
}

builder
  .objectRef<PresenceChanged>('PresenceChanged')
  .implement({
    description: 'The presence of a participant changed.',
    interfaces,
    fields: (t) => ({
      participant: t.expose('participant', { type: 'Participant', description: 'The actor whose presence changed.' }),
      state: t.expose('state', {
        type: PresenceStateEnum,
        description: 'Presence of the participant after this event.',
      }),
    }),
  })

builder
  .objectRef<ConversationUpdated>('ConversationUpdated')
  .implement({
    description: "The conversation's own fields changed.",
    interfaces,
    fields: (t) => ({
      conversation: t.field({
        type: 'Conversation',
        description: 'Current state of the conversation.',
        sharing: 'SHAREABLE',
        resolve: (event, _, context) => loadConversationOf(context, event.conversationId),
      }),
    }),
  })

builder
  .objectRef<VisibleSummary>('SummaryWritten')
  .implement({
    description:
      'A summary of old turns was written. Delivered only to viewers who see every turn version that the '
      + 'summary was made from.',
    interfaces,
    fields: (t) => ({
      summary: t.expose('summary', {
        type: 'Summary',
        description: 'The written text. A newer summary may have replaced it since.',
      }),
    }),
  })

builder.objectRef<VisibleFacts>('FactsChanged').implement({
  description:
    'Facts were recorded, asserted again, or superseded. Delivered only to viewers who see at least one of '
    + 'these facts.',
  interfaces,
  fields: (t) => ({
    facts: t.field({
      type: ['Fact'],
      description:
        'The facts that the viewer sees, in their current state: `supersededAt` is null for active ones. Deleted facts '
        + 'are left out.',
      sharing: 'SHAREABLE',
      async resolve({ factIds }, _, { deps, viewer }) {
        const facts = await getFacts(deps, viewer, factIds)
        return factIds.flatMap((each) => facts.get(each) ?? [])
      },
    }),
  }),
})

builder
  .objectRef<ConversationDeleted>('ConversationDeleted')
  .implement({
    description:
      'The conversation was deleted with all its content. This is the last event: the subscription completes.',
    interfaces,
  })

builder
  .objectRef<Gap>('Gap')
  .implement({
    description:
      `Journal entries were skipped, because the subscriber fell more than ${BEHIND} entries behind. Read `
      + 'them from the history; later events follow.',
    interfaces,
    fields: (t) => ({
      resumeAfterSeq: t.exposeInt('resumeAfterSeq', {
        description: 'Seq of the last skipped entry. The subscription continues after it.',
      }),
    }),
  })

builder.subscriptionField('conversationEvents', (t) =>
  t.field({
    verb: 'readEventsOf',
    type: ConversationEvent,
    description:
      'Delivers the events of a conversation after a journal entry, then live events: in order, without '
      + 'repeats. A `Gap` event reports skipped entries.',
    args: {
      conversationId: t.arg.id({ description: 'Id of the conversation to follow. Exclusive with `conversationKey`.' }),
      conversationKey: t.arg.string({
        description: 'Key of the conversation to follow, in place of `conversationId`.',
      }),
      afterSeq: t.arg.int({
        description:
          'The `seq` of the newest event that the client has; 0 to receive all entries from the first. Omit to receive '
          + 'only events from now on.',
      }),
      types: t.arg({
        type: [ConversationEventTypeEnum],
        description:
          'Types of the events to receive; not empty. `ConversationDeleted` and `Gap` are always received. Omit to '
          + 'receive all types.',
      }),
      ...asArg(t),
    },
    async subscribe(_, args, context) {
      const { deps, principal, viewer } = context
      return readEventsOf(deps, principal, { ...(await atConversation(context, args)), as: viewer.actor })
    },
    sharing: 'SHAREABLE',
    resolve: (event) => event,
  }),
)
