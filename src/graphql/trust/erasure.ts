// The mutations that delete a conversation, and erase a turn or a user, permanently; their receipts, and legal holds.

import { deleteConversation } from '../../domain/trust/erasure/delete-conversation.ts'
import { eraseTurn, type ErasedTurn } from '../../domain/trust/erasure/erase-turn.ts'
import { eraseUser, INLINE_MS } from '../../domain/trust/erasure/erase-user.ts'
import { getErasure, type Erasure } from '../../domain/trust/erasure/erasure.ts'
import { setLegalHold } from '../../domain/trust/erasure/legal-hold.ts'
import { verifyErasureReceipt, type ErasureReceipt } from '../../domain/trust/erasure/receipt.ts'
import { InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { atConversation, atConversationIfGiven, conversationRef } from '../conversation/conversation-ref.ts'
import { orErrors, payload } from '../kernel/errors.ts'

const ErasureKindEnum = builder.enumType('ErasureKind', {
  description: 'Kind of the erased subject.',
  values: {
    TURN: { description: 'All versions of a turn.' },
    USER: { description: 'Everything that a user wrote, and the facts about the user.' },
    CONVERSATION: { description: 'One conversation, with all its turns.' },
  } satisfies Record<ErasureReceipt['kind'], object>,
})

builder.objectType('ErasureReceipt', {
  description: 'Numbers of deleted objects, and a signed document that states them. The erasure cannot be undone.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the erasure; the audit log contains it.' }),
    kind: t.field({
      type: ErasureKindEnum,
      description: 'Kind of the erased subject.',
      sharing: 'SHAREABLE',
      resolve: ({ kind }) => kind,
    }),
    subject: t.exposeString('subject', {
      description: "Id of the turn, in its first version, or of the conversation; for a user, a hash of the user's id.",
    }),
    conversations: t.exposeInt('conversations', { description: 'Number of deleted conversations.' }),
    turns: t.exposeInt('turns', {
      description: 'Number of deleted turns, or of turns whose content was erased, including superseded versions.',
    }),
    facts: t.exposeInt('facts', { description: 'Number of facts deleted because they had no other source.' }),
    summaries: t.exposeInt('summaries', { description: 'Number of deleted summaries.' }),
    profiles: t.exposeInt('profiles', { description: 'Number of deleted user profiles, made from deleted facts.' }),
    held: t.exposeInt('held', { description: 'Number of conversations that were skipped because of a legal hold.' }),
    counts: t.field({
      type: 'JSON',
      description: 'Number of removed rows by table, as an object. Tables without removed rows are omitted.',
      sharing: 'SHAREABLE',
      resolve: ({ counts }) => counts,
    }),
    completedAt: t.expose('completedAt', { type: 'DateTime', description: 'Time at which the erasure was completed.' }),
    document: t.exposeString('document', {
      description: 'The receipt as text, with the tenant: JSON that `signature` covers. Store both together.',
    }),
    signature: t.exposeString('signature', {
      nullable: true,
      description:
        'HMAC-SHA-256 of `document`, hexadecimal, which `verifyErasureReceipt` checks. Null if the server has no '
        + '`INTEGRITY_KEY`.',
    }),
  }),
})

const DeleteConversationPayload = payload<{ receipt: ErasureReceipt; deletedId: string }>(
  'DeleteConversation',
).implement({
  description: 'Result of deleteConversation.',
  fields: (t) => ({
    deletedConversationId: t.exposeID('deletedId', { description: 'Id of the conversation, which no longer exists.' }),
    receipt: t.expose('receipt', { type: 'ErasureReceipt', description: 'Numbers of deleted objects.' }),
  }),
})

const DeleteConversationInput = builder.inputType('DeleteConversationInput', {
  description: 'Input of deleteConversation: the id or key of the conversation.',
  fields: (t) => ({ ...conversationRef(t, 'to delete'), ...asField(t, 'Actor that deletes the conversation.') }),
})

builder.mutationField('deleteConversation', (t) =>
  t.field({
    type: DeleteConversationPayload,
    description:
      'Deletes a conversation permanently, with its turns and summaries, its facts without another source, and the '
      + 'user profiles made from its facts. Subscribers receive ConversationDeleted, and their subscriptions '
      + 'complete. Fails with NotAllowed if the conversation, or an actor who is or was a participant, is under legal hold.',
    errors: orErrors('DeleteConversation', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({ type: DeleteConversationInput, required: true, description: 'The conversation to delete.' }),
    },
    async resolve(_, { input }, context) {
      const { conversationId } = await atConversation(context, input)
      const { deps, viewer } = context
      const receipt = await deps.gates.deletions.run(viewer.tenant, () =>
        deleteConversation(deps, viewer, conversationId),
      )
      return { receipt, deletedId: conversationId }
    },
  }),
)

const EraseTurnPayload = payload<ErasedTurn>('EraseTurn').implement({
  description: 'Result of eraseTurn.',
  fields: (t) => ({
    turn: t.expose('turn', {
      type: 'Turn',
      description: 'The version that was given, without content: its status is ERASED.',
    }),
    receipt: t.expose('receipt', {
      type: 'ErasureReceipt',
      description: 'Numbers of erased objects; of the first erasure if the turn was erased before.',
    }),
  }),
})

const EraseTurnInput = builder.inputType('EraseTurnInput', {
  description: 'Input of eraseTurn: any version of the turn.',
  fields: (t) => ({
    turnId: t.id({ required: true, description: 'Id of any version of the turn to erase.' }),
    ...asField(t, 'Actor that erases the turn.'),
  }),
})

