// The metadata of participants, and the mutation that updates participants.

import { updateParticipant } from '../../domain/conversation/participant/update-participant.ts'
import { InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { AgentInput, RespondEnum } from '../agent/agent.ts'
import { asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { loadParticipantDetails } from '../kernel/loaders.ts'
import { METADATA_PATCH, REPLACED_METADATA } from '../kernel/metadata.ts'
import { HistoryVisibilityEnum, participantPayload } from './participant.ts'
import { orErrors } from '../kernel/errors.ts'

builder.objectField('Participant', 'metadata', (t) =>
  t.field({
    type: 'JSON',
    description: 'Application-defined metadata: a JSON object. Empty if not given.',
    sharing: 'SHAREABLE',
    resolve: async (participant, _, context) => (await loadParticipantDetails(context, participant)).metadata,
  }),
)

const UpdateParticipantInput = builder.inputType('UpdateParticipantInput', {
  description: 'Input of updateParticipant. Omit a field to keep its value.',
  fields: (t) => ({
    ...conversationRef(t, 'of the participant'),
    actor: t.string({ required: true, description: 'Present or former participant to update.' }),
    displayName: t.string({ description: 'New name for display, at most 200 characters. Null clears it.' }),
    historyVisibility: t.field({
      type: HistoryVisibilityEnum,
      description:
        'New part of the earlier history that the participant sees. It changes the view at once, live subscriptions '
        + 'included. SINCE_JOINED shows only the turns written while the actor was a participant. Must not be null.',
    }),
    administrator: t.boolean({
      description:
        'Whether the participant may manage the conversation as its owner does. True only for a present participant. '
        + 'Must not be null.',
    }),
    metadata: t.field({ type: 'JSON', description: `${REPLACED_METADATA} Null clears it.` }),
    metadataPatch: t.field({ type: 'JSON', description: METADATA_PATCH }),
    respond: t.field({
      type: RespondEnum,
      description:
        'New turns that wake up the participant. Null restores NEVER, which ends the wake-ups that wait for an answer.',
    }),
    agent: t.field({
      type: AgentInput,
      description:
        'New settings with which the server runs the participant, which must be of the kind AGENT; they replace the old '
        + 'ones as a whole. Null deletes the settings: the server then no longer runs the participant.',
    }),
    ...asField(t),
  }),
})

builder.mutationField('updateParticipant', (t) =>
  t.field({
    type: participantPayload('UpdateParticipant'),
    description:
      'Updates a participant. Subscribers of the conversation receive ParticipantUpdated, unless nothing changed.',
    errors: orErrors('UpdateParticipant', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({ type: UpdateParticipantInput, required: true, description: 'Participant and new values.' }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return { participant: await updateParticipant(context.deps, context.viewer, given) }
    },
  }),
)
