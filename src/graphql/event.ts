// The event types, and the subscription that delivers them. On every transport, the root value of the execution is the
// copy of the event that `projectEvent` makes for the reader's view. Readers share an event and its objects, so they
// are never modified.

import type {
  ConversationDeleted,
  ConversationUpdated,
  Gap,
  ParticipantEvent,
  ParticipantRead,
  PresenceChanged,
  VisibleDelta,
  VisibleEvent,
  VisibleFacts,
  VisibleSummary,
  VisibleSuperseded,
  TurnEvent,
} from '../domain/event/event.ts'
import { MAX_ENTRIES_BEHIND } from '../domain/event/reader-state.ts'
import { readEventsOf } from '../domain/event/reader.ts'
import { getFacts } from '../domain/fact/fact.ts'
import { NotFound } from '../errors.ts'
import { asArg } from './as.ts'
import { builder } from './builder.ts'
import { atConversation } from './conversation-ref.ts'
import { ConversationEventTypeEnum } from './event-type.ts'
import { loadConversationOf, loadPreviousVersion, loadTurn } from './loaders.ts'
import { PresenceStateEnum } from './presence.ts'
import { SHAREABLE } from './sharing.ts'

const ConversationEvent = builder
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

const interfaces = [ConversationEvent]

const BEHIND = MAX_ENTRIES_BEHIND.toLocaleString('en-US')

const TURN_EVENTS: Record<TurnEvent['type'], [description: string, turn: string]> = {
  TurnAppended: ['A complete turn was appended.', 'The appended turn.'],
  TurnOpened: [
    'A streaming turn was opened. TurnDelta delivers its text.',
    'The opened turn. It may already be committed or aborted.',
  ],
  TurnCommitted: ['A streaming turn was committed.', 'The committed turn, with its whole content.'],
  TurnAborted: ['A streaming turn was aborted.', 'The aborted turn, with the text received until then and the reason.'],
}

for (const [name, [description, turn]] of Object.entries(TURN_EVENTS)) {
  builder
    .objectRef<TurnEvent>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({ turn: t.expose('turn', { type: 'Turn', description: turn }) }),
    })
}

builder.objectRef<VisibleSuperseded>('TurnSuperseded').implement({
  description: 'A newer version superseded a turn.',
  interfaces,
  fields: (t) => ({
    turn: t.field({
      type: 'Turn',
      description: 'The previous version that the viewer sees. If that version no longer exists, the newer version.',
      extensions: SHAREABLE,
      async resolve(event, _, context) {
        if (event.turn) return event.turn
        const turn = await loadPreviousVersion(context, event.by.id)
        if (!turn) throw new NotFound('turn', event.by.id)
        return turn
      },
    }),
    by: t.expose('by', { type: 'Turn', description: 'The newer version.' }),
  }),
})

builder
  .objectRef<VisibleDelta>('TurnDelta')
  .implement({
    description:
      'Additional text of an open turn. The first delta that a new subscriber receives starts at 0 and '
      + 'contains all text so far; the deltas together are the text of the turn.',
    interfaces,
    fields: (t) => ({
      turnId: t.exposeID('turnId', { description: 'Id of the open turn.' }),
      start: t.exposeInt('start', { description: 'Offset of the delta in the text of the turn, in UTF-16 units.' }),
      end: t.exposeInt('end', {
        description: 'Offset of the end of the delta, in UTF-16 units: `start` of the next delta.',
      }),
      text: t.exposeString('text', { description: 'Text from `start` up to `end`.' }),
      turn: t.field({
        type: 'Turn',
        nullable: true,
        description:
          'Current state of the turn, with its whole text so far, which may include text after this delta. '
          + 'Null if the turn no longer exists, or is no longer in view.',
        extensions: SHAREABLE,
        resolve: (event, _, context) => loadTurn(context, event.turnId),
      }),
    }),
  })

type AboutParticipant = ParticipantEvent | ParticipantRead

const PARTICIPANT_EVENTS: Record<AboutParticipant['type'], [description: string, participant: string]> = {
  ParticipantJoined: ['An actor joined the conversation: it was added, or it wrote a turn.', 'The actor that joined.'],
  ParticipantLeft: ['A participant left the conversation or was removed from it.', 'The actor that left.'],
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
    description: "The conversation's own fields changed, or the kind or display name of a participant.",
    interfaces,
    fields: (t) => ({
      conversation: t.field({
        type: 'Conversation',
        description: 'Current state of the conversation.',
        extensions: SHAREABLE,
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
      extensions: SHAREABLE,
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
    extensions: SHAREABLE,
    resolve: (event) => event,
  }),
)
