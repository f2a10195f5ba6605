// Participants of a conversation: the type, their read positions, and the mutations that change them.

import { addParticipant, MAX_UNREAD, markRead, removeParticipant, type Participant } from '../domain/participant.ts'
import { derivedId } from '../domain/derived-id.ts'
import type { Page } from '../domain/page.ts'
import { participantCursor } from '../domain/participant-page.ts'
import { actAs, type Viewer } from '../domain/view.ts'
import { InvalidInput, NotAllowed, NotFound, LimitReached } from '../errors.ts'
import { builder } from './builder.ts'
import { connectionOf, pagingArgs } from './connection.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { loadPageOfParticipants, loadParticipant, loadParticipantCount, loadUnreadCount } from './loaders.ts'
import { readFor, viewerOf } from './inherited-view.ts'
import { Node } from './node.ts'
import { PER_VIEWER, SHAREABLE } from './sharing.ts'
import { orErrors, payload } from './result.ts'

export const ParticipantKindEnum = builder.enumType('ParticipantKind', {
  description: 'What sort of actor a participant is. It changes nothing in what they may see or do.',
  values: {
    HUMAN: { description: 'A person.' },
    AGENT: { description: 'A program that speaks for a model.' },
    TOOL: { description: 'A program that answers tool calls.' },
  } as const,
})

const HistoryVisibilityEnum = builder.enumType('HistoryVisibility', {
  description: 'How much of the earlier history a participant sees.',
  values: {
    ALL: { description: 'All turns, except turns whose audience excludes the participant.' },
    SINCE_JOINED: {
      description: 'Turns written after the participant joined, and during earlier stays in the conversation.',
    },
  } as const,
})

builder.objectType('Participant', {
  interfaces: [Node],
  description: 'Somebody who is or was in a conversation. Having left, they still see what they saw until then.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id; pass it to `node`.',
      extensions: SHAREABLE,
      resolve: ({ conversationId, actor }) => derivedId({ kind: 'participant', conversationId, actor }),
    }),
    actor: t.exposeString('actor', {
      description: "The user, agent or tool: the caller's own id, unique in the conversation.",
    }),
    kind: t.expose('kind', {
      type: ParticipantKindEnum,
      description: "What sort of actor it is; guessed from the first turn's role for those who joined by speaking.",
    }),
    displayName: t.exposeString('displayName', {
      nullable: true,
      description: 'A name to show; null where `actor` has to do.',
    }),
    historyVisibility: t.expose('historyVisibility', {
      type: HistoryVisibilityEnum,
      description: 'How much of the earlier history the participant got when it joined last.',
    }),
    joinedAt: t.expose('joinedAt', { type: 'DateTime', description: 'When they joined, the last time that they did.' }),
    leftAt: t.expose('leftAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When they left; null while they are in the conversation.',
    }),
    lastReadSeq: t.exposeInt('lastReadSeq', {
      description: 'They have read up to this journal entry, by `markRead`; 0 when they never said so.',
    }),
    unreadCount: t.int({
      description:
        'Committed turns by others that came after `lastReadSeq`: those that both they and the viewer see. At most '
        + `${MAX_UNREAD}: further ones are not counted.`,
      extensions: PER_VIEWER,
      resolve: (participant, _, context) => loadUnreadCount(context, viewerOf(context, participant), participant),
    }),
  }),
})

/** A page of participants, with the conversation and the viewer for which it was read. */
type ParticipantPage = Page<Participant> & { conversationId: string; viewer: Viewer }

const { Connection: ParticipantConnection } = connectionOf<Participant, ParticipantPage>(
  'Participant',
  'participants',
  participantCursor,
)

builder.objectField(ParticipantConnection, 'totalCount', (t) =>
  t.int({
    description: 'Number of present and former participants of the conversation.',
    extensions: SHAREABLE,
    resolve: ({ conversationId, viewer }, _, context) => loadParticipantCount(context, viewer, conversationId),
  }),
)

builder.objectField('Conversation', 'participants', (t) =>
  t.field({
    type: ParticipantConnection,
    description:
      'Present and former participants (`leftAt`), in the order in which they joined last. Defaults to the first 50.',
    extensions: SHAREABLE,
    args: pagingArgs(t, 'participants'),
    async resolve(conversation, args, context) {
      const viewer = viewerOf(context, conversation)
      const page = await loadPageOfParticipants(context, viewer, conversation.id, args)
      return { ...page, conversationId: conversation.id, viewer }
    },
  }),
)

