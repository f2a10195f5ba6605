// Conversation.history: the newest turns in one list, optionally with summaries, paged by position. Conversation.turns
// (turn.ts) returns pages with cursors.

import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import { isSummary } from '../../domain/memory/summary/history.ts'
import type { Summary } from '../../domain/memory/summary/summary.ts'
import type { Turn } from '../../domain/turn/turn.ts'
import { builder } from '../kernel/builder.ts'
import { loadHistory, loadHistoryWithSummaries } from '../kernel/loaders.ts'

const HistoryEntry = builder.unionType('HistoryEntry', {
  description: 'Item of the history: a turn, or a summary that replaces the turns that it covers.',
  types: ['Turn', 'Summary'],
  resolveType: (entry) => (isSummary(entry) ? 'Summary' : 'Turn'),
})

builder.objectField('Conversation', 'history', (t) =>
  t.field({
    type: [HistoryEntry],
    description:
      'Newest turns that the viewer sees, each in its newest version, in ascending order of position. An edited '
      + 'turn keeps its position.',
    sharing: 'PER_VIEWER',
    args: {
      limit: t.arg.int({
        description:
          `Maximum number of items to return. Defaults to ${DEFAULT_PAGE_SIZE}, or to the server's page size if that is `
          + 'less; at least 1, and at most the page size, 200 by default.',
      }),
      beforePosition: t.arg.int({
        description:
          'Returns only items with a lower position: turns with a lower `position`, and summaries with a lower '
          + '`fromPosition`. To read the previous page, pass the value of the first item. Defaults to null, for a '
          + 'list that ends with the newest turn. Exclusive with `afterPosition`.',
      }),
      afterPosition: t.arg.int({
        description:
          'Returns the turns that follow this position: the oldest `limit` turns with a higher `position`. To read the '
          + 'next page, pass the value of the last turn. Exclusive with `beforePosition` and `includeSummaries`. Defaults '
          + 'to null, for a list of the newest turns.',
      }),
      includeSummaries: t.arg.boolean({
        defaultValue: false,
        description:
          'Whether summaries replace the turns that they cover. A summary counts as one item of `limit`. Defaults '
          + 'to false.',
      }),
    },
    resolve: (conversation, { includeSummaries, ...args }, context): Promise<(Turn | Summary)[]> =>
      (includeSummaries ? loadHistoryWithSummaries : loadHistory)(context, conversation.id, args),
  }),
)
