// Retention: the settings of a conversation, the fields of turns whose content was removed, and the deletion of
// inactive conversations.

import { pruneConversations } from '../../domain/trust/erasure/retention.ts'
import { InvalidInput, NotAllowed } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { orErrors, payload } from '../kernel/errors.ts'
import type { Conversation } from '../../domain/conversation/conversation.ts'

export const RetentionEnum = builder.enumType('Retention', {
  description:
    'Retention of the content of turns once summaries cover them, so that contexts no longer need it. Pinned turns '
    + 'keep their content, and so do all turns under legal hold.',
  values: {
    FULL: { description: 'The content is kept.' },
    AUDIT_ONLY: {
      description:
        'Text, parts, citations, metadata and embeddings are removed, and `contentHash` is a keyed hash of the content. '
        + 'Needs the server setting INTEGRITY_KEY.',
    },
    EPHEMERAL: {
      description: 'As AUDIT_ONLY, but without a hash; tool calls, client ids and trace ids are removed too.',
    },
  } satisfies Record<Conversation['retention'], object>,
})

builder.objectFields('Conversation', (t) => ({
  retention: t.field({
    type: RetentionEnum,
    description: 'Retention of the content of turns once summaries cover them.',
    sharing: 'SHAREABLE',
    resolve: ({ retention }) => retention,
  }),
  expiresAt: t.expose('expiresAt', {
    type: 'DateTime',
    nullable: true,
    description: 'Time after which the conversation is deleted, with all its content. Null for never.',
  }),
  legalHold: t.exposeBoolean('legalHold', {
    description:
      'Whether the conversation is under legal hold: nothing of it is deleted or erased; see `setLegalHold`.',
  }),
}))

builder.objectFields('Turn', (t) => ({
  removedAt: t.expose('removedAt', {
    type: 'DateTime',
    nullable: true,
    description:
      'Time at which the retention of the conversation removed the content, so that `text` and `parts` are empty. Null '
      + 'while the content is stored.',
  }),
  contentHash: t.exposeString('contentHash', {
    nullable: true,
    description:
      'HMAC-SHA-256, hexadecimal, of the content that retention AUDIT_ONLY removed: of the text of a turn with text only, '
      + 'else of the JSON of its parts. Null otherwise.',
  }),
}))

const PruneConversationsPayload = payload<{ expired: number }>('PruneConversations').implement({
  description: 'Result of pruneConversations.',
  fields: (t) => ({
    expired: t.exposeInt('expired', { description: 'Number of conversations that the call made expire.' }),
  }),
})

const PruneConversationsInput = builder.inputType('PruneConversationsInput', {
  description: 'Input of pruneConversations: the minimum time without activity.',
  fields: (t) => ({
    olderThanDays: t.int({
      required: true,
      description: 'Days since the newest journal entry of a conversation, 1 to 36,500.',
    }),
    ...asField(t, 'Actor that deletes the conversations.'),
  }),
})

builder.mutationField('pruneConversations', (t) =>
  t.field({
    type: PruneConversationsPayload,
    description:
      'Expires all conversations of the tenant without a journal entry in the given number of days, whether or not the '
      + 'viewer sees them. A background task deletes them within seconds to minutes. A conversation is kept if it or '
      + 'one of its participants is under legal hold.',
    errors: orErrors('PruneConversations', [InvalidInput, NotAllowed]),
    args: {
      input: t.arg({ type: PruneConversationsInput, required: true, description: 'Minimum time without activity.' }),
    },
    resolve: async (_, { input: { olderThanDays } }, { deps, viewer }) => ({
      expired: await pruneConversations(deps, viewer, { olderThanDays }),
    }),
  }),
)