builder.mutationField('eraseTurn', (t) =>
  t.field({
    type: EraseTurnPayload,
    description:
      'Erases the content of all versions of a turn permanently, with its vectors and tool calls, its facts without '
      + 'another source, and the summaries, automatic title and profiles that were made from it, which are made again. '
      + 'The turn keeps its position, author and times. Subscribers receive TurnErased. Fails with NotAllowed if the '
      + 'conversation or the author is under legal hold.',
    errors: orErrors('EraseTurn', [InvalidInput, NotFound, NotAllowed]),
    args: { input: t.arg({ type: EraseTurnInput, required: true, description: 'The turn to erase.' }) },
    resolve: (_, { input: { turnId } }, { deps, viewer }) => eraseTurn(deps, viewer, { turnId }),
  }),
)

const ErasureType = builder
  .objectRef<Erasure>('Erasure')
  .implement({
    description: 'The erasure of a user, which may still run.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Id of the erasure; pass it to `erasure`.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which it was requested.' }),
      receipt: t.field({
        type: 'ErasureReceipt',
        nullable: true,
        description: 'Numbers of erased objects. Null until the erasure is complete.',
        sharing: 'SHAREABLE',
        resolve: ({ receipt }) => receipt,
      }),
    }),
  })

const EraseUserPayload = payload<Erasure>('EraseUser').implement({
  description: 'Result of eraseUser.',
  fields: (t) => ({
    erasure: t.field({
      type: ErasureType,
      description: 'The erasure. Read it again by its id until it has a receipt.',
      sharing: 'SHAREABLE',
      resolve: (erasure) => erasure,
    }),
  }),
})

const EraseUserInput = builder.inputType('EraseUserInput', {
  description: 'Input of eraseUser: the user whose personal data is erased.',
  fields: (t) => ({
    userId: t.string({ required: true, description: 'The user: the actor of its turns, and `userId` of its facts.' }),
    ...asField(t, 'Actor that erases the user.'),
  }),
})

builder.mutationField('eraseUser', (t) =>
  t.field({
    type: EraseUserPayload,
    description:
      'Erases a user in the whole tenant: the content of its turns as eraseTurn does, its display names, metadata and '
      + 'agent settings as a participant, the options of its runs, the texts of its decisions about approvals, its '
      + 'presence and profile, the facts about the user, and its assertions of other facts; in conversations that the '
      + 'user owns, title and metadata. Facts that others assert about others are kept. Conversations under '
      + `legal hold are skipped and counted. Works for ${INLINE_MS / 1000} s; a background task continues. Revoke the `
      + "user's credentials first: turns written meanwhile are kept. Fails with NotAllowed if the user is under legal "
      + 'hold.',
    errors: orErrors('EraseUser', [InvalidInput, NotAllowed]),
    args: { input: t.arg({ type: EraseUserInput, required: true, description: 'The user to erase.' }) },
    resolve: (_, { input: { userId } }, { deps, viewer }) => eraseUser(deps, viewer, { userId }),
  }),
)

builder.queryField('erasure', (t) =>
  t.field({
    verb: 'getErasure',
    type: ErasureType,
    nullable: true,
    description: 'Returns an erasure of the tenant. Null if there is none with that id.',
    args: { id: t.arg.id({ required: true, description: 'Id of the erasure.' }) },
    resolve: (_, { id }, { reading, viewer, work }) => work.read(() => getErasure(reading, viewer, id)),
  }),
)

builder.queryField('verifyErasureReceipt', (t) =>
  t.boolean({
    verb: 'verifyErasureReceipt',
    description:
      'Whether this server signed the document of a receipt with its present `INTEGRITY_KEY`. False without a key.',
    args: {
      document: t.arg.string({ required: true, description: '`document` of the receipt, unchanged.' }),
      signature: t.arg.string({ required: true, description: '`signature` of the receipt.' }),
    },
    resolve: (_, input, { reading, viewer, work }) =>
      work.read(async () => verifyErasureReceipt(reading, viewer, input)),
  }),
)

const SetLegalHoldPayload = payload<{ legalHold: boolean; changed: boolean }>('SetLegalHold').implement({
  description: 'Result of setLegalHold.',
  fields: (t) => ({
    legalHold: t.exposeBoolean('legalHold', {
      description: 'Whether the conversation or user is under legal hold now.',
    }),
    changed: t.exposeBoolean('changed', { description: 'Whether the call changed the hold.' }),
  }),
})

const SetLegalHoldInput = builder.inputType('SetLegalHoldInput', {
  description: 'Input of setLegalHold: a conversation, by id or key, or a user.',
  fields: (t) => ({
    ...conversationRef(t, 'to hold'),
    userId: t.string({ description: 'The user to hold. Exclusive with the conversation.' }),
    legalHold: t.boolean({ required: true, description: 'True to begin the hold, false to end it.' }),
    ...asField(t, 'Actor that sets the hold.'),
  }),
})

builder.mutationField('setLegalHold', (t) =>
  t.field({
    type: SetLegalHoldPayload,
    description:
      'Begins or ends the legal hold of a conversation or a user. While it lasts, their data is neither deleted nor erased, '
      + 'by a call or by retention. Applies also to conversations that the viewer does not see.',
    errors: orErrors('SetLegalHold', [InvalidInput, NotFound, NotAllowed]),
    args: { input: t.arg({ type: SetLegalHoldInput, required: true, description: 'The hold to set.' }) },
    async resolve(_, { input }, context) {
      const { as: _as, legalHold, ...subject } = await atConversationIfGiven(context, input)
      return { legalHold, changed: await setLegalHold(context.deps, context.viewer, { ...subject, legalHold }) }
    },
  }),
)
