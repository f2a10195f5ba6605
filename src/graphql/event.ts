// What readers of a conversation are told. An event is executed with `Told` as its root value, over whichever transport; its
// objects carry the view of whoever is told. Rows are shared between readers, so they are copied, never written to.

import type {
  ConversationEvent as Event,
  ConversationUpdated,
  FactsChanged,
  Gap,
  ParticipantEvent,
  ParticipantRead,
  PresenceChanged,
  SummaryWritten,
  TurnDelta,
  TurnEvent,
  TurnSuperseded,
} from '../domain/event/event.ts'
import { readEventsOf, type Told } from '../domain/event/reader.ts'
import type { Fact } from '../domain/fact/fact.ts'
import type { Participant } from '../domain/participant.ts'
import type { Turn } from '../domain/turn/turn.ts'
import type { Viewer } from '../domain/view.ts'
import { NotFound } from '../errors.ts'
import { builder } from './builder.ts'
import { loadFact, loadPreviousVersion, loadConversationOf } from './loaders.ts'
import { PresenceStateEnum } from './presence.ts'

const ConversationEvent = builder
  .interfaceRef<Told>('ConversationEvent')
  .implement({
    description:
      'Something that happened in a conversation. What an event names is shown as it is now, not as it was then.',
    resolveType: ({ event }) => event.type,
    fields: (t) => ({
      conversationId: t.id({
        description: 'The conversation it happened in.',
        resolve: ({ event }) => event.conversationId,
      }),
      seq: t.int({
        nullable: true,
        description:
          "Its number in the conversation's journal, ascending; resume with `after`. Null for what passes and is not kept.",
        resolve: ({ event }) => event.seq,
      }),
      at: t.field({ type: 'DateTime', description: 'When it happened.', resolve: ({ event }) => event.at }),
    }),
  })

type ToldOf<E extends Event> = { event: E; viewer: Viewer }
const interfaces = [ConversationEvent]

const turnAs = (turn: TurnEvent['turn'], viewer: Viewer): Turn => ({ ...turn, viewer })
const participantAs = (participant: ParticipantEvent['participant'], viewer: Viewer): Participant => ({
  ...participant,
  viewer,
})

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
    .objectRef<ToldOf<TurnEvent>>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({
        turn: t.field({ type: 'Turn', description: turn, resolve: ({ event, viewer }) => turnAs(event.turn, viewer) }),
      }),
    })
}

builder.objectRef<ToldOf<TurnSuperseded>>('TurnSuperseded').implement({
  description: 'A newer version stands in the place of a turn.',
  interfaces,
  fields: (t) => ({
    turn: t.field({
      type: 'Turn',
      description: 'The version before it, as far as the viewer sees: the one whose place is taken on the screen.',
      async resolve({ event, viewer }, _, context) {
        // Who sees a version sees the first one too, but not necessarily those between.
        if (event.turn.seq === event.turn.rootSeq) return turnAs(event.turn, viewer)
        const turn = await loadPreviousVersion(context, viewer, event.by.id)
        if (!turn) throw new NotFound('turn', event.turn.id)
        return turn
      },
    }),
    by: t.field({
      type: 'Turn',
      description: 'The newer version.',
      resolve: ({ event, viewer }) => turnAs(event.by, viewer),
    }),
  }),
})

