// The mutation that deletes a conversation permanently, and its receipt.

import { deleteConversation, type ErasureReceipt } from '../domain/erasure/delete-conversation.ts'
import { InvalidInput, NotAllowed, NotFound } from '../errors.ts'
import { builder } from './builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { orErrors, payload } from './result.ts'

builder.objectType('ErasureReceipt', {
  description: 'What was erased, counted. Nothing of it can be had back.',
  fields: (t) => ({
    conversations: t.exposeInt('conversations', {
      description: 'Conversations that are gone with all that was in them.',
    }),
    turns: t.exposeInt('turns', { description: 'Turns whose content is gone, older versions included.' }),
    facts: t.exposeInt('facts', { description: 'Facts that are gone with what they were drawn from.' }),
    summaries: t.exposeInt('summaries', { description: 'Summaries that are gone with what they covered.' }),
    profiles: t.exposeInt('profiles', { description: 'User profiles that are gone.' }),
    completedAt: t.expose('completedAt', { type: 'DateTime', description: 'When all of it was gone.' }),
  }),
})

const DeleteConversationPayload = payload<ErasureReceipt & { deletedId: string }>('DeleteConversation').implement({
  description: 'Id of the removed conversation, and what was removed with it.',
  fields: (t) => ({
    deletedConversationId: t.exposeID('deletedId', { description: 'Id of the conversation that no longer exists.' }),
    receipt: t.field({
      type: 'ErasureReceipt',
      description: 'Number of objects that were deleted.',
      resolve: (deleted) => deleted,
    }),
  }),
})

const DeleteConversationInput = builder.inputType('DeleteConversationInput', {
  description: 'Selects the conversation that deleteConversation removes.',
  fields: (t) => conversationRef(t, 'to delete'),
})

builder.mutationField('deleteConversation', (t) =>
  t.field({
    type: DeleteConversationPayload,
    description:
      'Deletes a conversation permanently, with everything in it. Its subscribers receive ConversationDeleted, and their '
      + 'subscriptions complete.',
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
