// Presence: the current state of each participant. It is ephemeral, and never written to the journal.

import { setPresence } from '../domain/presence.ts'
import { InvalidInput, NotAllowed, NotFound } from '../errors.ts'
import { actAs } from '../domain/view.ts'
import { builder } from './builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { loadPresence } from './loaders.ts'
import { readFor, viewerOf } from './inherited-view.ts'
import { SHAREABLE } from './sharing.ts'
import { participantPayload } from './participant.ts'
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
    extensions: SHAREABLE,
    resolve: (participant, _, context) => loadPresence(context, viewerOf(context, participant), participant),
  }),
)

const SetPresenceInput = builder.inputType('SetPresenceInput', {
  description: 'Who is doing what in which conversation.',
  fields: (t) => ({
    ...conversationRef(t, 'that the participant is in'),
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
    type: participantPayload('SetPresence'),
    description:
      'Says what a participant is doing. Over a WebSocket it holds until the socket closes; over HTTP for a minute '
      + '(by default), unless it is set again.',
    errors: orErrors('SetPresence', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({
        type: SetPresenceInput,
        required: true,
        description: 'The conversation, and what they are doing there.',
      }),
    },
    async resolve(_, { input }, context) {
      const { deps, viewer, holder } = context
      const participant = await setPresence(deps, viewer, await atConversation(context, input, input.as), holder)
      return { participant: readFor(context, actAs(viewer, input.as), participant, (read) => [read]) }
    },
  }),
)