builder.objectFields('Conversation', (t) => ({
  viewerParticipant: t.field({
    type: 'Participant',
    nullable: true,
    description: 'The viewer as a present or former participant. Null if the viewer never joined.',
    extensions: PER_VIEWER,
    resolve: (conversation, _, context) => {
      const viewer = viewerOf(context, conversation)
      return loadParticipant(context, viewer, { conversationId: conversation.id, actor: viewer.actor })
    },
  }),
  viewerUnreadCount: t.int({
    description: `Number of committed turns by others that the viewer has not read. At most ${MAX_UNREAD}; 0 if the viewer never joined.`,
    extensions: PER_VIEWER,
    resolve: (conversation, _, context) => {
      const viewer = viewerOf(context, conversation)
      return loadUnreadCount(context, viewer, { conversationId: conversation.id, actor: viewer.actor })
    },
  }),
}))

builder.objectField('Turn', 'author', (t) =>
  t.field({
    type: 'Participant',
    nullable: true,
    description:
      'The author as a present or former participant of the conversation. Every author is one, so this is null only if the '
      + 'conversation was deleted after the turn was read.',
    extensions: SHAREABLE,
    resolve: (turn, _, context) => loadParticipant(context, viewerOf(context, turn), turn),
  }),
)

export const ParticipantInput = builder.inputType('ParticipantInput', {
  description: 'Somebody who is to be in a conversation.',
  fields: (t) => ({
    actor: t.string({
      required: true,
      description: 'The user, agent or tool: an id of your own, 1 to 200 characters.',
    }),
    kind: t.field({ type: ParticipantKindEnum, defaultValue: 'HUMAN', description: 'What sort of actor it is.' }),
    displayName: t.string({ description: 'A name to show, at most 200 characters.' }),
    historyVisibility: t.field({
      type: HistoryVisibilityEnum,
      defaultValue: 'ALL',
      description:
        'How much of the earlier history the participant sees. Defaults to ALL. Takes effect on joining; ignored for a present '
        + 'participant.',
    }),
  }),
})

/** Defines the payload of a mutation that returns the participant that it changed. */
export const participantPayload = (verb: 'AddParticipant' | 'RemoveParticipant' | 'MarkRead' | 'SetPresence') =>
  payload<{ participant: Participant }>(verb).implement({
    description: 'Result of a change of a participant.',
    fields: (t) => ({
      participant: t.expose('participant', { type: 'Participant', description: 'The actor after the change.' }),
    }),
  })

const AddParticipantInput = builder.inputType('AddParticipantInput', {
  description: 'Who joins which conversation.',
  fields: (t) => ({
    ...conversationRef(t, 'to join'),
    participant: t.field({
      type: ParticipantInput,
      required: true,
      description: 'Who joins, and how much of the past they see.',
    }),
  }),
})

builder.mutationField('addParticipant', (t) =>
  t.field({
    type: participantPayload('AddParticipant'),
    description:
      'Puts somebody into a conversation, again if they have left. Who is in it already keeps their history; kind and name '
      + 'are taken over.',
    errors: orErrors('AddParticipant', [InvalidInput, NotFound, NotAllowed, LimitReached]),
    args: {
      input: t.arg({ type: AddParticipantInput, required: true, description: 'The conversation, and who joins it.' }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return { participant: await addParticipant(context.deps, context.viewer, given) }
    },
  }),
)

const RemoveParticipantInput = builder.inputType('RemoveParticipantInput', {
  description: 'Who leaves which conversation.',
  fields: (t) => ({
    ...conversationRef(t, 'to leave'),
    actor: t.string({
      required: true,
      description: 'The participant to remove. One who has left already is returned as it is.',
    }),
  }),
})

builder.mutationField('removeParticipant', (t) =>
  t.field({
    type: participantPayload('RemoveParticipant'),
    description:
      'Takes somebody out of a conversation. What they said stays, and so does their sight of what was said until then.',
    errors: orErrors('RemoveParticipant', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({
        type: RemoveParticipantInput,
        required: true,
        description: 'The conversation, and who leaves it.',
      }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return { participant: await removeParticipant(context.deps, context.viewer, given) }
    },
  }),
)

const MarkReadInput = builder.inputType('MarkReadInput', {
  description: 'Who has read a conversation, and how far.',
  fields: (t) => ({
    ...conversationRef(t, 'that was read'),
    seq: t.int({
      required: true,
      description: 'The newest journal entry that was read. Marks only move forward: a lower one changes nothing.',
    }),
    as: t.string({ description: 'Who has read it; the viewer when left out.' }),
  }),
})

builder.mutationField('markRead', (t) =>
  t.field({
    type: participantPayload('MarkRead'),
    description:
      'Says how far a participant has read. Their other devices are told by the inbox, the conversation by ParticipantRead.',
    errors: orErrors('MarkRead', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({ type: MarkReadInput, required: true, description: 'The conversation, and how far it was read.' }),
    },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      const participant = await markRead(deps, viewer, await atConversation(context, input, input.as))
      return { participant: readFor(context, actAs(viewer, input.as), participant, (read) => [read]) }
    },
  }),
)
