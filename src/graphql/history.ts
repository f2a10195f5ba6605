// The newest of a room at once, for whoever wants to show or to continue it. Pages of all of it are Conversation.turns.

import type { Turn } from '../domain/turn/turn.ts'
import { builder } from './builder.ts'
import { loadHistory } from './loaders.ts'
import { PER_VIEWER } from './per-viewer.ts'
import { viewAs } from './viewer.ts'

const HistoryEntry = builder.unionType('HistoryEntry', {
  description: "What stands in a room's history.",
  types: ['Turn'],
  resolveType: (): 'Turn' => 'Turn',
})

builder.objectField('Conversation', 'history', (t) =>
  t.field({
    type: [HistoryEntry],
    description: 'The newest turns as the viewer sees them, newest versions only, oldest first.',
    extensions: PER_VIEWER,
    args: {
      limit: t.arg.int({
        defaultValue: 50, description: "Turns at most: 1 up to the server's page size, 200 by default.",
      }),
      before: t.arg.int({
        description: "Only what stands before this journal entry's number: the `seq` of the oldest turn at hand.",
      }),
      as: t.arg.string({
        description: "In whose view; the viewer's when left out. It holds for all that is selected below.",
      }),
    },
    resolve: (room, { as, ...args }, context): Promise<Turn[]> =>
      loadHistory(context, viewAs(room.viewer, as), room.id, args),
  }))
