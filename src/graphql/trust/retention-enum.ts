// The retention of the content of a conversation's turns.

import type { Conversation } from '../../domain/conversation/conversation.ts'
import { builder } from '../kernel/builder.ts'

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
