// Who is here right now, and what they are about. It passes: nothing of it is stored with the conversation.

import { setPresence } from '../domain/presence.ts'
import { InvalidInput, NotAllowed, NotFound } from '../errors.ts'
import { builder } from './builder.ts'
import { loadPresence } from './loaders.ts'
import { orErrors } from './result.ts'

export const PresenceStateEnum = builder.enumType('PresenceState', {
  description: 'What a participant is doing right now. With several windows open, the one that spoke last counts.',
  values: {
    ONLINE: { description: 'Here, and about nothing in particular.' },
    TYPING: { description: 'A person is writing.' },
    THINKING: { description: 'A model is at work.' },
    AWAY: { description: 'Connected, but not looking.' },
    OFFLINE: { description: 'Not here: said so, closed the socket, or was silent for too long.' },
  } as const,
})

builder.objectField('Participant', 'presence', (t) =>
  t.field({
    type: PresenceStateEnum,
    description: 'What they are doing right now; OFFLINE for whoever never said.',
    resolve: (participant, _, context) => loadPresence(context, participant.viewer, participant),
  }),
)

const SetPresenceInput = builder.inputType('SetPresenceInput', {
  description: 'Who is doing what in which conversation.',
  fields: (t) => ({
    conversationId: t.id({ required: true, description: 'The conversation they are in.' }),
    state: t.field({
      type: PresenceStateEnum,
      required: true,
      description: 'What they are doing; OFFLINE takes back what was set.',
    }),
    as: t.string({ description: "Whose presence it is; the viewer's when left out." }),
  }),
})

builder.mutationField('setPresence', (t) =>
  t.field({
    type: 'Participant',
    description:
      'Says what a participant is doing. Over a WebSocket it holds until the socket closes; over HTTP for a minute '
      + '(by default), unless it is set again.',
    errors: orErrors('SetPresence', 'The participant with that presence, or why it was not set.', [
      InvalidInput,
      NotFound,
      NotAllowed,
    ]),
    args: {
      input: t.arg({
        type: SetPresenceInput,
        required: true,
        description: 'The conversation, and what they are doing there.',
      }),
    },
    resolve: (_, { input }, { deps, viewer, holder }) => setPresence(deps, viewer, input, holder),
  }),
)
