// Conversation visibility: the enum for the field of Conversation and for inputs.

import { builder } from './builder.ts'

export const ConversationVisibilityEnum = builder.enumType('ConversationVisibility', {
  description: 'Who sees that a conversation exists.',
  values: {
    OPEN: {
      description: 'Every actor of the tenant. An actor who is not yet a participant joins by appending a turn.',
    },
    MEMBERS: {
      description:
        'Its present and former participants. For any other actor, every query and mutation answers as for an unknown id. '
        + 'Only a present participant adds others or changes the conversation.',
    },
  } as const,
})
