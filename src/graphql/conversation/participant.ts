// Participants of a conversation: the type, their read positions, and the mutations that change them.

import {
  addParticipant,
  MAX_PARTICIPANTS,
  markRead,
  removeParticipant,
  type Participant,
} from '../../domain/conversation/participant/participant.ts'
import { MAX_UNREAD } from '../../domain/conversation/participant/participant-details.ts'
import { derivedId } from '../../domain/kernel/derived-id.ts'
import { DEFAULT_PAGE_SIZE, type Page } from '../../domain/kernel/page.ts'
import { participantCursor } from '../../domain/conversation/participant/participant-page.ts'
import { InvalidInput, NotAllowed, NotFound, LimitReached } from '../../errors.ts'
import { AgentInput, RespondEnum } from '../agent/agent.ts'
import { asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { loadPageOfParticipants, loadParticipant, loadParticipantCount, loadUnreadCount } from '../kernel/loaders.ts'
import { METADATA } from '../kernel/metadata.ts'
import { Node } from '../kernel/node.ts'
import { orErrors, payload } from '../kernel/errors.ts'

export const ParticipantKindEnum = builder.enumType('ParticipantKind', {
  description: 'Kind of actor. It does not affect what the participant may see or do.',
  values: {
    HUMAN: { description: 'Person.' },
    AGENT: { description: 'Program that writes the messages of a model.' },
    TOOL: { description: 'Program that returns the results of tool calls.' },
  } as const,
})

export const HistoryVisibilityEnum = builder.enumType('HistoryVisibility', {
  description: 'Part of the earlier history that a participant sees.',
  values: {
    ALL: { description: 'Whole history, except turns whose audience excludes the participant.' },
    SINCE_JOINED: {
      description: 'Turns written after the participant joined, and turns that it saw during earlier memberships.',
    },
  } as const,
})

builder.objectType('Participant', {
  interfaces: [Node],
  description:
    'Present or former member of a conversation. A former participant still sees the turns that it saw until it left.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id; pass it to `node`.',
      sharing: 'SHAREABLE',
      resolve: ({ conversationId, actor }) => derivedId({ kind: 'participant', conversationId, actor }),
    }),
    actor: t.exposeString('actor', {
      description: 'Application-defined name of the user, agent or tool, unique in the conversation.',
    }),
    kind: t.expose('kind', {
      type: ParticipantKindEnum,
      description:
        'Kind of actor. An actor that writes a turn with a credential of its own has the kind of that credential from then '
        + 'on, unless it has `agent` settings. Until then, it has the kind that it was added with. If it joined '
        + 'automatically without a credential, the role of its first turn determines the kind: HUMAN for USER, TOOL for '
        + 'TOOL, AGENT for ASSISTANT and SYSTEM.',
    }),
    displayName: t.exposeString('displayName', {
      nullable: true,
      description: 'Name for display. Null if not given; display `actor` instead.',
    }),
    historyVisibility: t.expose('historyVisibility', {
      type: HistoryVisibilityEnum,
      description:
        'Part of the earlier history that the participant sees, as chosen when it joined last, or by '
        + 'updateParticipant.',
    }),
    administrator: t.exposeBoolean('administrator', {
      description: 'Whether the participant may manage the conversation as its owner does. False after it has left.',
    }),
    respond: t.expose('respond', {
      type: RespondEnum,
      description: 'Turns that wake up the participant. NEVER unless given. A former participant is not woken up.',
    }),
    joinedAt: t.expose('joinedAt', { type: 'DateTime', description: 'Time at which the participant joined last.' }),
    leftAt: t.expose('leftAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the participant left. Null for a present participant.',
    }),
    lastReadSeq: t.exposeInt('lastReadSeq', {
      description: 'Sequence number of the newest journal entry marked as read by `markRead`. 0 if none was.',
    }),
    unreadCount: t.int({
      description:
        'Number of turns by others, committed after `lastReadSeq`, that both the participant and the viewer see. At most '
        + `${MAX_UNREAD.toLocaleString('en-US')}; further turns are not counted.`,
      sharing: 'PER_VIEWER',
      resolve: (participant, _, context) => loadUnreadCount(context, participant),
    }),
  }),
})

