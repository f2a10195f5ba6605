// The turn that a turn replies to.

import { builder } from '../kernel/builder.ts'
import { loadTurn } from '../kernel/loaders.ts'

builder.objectField('Turn', 'replyTo', (t) =>
  t.field({
    type: 'Turn',
    nullable: true,
    description:
      'The turn to which this turn replies, in the version given by `replyToId`. Null if there is none, if the viewer '
      + 'does not see it, or if it was erased.',
    sharing: 'PER_VIEWER',
    resolve: async (turn, _, context) => {
      if (turn.replyToId === null) return null
      const target = await loadTurn(context, turn.replyToId)
      return target === null || target.status === 'ERASED' ? null : target
    },
  }),
)
