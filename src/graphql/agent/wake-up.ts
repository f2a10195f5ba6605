// The turns that wait for an actor's answer.

import { getWakeUps, wakeUpCursor, type WakeUp } from '../../domain/agent/claim/wake-up-page.ts'
import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import { asArg } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf } from '../kernel/connection.ts'
import { loadTurnOf } from '../kernel/loaders.ts'

builder.objectType('WakeUp', {
  description: 'A turn that waits for the answer of a participant.',
  fields: (t) => ({
    turn: t.field({
      type: 'Turn',
      description: 'First version of the turn to answer.',
      sharing: 'PER_VIEWER',
      resolve: ({ turnId }, _, context) => loadTurnOf(context, turnId),
    }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'Time at which the turn woke up the participant. Lists are ordered by it.',
      sharing: 'SHAREABLE',
      resolve: ({ at }) => at,
    }),
    claim: t.expose('claim', {
      type: 'Claim',
      nullable: true,
      description:
        'The live claim of a process of the participant, or of another participant with scope TURN. Null for none: the '
        + 'participant can claim the turn, unless a run of the server answers it and waits for tools or approval.',
    }),
  }),
})

const { Connection } = connectionOf<WakeUp>('WakeUp', 'wake-ups', wakeUpCursor)

builder.queryField('wakeUps', (t) =>
  t.field({
    verb: 'getWakeUps',
    type: Connection,
    description:
      "Lists the turns that wait for an actor's answer, oldest first: the turns that woke up the actor, that it still "
      + 'sees, and that it has neither answered nor dismissed.',
    args: {
      first: t.arg.int({
        description: `Maximum number of wake-ups. Defaults to ${DEFAULT_PAGE_SIZE}; at most the server's page size, 200 by default.`,
      }),
      after: t.arg.string({ description: 'Cursor; returns the wake-ups after it.' }),
      ...asArg(t),
    },
    resolve: (_, { first, after }, { reading, principal, viewer, work }) =>
      work.read(() => getWakeUps(reading, principal, { as: viewer.actor, first, after })),
  }),
)
