// Reads the sources of facts. A source is a turn or a recording (a call of recordFacts) that asserts the fact. A viewer
// sees a turn as source if it sees the turn, and a recording in a conversation if its view contains the journal entry
// of the recording. A recording outside any conversation is visible to all actors of the tenant.

import { MAX_SOURCES } from '../../../store/sql/memory/fact/fact-sources.ts'
import { pageSources, type FactSourceRow, type SourcePosition } from '../../../store/sql/memory/fact/page-sources.ts'
import { authorize, isWithinReach } from '../../kernel/rights/authorize.ts'
import { requireStrings } from '../../kernel/input.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import { paging, slice, type Page, type Paging } from '../../kernel/page.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

export { MAX_SOURCES }

export type FactSource = FactSourceRow

const CURSOR = cursorFormat<SourcePosition>(
  ({ createdAt, source }) => `${createdAt.getTime()}:${source}`,
  /^(\d{1,15}):(turn_\w{26}|conv_\w{26} \d{1,10}|tenant)$/,
  (createdAt, source) => ({ createdAt: new Date(Number(createdAt)), source }),
)

/** Returns an opaque cursor for the source's position in the list of its fact's sources. */
export const factSourceCursor = (source: FactSource): string => CURSOR.encode(source)

/**
 * Returns a page of visible sources for each fact, oldest first. One SQL statement reads all pages. A fact without
 * visible sources, or of another tenant, gets an empty page.
 * @throws InvalidInput
 */
export async function getFactSourcePages(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  factIds: readonly string[],
  args: Paging,
): Promise<Map<string, Page<FactSource>>> {
  authorize(viewer, 'getFactSourcePages')
  requireStrings(factIds, 'factIds')
  const page = paging(args, limits.pageSize)
  const rows = await pageSources(db, viewer, factIds, {
    after: page.after === null ? null : CURSOR.decode(page.after, 'after'),
    before: page.before === null ? null : CURSOR.decode(page.before, 'before'),
    backwards: page.backwards,
    limit: page.size + 1,
  })
  const sourcesOf = new Map<string, FactSource[]>(factIds.map((id) => [id, []]))
  for (const row of rows) sourcesOf.get(row.factId)!.push(row)
  const pageOf = (sources: FactSource[]): Page<FactSource> => {
    const { items, ...rest } = slice(sources, page)
    return { items: items.filter(({ conversationId }) => isWithinReach(viewer, conversationId)), ...rest }
  }
  return new Map([...sourcesOf].map(([id, sources]) => [id, pageOf(sources)]))
}