/** A page of participants, with their conversation. */
type ParticipantPage = Page<Participant> & { conversationId: string }

const { Connection: ParticipantConnection } = connectionOf<Participant, ParticipantPage>(
  'Participant',
  'participants',
  participantCursor,
)

builder.objectField(ParticipantConnection, 'totalCount', (t) =>
  t.int({
    description: 'Number of present and former participants of the conversation.',
    sharing: 'SHAREABLE',
    resolve: ({ conversationId }, _, context) => loadParticipantCount(context, conversationId),
  }),
)

builder.objectField('Conversation', 'participants', (t) =>
  t.field({
    type: ParticipantConnection,
    description:
      'Present and former participants (`leftAt`), in the order in which they joined last. Returns the first '
      + `${DEFAULT_PAGE_SIZE} unless \`first\` or \`last\` is given.`,
    sharing: 'SHAREABLE',
    args: pagingArgs(t, 'participants'),
    async resolve(conversation, args, context) {
      const page = await loadPageOfParticipants(context, conversation.id, args)
      return { ...page, conversationId: conversation.id }
    },
  }),
)

builder.objectFields('Conversation', (t) => ({
  viewerParticipant: t.field({
    type: 'Participant',
    nullable: true,
    description: 'The viewer as a present or former participant. Null if the viewer never joined.',
    sharing: 'PER_VIEWER',
    resolve: ({ id }, _, context) => loadParticipant(context, { conversationId: id, actor: context.viewer.actor }),
  }),
  viewerUnreadCount: t.int({
    description:
      'Number of committed turns by others that the viewer has not read. At most '
      + `${MAX_UNREAD.toLocaleString('en-US')}; 0 if the viewer never joined.`,
    sharing: 'PER_VIEWER',
    resolve: ({ id }, _, context) => loadUnreadCount(context, { conversationId: id, actor: context.viewer.actor }),
  }),
}))

export const ParticipantInput = builder.inputType('ParticipantInput', {
  description: 'Actor to add to a conversation.',
  fields: (t) => ({
    actor: t.string({
      required: true,
      description: 'Application-defined name of the user, agent or tool, 1 to 200 characters.',
    }),
    kind: t.field({
      type: ParticipantKindEnum,
      description:
        'Kind of actor. Defaults to the kind of the credential if `actor` is the actor of the credential; otherwise to '
        + 'AGENT if `agent` or a `respond` other than NEVER is given, and to HUMAN if neither is. A credential without the '
        + 'right `act-as` cannot make another actor more trusted than itself: an agent that adds an actor without `kind` '
        + 'adds an AGENT, and NotAllowed refuses the kind HUMAN. Takes effect on joining; ignored for a present '
        + 'participant.',
    }),
    displayName: t.string({
      description: 'Name for display, at most 200 characters. Omit to keep the name of an existing participant.',
    }),
    historyVisibility: t.field({
      type: HistoryVisibilityEnum,
      description:
        'Part of the earlier history that the participant sees. Defaults to ALL; for a viewer that adds itself again with '
        + 'a credential, to its previous value. Takes effect on joining; ignored for a present participant.',
    }),
    administrator: t.boolean({
      description:
        'Whether the participant may manage the conversation as its owner does. Defaults to false; omit to keep the value '
        + 'of a present participant.',
    }),
    metadata: t.field({
      type: 'JSON',
      description: `${METADATA} Omit to keep the metadata of an existing participant.`,
    }),
    respond: t.field({
      type: RespondEnum,
      description:
        'Turns that wake up the participant. Defaults to NEVER; omit to keep the value of an existing participant.',
    }),
    agent: t.field({
      type: AgentInput,
      description:
        'Settings with which the server runs the participant, which must be of the kind AGENT. Defaults to null, for a '
        + 'participant that the server does not run; omit to keep the settings of an existing participant.',
    }),
  }),
})