builder
  .objectRef<ToldOf<TurnDelta>>('TurnDelta')
  .implement({
    description:
      'More text of a turn that is being written. A reader who joins gets one from 0 to what is there, then the rest; '
      + "joined, they are the turn's text.",
    interfaces,
    fields: (t) => ({
      turnId: t.id({ description: 'The turn that is being written.', resolve: ({ event }) => event.turnId }),
      start: t.int({
        description: "Where the text begins in the turn's, in UTF-16 units.",
        resolve: ({ event }) => event.start,
      }),
      end: t.int({ description: 'Where it ends: `start` of the next one.', resolve: ({ event }) => event.end }),
      text: t.string({ description: 'The text from `start` up to `end`.', resolve: ({ event }) => event.text }),
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
    .objectRef<ToldOf<AboutParticipant>>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({
        participant: t.field({
          type: 'Participant',
          description: participant,
          resolve: ({ event, viewer }) => participantAs(event.participant, viewer),
        }),
      }),
    })
}

builder
  .objectRef<ToldOf<PresenceChanged>>('PresenceChanged')
  .implement({
    description: 'A participant is doing something else now, or is gone.',
    interfaces,
    fields: (t) => ({
      participant: t.field({
        type: 'Participant',
        description: 'Whose presence it is.',
        resolve: ({ event, viewer }) => participantAs(event.participant, viewer),
      }),
      state: t.field({
        type: PresenceStateEnum,
        description: 'What they are doing since this event.',
        resolve: ({ event }) => event.state,
      }),
    }),
  })

builder
  .objectRef<ToldOf<ConversationUpdated>>('ConversationUpdated')
  .implement({
    description: 'Something about the conversation itself, or about a participant, was changed.',
    interfaces,
    fields: (t) => ({
      conversation: t.field({
        type: 'Conversation',
        description: 'The conversation as it is now.',
        resolve: ({ event: { conversationId }, viewer }, _, context) =>
          loadConversationOf(context, { conversationId, viewer }),
      }),
    }),
  })

builder
  .objectRef<ToldOf<SummaryWritten>>('SummaryWritten')
  .implement({
    description: 'Old turns stand in a summary from now on. Told to those alone who see all that it was made of.',
    interfaces,
    fields: (t) => ({
      summary: t.field({
        type: 'Summary',
        description: 'What was written. Another one may have taken its place since.',
        resolve: ({ event, viewer }) => ({ ...event.summary, viewer }),
      }),
    }),
  })

builder.objectRef<ToldOf<FactsChanged>>('FactsChanged').implement({
  description: 'Facts were written down, said again or superseded. Told to those alone who see one of them.',
  interfaces,
  fields: (t) => ({
    facts: t.field({
      type: ['Fact'],
      description:
        'Those of them that the viewer sees, as they are now: `supersededAt` tells which hold. One that was said '
        + 'again in another conversation since is left out, as it is known from there.',
      async resolve({ event, viewer }, _, context) {
        const facts = await Promise.all(event.facts.map(({ id }) => loadFact(context, viewer, id)))
        // What is of another conversation by now may not be for everybody who is told the same here.
        return facts.filter((fact) => fact !== null && fact.conversationId === event.conversationId) as Fact[]
      },
    }),
  }),
})

builder
  .objectRef<Told>('ConversationDeleted')
  .implement({
    description: 'The conversation is gone with all that was in it. It is the last event: the subscription completes.',
    interfaces,
  })

builder
  .objectRef<ToldOf<Gap>>('Gap')
  .implement({
    description:
      'Entries were left out: they cannot be had any more, or the reader was hopelessly behind. Read history, then go '
      + 'on.',
    interfaces,
    fields: (t) => ({
      resumeAfter: t.int({
        description: 'The last entry that was left out: events go on after it.',
        resolve: ({ event }) => event.resumeAfter,
      }),
    }),
  })

builder.subscriptionField('conversationEvents', (t) =>
  t.field({
    type: ConversationEvent,
    description:
      'Everything that happens in a conversation after a journal entry, then live: in order, without gaps or repeats.',
    args: {
      conversationId: t.arg.id({ required: true, description: 'The conversation to follow.' }),
      after: t.arg.int({
        description:
          'The `seq` of the last event at hand; 0 for all there ever was. Without it, only what happens from now on.',
      }),
      as: t.arg.string({ description: "In whose view; the viewer's when left out." }),
    },
    subscribe: (_, args, { deps, viewer }) => readEventsOf(deps, viewer, args),
    resolve: (told) => told,
  }),
)
