// Turns and reading them: by id, by version, and the text so far of open ones.

import { readTextSoFar } from '../../store/sql/streaming-turn/read-text.ts'
import { readTurns, readVersions } from '../../store/sql/turn/read-turns.ts'
import type { TurnRow } from '../../store/sql/turn/turn-columns.ts'
import type { Platform } from '../platform.ts'
import { kindOf } from '../id.ts'
import type { Viewer } from '../view.ts'

/** A turn that a viewer sees. All its columns are public: a turn is visible as a whole or not at all. */
export type Turn = TurnRow

/** The rows, with the text so far of those that are being written. */
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

/** Those of the turns that the viewer sees, keyed by id. Unknown ids have no key. */
export async function getTurns(deps: Platform, viewer: Viewer, ids: readonly string[]): Promise<Map<string, Turn>> {
  const known = ids.filter((id) => kindOf(id) === 'turn')
  const rows = await withTextSoFar(deps, viewer.tenant, await readTurns(deps.pool, viewer, known))
  return new Map(rows.map((row) => [row.id, row]))
}

/** For each turn, the next version that the viewer sees: what superseded it. Without one, no key. */
export const getNextVersions = (
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Turn>> => readVersions(pool, viewer, ids, 'next')

/** For each turn, the version before it that the viewer sees. Without one, no key. */
export const getPreviousVersions = (
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Turn>> => readVersions(pool, viewer, ids, 'previous')
