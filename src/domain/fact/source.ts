// Reads the sources of facts: the turns and recordings that assert them. A viewer sees the source for a turn if it sees
// the turn, and the source for a recording in a conversation if its view contains the recording's journal entry. The
// source for a recording outside any conversation is visible to the whole tenant.

import { MAX_SOURCES } from '../../store/sql/fact/fact-sources.ts'
import { listSources, type FactSourceRow, type SourcePosition } from '../../store/sql/fact/read-sources.ts'
import { authorize, isWithinReach } from '../authorize.ts'
import { cursorFormat } from '../cursor.ts'
import { paging, slice, type Page, type Paging } from '../page.ts'
import type { Platform } from '../platform.ts'
import type { Viewer } from '../view.ts'

export { MAX_SOURCES }

export type FactSource = FactSourceRow

const CURSOR = cursorFormat<SourcePosition>(
  ({ createdAt, source }) => `${createdAt.getTime()}:${source}`,
  /^(\d{1,15}):(turn_\w{26}|conv_\w{26} \d{1,10}|tenant)$/,
  (createdAt, source) => ({ createdAt: new Date(Number(createdAt)), source }),
)

/** Returns the source's position in the list of its fact, as an opaque cursor. */
export const factSourceCursor = (source: FactSource): string => CURSOR.encode(source)

/**
 * Returns a page of sources for each fact, oldest first. One statement reads all pages. A fact without visible sources,
 * or of another tenant, gets an empty page.
 * @throws InvalidInput
 */
export async function getFactSourcePages(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  factIds: readonly string[],
  args: Paging,
): Promise<Map<string, Page<FactSource>>> {
  authorize(viewer, 'getFactSourcePages')
  const page = paging(args, limits.pageSize)
  const rows = await listSources(db, viewer, factIds, {
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
