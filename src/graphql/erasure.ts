// The mutation that deletes a conversation permanently, and its receipt.

import { deleteConversation } from '../domain/erasure/delete-conversation.ts'
import { NotAllowed, NotFound } from '../errors.ts'
import { builder } from './builder.ts'
import { orErrors } from './result.ts'

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

builder.mutationField('deleteConversation', (t) =>
  t.field({
    type: 'ErasureReceipt',
    description:
      'Deletes a conversation with all that is in it, at once and for good. Its readers are told, and their subscriptions end.',
    errors: orErrors('DeleteConversation', 'What was erased, or why the conversation is still there.', [
      NotFound,
      NotAllowed,
    ]),
    args: { id: t.arg.id({ required: true, description: 'The conversation to delete.' }) },
    resolve: (_, { id }, { deps, viewer }) => deleteConversation(deps, viewer, id),
  }),
)