/** Defines the payload of a mutation that returns the participant that it changed. */
export const participantPayload = (
  verb: 'AddParticipant' | 'UpdateParticipant' | 'RemoveParticipant' | 'MarkRead' | 'SetPresence',
) =>
  payload<{ participant: Participant }>(verb).implement({
    description: 'The changed participant.',
    fields: (t) => ({
      participant: t.expose('participant', { type: 'Participant', description: 'State after the change.' }),
    }),
  })

const AddParticipantInput = builder.inputType('AddParticipantInput', {
  description: 'Input of addParticipant: a conversation and the actor to add.',
  fields: (t) => ({
    ...conversationRef(t, 'to join'),
    participant: t.field({ type: ParticipantInput, required: true, description: 'Actor to add.' }),
    ...asField(t, 'Actor that adds the participant.'),
  }),
})

builder.mutationField('addParticipant', (t) =>
  t.field({
    type: participantPayload('AddParticipant'),
    description:
      'Adds an actor to a conversation, or adds a former participant again. For a present participant, only '
      + `\`displayName\`, \`metadata\`, \`administrator\`, \`respond\` and \`agent\` are updated, if given. A conversation has at most ${MAX_PARTICIPANTS.toLocaleString('en-US')} `
      + 'participants, including former ones.',
    errors: orErrors('AddParticipant', [InvalidInput, NotFound, NotAllowed, LimitReached]),
    args: { input: t.arg({ type: AddParticipantInput, required: true, description: 'Conversation and actor.' }) },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return { participant: await addParticipant(context.deps, context.viewer, given) }
    },
  }),
)

const RemoveParticipantInput = builder.inputType('RemoveParticipantInput', {
  description: 'Input of removeParticipant: a conversation and the actor to remove.',
  fields: (t) => ({
    ...conversationRef(t, 'to leave'),
    actor: t.string({
      required: true,
      description: 'Participant to remove. A former participant is returned unchanged.',
    }),
    ...asField(t, 'Actor that removes the participant; equal to `actor` if the participant leaves.'),
  }),
})

builder.mutationField('removeParticipant', (t) =>
  t.field({
    type: participantPayload('RemoveParticipant'),
    description:
      'Removes a participant from a conversation. Its turns are kept, and it still sees the turns that it saw until '
      + 'then. A participant removed by another actor must be added again; a participant that removed itself may join '
      + 'an OPEN conversation again by appending a turn.',
    errors: orErrors('RemoveParticipant', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({ type: RemoveParticipantInput, required: true, description: 'Conversation and participant.' }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return { participant: await removeParticipant(context.deps, context.viewer, given) }
    },
  }),
)

const MarkReadInput = builder.inputType('MarkReadInput', {
  description: 'Input of markRead: a conversation, the participant and the newest journal entry read.',
  fields: (t) => ({
    ...conversationRef(t, 'of the participant'),
    seq: t.int({
      required: true,
      description:
        'Sequence number of the newest journal entry that was read; at most `lastSeq` of the conversation. A number '
        + 'below `lastReadSeq` changes nothing.',
    }),
    ...asField(t, 'Actor that read the entries; must be a present participant.'),
  }),
})

builder.mutationField('markRead', (t) =>
  t.field({
    type: participantPayload('MarkRead'),
    description:
      'Marks journal entries as read by a participant. Subscribers of the conversation receive ParticipantRead; '
      + '`inbox` subscriptions of the participant receive READ.',
    errors: orErrors('MarkRead', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({ type: MarkReadInput, required: true, description: 'Conversation, participant and `seq`.' }),
    },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      return { participant: await markRead(deps, viewer, await atConversation(context, input)) }
    },
  }),
)
