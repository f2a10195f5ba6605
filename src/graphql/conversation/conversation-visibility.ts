// Conversation visibility: the enum for the field of Conversation and for inputs.

import { builder } from '../kernel/builder.ts'

export const ConversationVisibilityEnum = builder.enumType('ConversationVisibility', {
  description: 'Actors that may see a conversation.',
  values: {
    OPEN: {
      description:
        'Every actor of the tenant. An actor that is not a participant joins automatically by appending a turn.',
    },
    MEMBERS: {
      description:
        'Present and former participants only. For any other actor, the conversation looks like an unknown id. Only a '
        + 'present participant may add participants or change the conversation.',
    },
  } as const,
})
