// Selects the given turns that a search may return to a viewer. Looks up each turn by the index turn_place.

import type { Db } from '../../../db/db.ts'
import { versionKey, type TurnVersionId, type SearchFilter } from '../../../vectors/vector-search.ts'
import { named } from '../../kernel/sql.ts'
import { filterOf, findableAt } from './findable.ts'

/** Returns the `versionKey`s of the turns that the viewer may find. */
export async function findableTurns(
  db: Db,
  viewer: { tenant: string; actor: string },
  versions: readonly TurnVersionId[],
  filter: SearchFilter,
): Promise<Set<string>> {
  const conversationIds = versions.map(({ conversationId }) => conversationId)
  const positions = versions.map(({ position }) => position)
  const seqs = versions.map(({ seq }) => seq)
  const rows = await db.of(viewer.tenant).$queryRaw<{ conversationId: string; seq: number }[]>`
    ${named('findable-turns')}
    SELECT x.conversation_id AS "conversationId", x.seq
    FROM unnest(${conversationIds}::text[], ${positions}::integer[], ${seqs}::integer[]) AS x(conversation_id, root_seq, seq)
    CROSS JOIN ${findableAt('x', viewer, filterOf(filter))} f`
  return new Set(rows.map(versionKey))
}
