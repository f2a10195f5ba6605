// Reads turns by id, their next and previous versions, the numbers of versions, and the streamed content of open turns.

import { readContentSoFar, type OpenPart } from '../../store/sql/turn/streaming/open-content.ts'
import { readTurns, readVersionNumbers, readVersions } from '../../store/sql/turn/read-turns.ts'
import type { TurnRow } from '../../store/sql/turn/turn-columns.ts'
import { NotFound } from '../../errors.ts'
import { authorize, isWithinReach } from '../kernel/rights/authorize.ts'
import { requireStrings } from '../kernel/input.ts'
import type { Platform } from '../kernel/platform.ts'
import { kindOf } from '../kernel/id.ts'
import type { Viewer } from '../kernel/view.ts'
import { openParts } from './streamed-part.ts'

/** A turn that a viewer sees. All its columns are public: a turn is visible as a whole or not at all. */
export type Turn = TurnRow

/** Sets `text` and `parts` of the open turns among the rows to what was streamed so far. Changes and returns the rows. */
export async function withContentSoFar(
  { pool }: Pick<Platform, 'pool'>,
  tenant: string,
  rows: TurnRow[],
): Promise<TurnRow[]> {
  const open = rows.filter(({ status }) => status === 'STREAMING')
  if (open.length === 0) return rows
  const contents = await readContentSoFar(
    pool,
    tenant,
    open.map(({ id }) => id),
  )
  for (const row of open) {
    const content = contents.get(row.id)
    if (!content) continue
    row.text = content.text
    row.parts = content.parts.length === 0 ? null : openParts(content)
  }
  return rows
}

/** Replaces the OpenPart lists of open turns, which page-turns.ts reads, by their content. Changes and returns the rows. */
export function withOpenParts(rows: TurnRow[]): TurnRow[] {
  for (const row of rows) {
    if (row.status !== 'STREAMING' || row.parts === null) continue
    row.parts = openParts({ text: row.text, parts: row.parts as OpenPart[] })
  }
  return rows
}

/** Returns the turns that the viewer sees, by id. Ids of other turns and unknown ids have no key. */
export async function getTurns(deps: Platform, viewer: Viewer, ids: readonly string[]): Promise<Map<string, Turn>> {
  authorize(viewer, 'getTurns')
  requireStrings(ids, 'ids')
  const turnIds = ids.filter((id) => kindOf(id) === 'turn')
  const read = await readTurns(deps.pool, viewer, turnIds)
  const rows = read.filter(({ conversationId }) => isWithinReach(viewer, conversationId))
  return new Map((await withContentSoFar(deps, viewer.tenant, rows)).map((row) => [row.id, row]))
}

/** Returns the turn without the content of an open one. @throws NotFound if the viewer does not see it */
export async function requireTurn({ pool }: Pick<Platform, 'pool'>, viewer: Viewer, turnId: string): Promise<Turn> {
  const [turn] = await readTurns(pool, viewer, [turnId])
  if (!turn || !isWithinReach(viewer, turn.conversationId)) throw new NotFound('turn', turnId)
  return turn
}

/**
 * Checks that the viewer's credential gives access to the conversation of the turn. Reads the turn only if the
 * credential is limited to some conversations.
 * @throws NotFound
 */
export async function requireTurnWithinReach(
  deps: Pick<Platform, 'pool'>,
  viewer: Viewer,
  turnId: string,
): Promise<void> {
  if (viewer.principal?.conversations) await requireTurn(deps, viewer, turnId)
}

/** Returns the versions in conversations to which the viewer's credential gives access. */
const versionsWithinReach = (viewer: Viewer, versions: ReadonlyMap<string, Turn>): Map<string, Turn> =>
  new Map([...versions].filter(([, { conversationId }]) => isWithinReach(viewer, conversationId)))

/** Returns the next version of each turn in the viewer's view, by turn id. A turn without one has no key. */
export async function getNextVersions(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Turn>> {
  authorize(viewer, 'getNextVersions')
  return versionsWithinReach(viewer, await readVersions(pool, viewer, ids, 'next'))
}

/** Returns the previous version of each turn in the viewer's view, by turn id. A turn without one has no key. */
export async function getPreviousVersions(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Turn>> {
  authorize(viewer, 'getPreviousVersions')
  return versionsWithinReach(viewer, await readVersions(pool, viewer, ids, 'previous'))
}

/** Whether this version superseded another one. Every viewer who sees this version also sees the first version. */
export const isEdited = ({ seq, position }: Pick<Turn, 'seq' | 'position'>): boolean => seq !== position

/**
 * Returns the number of each version in the viewer's view, by turn id: the first version has number 1. Versions that
 * the viewer does not see are not counted, so the number does not reveal them.
 */
export async function getVersionNumbers(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, number>> {
  authorize(viewer, 'getVersionNumbers')
  if (!viewer.principal?.conversations) return readVersionNumbers(pool, viewer, ids)
  const turns = await readTurns(pool, viewer, ids)
  const within = turns.filter(({ conversationId }) => isWithinReach(viewer, conversationId))
  return readVersionNumbers(
    pool,
    viewer,
    within.map(({ id }) => id),
  )
}
