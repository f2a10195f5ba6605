// Conversation.history: the newest turns in one list, optionally with summaries. Conversation.turns (turn.ts) returns
// pages.

import { isSummary } from '../domain/summary/history.ts'
import type { Summary } from '../domain/summary/summary.ts'
import type { Turn } from '../domain/turn/turn.ts'
import { builder } from './builder.ts'
import { loadHistory, loadHistoryWithSummaries } from './loaders.ts'
import { viewerOf } from './inherited-view.ts'
import { PER_VIEWER } from './sharing.ts'
import { viewAs } from './viewer.ts'

const HistoryEntry = builder.unionType('HistoryEntry', {
  description: "What stands in a conversation's history: what was said, or a summary in the place of that.",
  types: ['Turn', 'Summary'],
  resolveType: (entry) => (isSummary(entry) ? 'Summary' : 'Turn'),
})

builder.objectField('Conversation', 'history', (t) =>
  t.field({
    type: [HistoryEntry],
    description:
      'The newest turns as the viewer sees them, newest versions only, oldest first; with `includeSummaries`, '
      + 'summaries too.',
    extensions: PER_VIEWER,
    args: {
      limit: t.arg.int({
        defaultValue: 50,
        description: "Turns at most: 1 up to the server's page size, 200 by default.",
      }),
      before: t.arg.int({
        description:
          "Only what stands before this journal entry's number: the `seq` of the oldest turn at hand, or the "
          + '`fromPosition` of a summary.',
      }),
      includeSummaries: t.arg.boolean({
        defaultValue: false,
        description:
          'Whether summaries stand in the place of the turns that they cover. They count towards `limit`, the turns '
          + 'do not.',
      }),
      as: t.arg.string({
        description: "In whose view; the viewer's when left out. It holds for all that is selected below.",
      }),
    },
    resolve: (conversation, { as, includeSummaries, ...args }, context): Promise<(Turn | Summary)[]> =>
      (includeSummaries ? loadHistoryWithSummaries : loadHistory)(
        context,
        viewAs(viewerOf(context, conversation), as),
        conversation.id,
        args,
      ),
  }),
)
