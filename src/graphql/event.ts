// The event types, and the subscription that delivers them. On every transport, the root value of the execution is the
// copy of the event that `projectEvent` makes for the reader's view. Readers share an event and its objects, so they
// are never modified: `readSharedFor` copies an object before it records a viewer.

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
import { readEventsOf } from '../domain/event/reader.ts'
import { getFacts } from '../domain/fact/fact.ts'
import { NotFound } from '../errors.ts'
import { builder } from './builder.ts'
import { readSharedFor, readFor, viewerOf } from './inherited-view.ts'
import { atConversation } from './conversation-ref.ts'
import { ConversationEventTypeEnum } from './event-type.ts'
import { loadConversationOf, loadPreviousVersion, loadTurn } from './loaders.ts'
import { PresenceStateEnum } from './presence.ts'
import type { RequestContext } from './request.ts'
import { SHAREABLE } from './sharing.ts'
import { viewAs } from './viewer.ts'

const ConversationEvent = builder
  .interfaceRef<VisibleEvent>('ConversationEvent')
  .implement({
    description:
      'Something that happened in a conversation. What an event names is shown as it is now, not as it was then.',
    resolveType: ({ type }) => type,
    fields: (t) => ({
      conversationId: t.exposeID('conversationId', { description: 'The conversation it happened in.' }),
      seq: t.exposeInt('seq', {
        nullable: true,
        description:
          "Its number in the conversation's journal, ascending; pass it as `afterSeq` to resume. Null for what passes and is not kept.",
      }),
      at: t.expose('at', { type: 'DateTime', description: 'When it happened.' }),
    }),
  })

const interfaces = [ConversationEvent]

/** Returns an object of the event, or a copy, recorded as read for the event's viewer. */
const objectIn = <T extends object>(context: RequestContext, event: VisibleEvent, object: T): T =>
  readSharedFor(context, viewerOf(context, event), object)

const TURN_EVENTS: Record<TurnEvent['type'], [description: string, turn: string]> = {
  TurnAppended: ['Somebody said something.', 'What was said.'],
  TurnOpened: [
    'Somebody has begun a turn. Its text comes by TurnDelta.',
    'The turn that is being written; it may have ended by now.',
  ],
  TurnCommitted: ['A turn that was being written is complete.', 'The turn with all that it says.'],
  TurnAborted: ['A turn that was being written was broken off.', 'The turn with what was written, and the reason.'],
}

for (const [name, [description, turn]] of Object.entries(TURN_EVENTS)) {
  builder
    .objectRef<TurnEvent>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({
        turn: t.field({
          type: 'Turn',
          description: turn,
          extensions: SHAREABLE,
          resolve: (event, _, context) => objectIn(context, event, event.turn),
        }),
      }),
    })
}

builder.objectRef<VisibleSuperseded>('TurnSuperseded').implement({
  description: 'A newer version stands in the place of a turn.',
  interfaces,
  fields: (t) => ({
    turn: t.field({
      type: 'Turn',
      description: 'The version before it, as far as the viewer sees: the one whose place is taken on the screen.',
      extensions: SHAREABLE,
      async resolve(event, _, context) {
        if (event.turn) return objectIn(context, event, event.turn)
        const turn = await loadPreviousVersion(context, viewerOf(context, event), event.by.id)
        if (!turn) throw new NotFound('turn', event.by.id)
        return turn
      },
    }),
    by: t.field({
      type: 'Turn',
      description: 'The newer version.',
      extensions: SHAREABLE,
      resolve: (event, _, context) => objectIn(context, event, event.by),
    }),
  }),
})

builder
  .objectRef<VisibleDelta>('TurnDelta')
  .implement({
    description:
      'More text of a turn that is being written. A reader who joins gets one from 0 to what is there, then the rest; '
      + "joined, they are the turn's text.",
    interfaces,
    fields: (t) => ({
      turnId: t.exposeID('turnId', { description: 'The turn that is being written.' }),
      start: t.exposeInt('start', { description: "Where the text begins in the turn's, in UTF-16 units." }),
      end: t.exposeInt('end', { description: 'Where it ends: `start` of the next one.' }),
      text: t.exposeString('text', { description: 'The text from `start` up to `end`.' }),
      turn: t.field({
        type: 'Turn',
        nullable: true,
        description:
          'The turn as it is now, with its whole text so far: it may be ahead of this delta. Null if the turn no longer '
          + 'exists, or is no longer in view.',
        extensions: SHAREABLE,
        resolve: (event, _, context) => loadTurn(context, viewerOf(context, event), event.turnId),
      }),
    }),
  })

