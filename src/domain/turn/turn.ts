// Reads turns by id and by version, and the text so far of open turns.

import { readTextSoFar } from '../../store/sql/streaming-turn/read-text.ts'
import { readTurns, readVersions } from '../../store/sql/turn/read-turns.ts'
import type { TurnRow } from '../../store/sql/turn/turn-columns.ts'
import type { Platform } from '../platform.ts'
import { kindOf } from '../id.ts'
import type { Viewer } from '../view.ts'

/** A turn that a viewer sees. All its columns are public: a turn is visible as a whole or not at all. */
export type Turn = TurnRow

/** Sets the text of open turns among the rows to their text so far. Returns the rows. */
export async function withTextSoFar(
  { pool }: Pick<Platform, 'pool'>,
  tenant: string,
  rows: TurnRow[],
): Promise<TurnRow[]> {
  const open = rows.filter(({ status }) => status === 'STREAMING')
  if (open.length === 0) return rows
  const texts = await readTextSoFar(
    pool,
    tenant,
    open.map(({ id }) => id),
  )
  for (const row of open) row.text = texts.get(row.id) ?? row.text
  return rows
}

/** The turns that the viewer sees, by id. Ids of other turns and unknown ids have no key. */
export async function getTurns(deps: Platform, viewer: Viewer, ids: readonly string[]): Promise<Map<string, Turn>> {
  const turnIds = ids.filter((id) => kindOf(id) === 'turn')
  const rows = await withTextSoFar(deps, viewer.tenant, await readTurns(deps.pool, viewer, turnIds))
  return new Map(rows.map((row) => [row.id, row]))
}

/** The next version of each turn that the viewer sees, by turn id. A turn without one has no key. */
export const getNextVersions = (
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Turn>> => readVersions(pool, viewer, ids, 'next')

/** The previous version of each turn that the viewer sees, by turn id. A turn without one has no key. */
export const getPreviousVersions = (
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Turn>> => readVersions(pool, viewer, ids, 'previous')
