// Presence: the current state of each participant. It is ephemeral: the journal does not contain it.

import { setPresence } from '../../domain/conversation/presence.ts'
import { InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { loadPresence } from '../kernel/loaders.ts'
import { participantPayload } from './participant.ts'
import { orErrors } from '../kernel/errors.ts'

export const PresenceStateEnum = builder.enumType('PresenceState', {
  description:
    'Current activity of a participant. If several clients of one participant set a state, the newest state applies.',
  values: {
    ONLINE: { description: 'Connected or writing, without a more specific activity.' },
    TYPING: { description: 'Writing a message.' },
    THINKING: { description: 'Generating an answer with a model.' },
    AWAY: { description: 'Connected, but inactive.' },
    OFFLINE: { description: 'No current state: never set, removed, expired, or ended with a connection.' },
  } as const,
})

builder.objectField('Participant', 'presence', (t) =>
  t.field({
    type: PresenceStateEnum,
    description: 'Current state of the participant. OFFLINE if none is set.',
    sharing: 'SHAREABLE',
    resolve: (participant, _, context) => loadPresence(context, participant),
  }),
)

const SetPresenceInput = builder.inputType('SetPresenceInput', {
  description: 'Input of setPresence: a conversation, the participant and the new state.',
  fields: (t) => ({
    ...conversationRef(t, 'of the participant'),
    state: t.field({
      type: PresenceStateEnum,
      required: true,
      description:
        'New state. OFFLINE removes the state that this client set. All clients over HTTP count as one client.',
    }),
    ...asField(t, 'Actor whose presence is set; must be a present participant.'),
  }),
})

builder.mutationField('setPresence', (t) =>
  t.field({
    type: participantPayload('SetPresence'),
    description:
      'Sets the presence of a participant. A state set over a WebSocket ends when the socket closes; a state set '
      + 'over HTTP expires after 60 seconds by default unless it is set again. Any state ends within 2 seconds when the '
      + "actor's last WebSocket or event stream ends. An author without a state is ONLINE while it writes.",
    errors: orErrors('SetPresence', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({ type: SetPresenceInput, required: true, description: 'Conversation, participant and state.' }),
    },
    async resolve(_, { input }, context) {
      const { deps, viewer, holder } = context
      return { participant: await setPresence(deps, viewer, await atConversation(context, input), holder) }
    },
  }),
)
