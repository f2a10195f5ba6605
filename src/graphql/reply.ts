// The turn that a turn replies to.

import { builder } from './builder.ts'
import { loadTurn } from './loaders.ts'
import { PER_VIEWER } from './sharing.ts'

builder.objectField('Turn', 'replyTo', (t) =>
  t.field({
    type: 'Turn',
    nullable: true,
    description:
      'The turn that it replies to, in the version that it named. Null for none, if the viewer does not see that turn, or '
      + 'if it was erased.',
    extensions: PER_VIEWER,
    resolve: async (turn, _, context) => {
      if (turn.replyToId === null) return null
      const target = await loadTurn(context, turn.replyToId)
      return target === null || target.status === 'ERASED' ? null : target
    },
  }),
)
