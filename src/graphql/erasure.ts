// The mutation that deletes a conversation permanently, and its receipt.

import { deleteConversation, type ErasureReceipt } from '../domain/erasure/delete-conversation.ts'
import { InvalidInput, NotAllowed, NotFound } from '../errors.ts'
import { asField } from './as.ts'
import { builder } from './builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { orErrors, payload } from './result.ts'

builder.objectType('ErasureReceipt', {
  description: 'Numbers of deleted objects. The deletion cannot be undone.',
  fields: (t) => ({
    conversations: t.exposeInt('conversations', { description: 'Number of deleted conversations.' }),
    turns: t.exposeInt('turns', { description: 'Number of deleted turns, including superseded versions.' }),
    facts: t.exposeInt('facts', {
      description: 'Number of facts deleted because they had no source in another conversation.',
    }),
    summaries: t.exposeInt('summaries', { description: 'Number of deleted summaries.' }),
    profiles: t.exposeInt('profiles', {
      description: 'Number of deleted user profiles, which were made from facts of the conversation.',
    }),
    completedAt: t.expose('completedAt', {
      type: 'DateTime',
      description: 'Time at which the deletion was completed.',
    }),
  }),
})

const DeleteConversationPayload = payload<ErasureReceipt & { deletedId: string }>('DeleteConversation').implement({
  description: 'Result of deleteConversation.',
  fields: (t) => ({
    deletedConversationId: t.exposeID('deletedId', { description: 'Id of the conversation, which no longer exists.' }),
    receipt: t.field({
      type: 'ErasureReceipt',
      description: 'Numbers of deleted objects.',
      resolve: (deleted) => deleted,
    }),
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
      + 'complete.',
    errors: orErrors('DeleteConversation', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({ type: DeleteConversationInput, required: true, description: 'The conversation to delete.' }),
    },
    async resolve(_, { input }, context) {
      const { conversationId } = await atConversation(context, input)
      return { ...(await deleteConversation(context.deps, context.viewer, conversationId)), deletedId: conversationId }
    },
  }),
)