type AboutParticipant = ParticipantEvent | ParticipantRead

const PARTICIPANT_EVENTS: Record<AboutParticipant['type'], [description: string, participant: string]> = {
  ParticipantJoined: ['Somebody is in the conversation from now on, added or by speaking.', 'Who joined.'],
  ParticipantLeft: ['Somebody is not in the conversation any more.', 'Who left.'],
  ParticipantRead: ['Somebody has read on.', 'The reader, with the new `lastReadSeq`.'],
}

for (const [name, [description, participant]] of Object.entries(PARTICIPANT_EVENTS)) {
  builder
    .objectRef<AboutParticipant>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({
        participant: t.field({
          type: 'Participant',
          description: participant,
          extensions: SHAREABLE,
          resolve: (event, _, context) => objectIn(context, event, event.participant),
        }),
      }),
    })
}

builder
  .objectRef<PresenceChanged>('PresenceChanged')
  .implement({
    description: 'A participant is doing something else now, or is gone.',
    interfaces,
    fields: (t) => ({
      participant: t.field({
        type: 'Participant',
        description: 'Whose presence it is.',
        extensions: SHAREABLE,
        resolve: (event, _, context) => objectIn(context, event, event.participant),
      }),
      state: t.expose('state', { type: PresenceStateEnum, description: 'What they are doing since this event.' }),
    }),
  })

builder
  .objectRef<ConversationUpdated>('ConversationUpdated')
  .implement({
    description: 'Something about the conversation itself, or about a participant, was changed.',
    interfaces,
    fields: (t) => ({
      conversation: t.field({
        type: 'Conversation',
        description: 'The conversation as it is now.',
        extensions: SHAREABLE,
        resolve: (event, _, context) => loadConversationOf(context, viewerOf(context, event), event.conversationId),
      }),
    }),
  })

builder
  .objectRef<VisibleSummary>('SummaryWritten')
  .implement({
    description: 'Old turns stand in a summary from now on. Told to those alone who see all that it was made of.',
    interfaces,
    fields: (t) => ({
      summary: t.field({
        type: 'Summary',
        description: 'What was written. Another one may have taken its place since.',
        extensions: SHAREABLE,
        resolve: (event, _, context) => objectIn(context, event, event.summary),
      }),
    }),
  })

builder.objectRef<VisibleFacts>('FactsChanged').implement({
  description: 'Facts were written down, said again or superseded. Told to those alone who see one of them.',
  interfaces,
  fields: (t) => ({
    facts: t.field({
      type: ['Fact'],
      description:
        'The facts that the viewer sees, in their current state: `supersededAt` is null for active ones. Deleted facts '
        + 'are left out.',
      extensions: SHAREABLE,
      async resolve(event, _, context) {
        const viewer = viewerOf(context, event)
        const facts = await getFacts(context.deps, viewer, event.factIds)
        return readFor(
          context,
          viewer,
          event.factIds.flatMap((each) => facts.get(each) ?? []),
          (read) => read,
        )
      },
    }),
  }),
})

builder
  .objectRef<ConversationDeleted>('ConversationDeleted')
  .implement({
    description: 'The conversation is gone with all that was in it. It is the last event: the subscription completes.',
    interfaces,
  })

builder
  .objectRef<Gap>('Gap')
  .implement({
    description:
      'Entries were left out: they cannot be had any more, or the reader was hopelessly behind. Read history, then go '
      + 'on.',
    interfaces,
    fields: (t) => ({
      resumeAfterSeq: t.exposeInt('resumeAfterSeq', {
        description: 'The last entry that was left out: events go on after it.',
      }),
    }),
  })

builder.subscriptionField('conversationEvents', (t) =>
  t.field({
    type: ConversationEvent,
    description:
      'Everything that happens in a conversation after a journal entry, then live: in order, without gaps or repeats.',
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
      as: t.arg.string({ description: "In whose view; the viewer's when left out." }),
    },
    async subscribe(_, args, context) {
      const { deps, viewer } = context
      return readEventsOf(deps, viewer, await atConversation(context, args, args.as))
    },
    extensions: SHAREABLE,
    resolve: (event, { as }, context) => readSharedFor(context, viewAs(context.viewer, as), event),
  }),
)
