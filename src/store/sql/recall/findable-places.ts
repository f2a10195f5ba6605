// Selects, from given turns, those that a search may return to a viewer. Looks up each turn by the index turn_place.

import type { Db } from '../../db.ts'
import { placeKey, type Place, type SearchFilter } from '../../vector-search.ts'
import { named } from '../sql.ts'
import { filterOf, findableAt } from './findable.ts'

/** Returns the `placeKey`s of the turns that the viewer may find. */
export async function findablePlaces(
  db: Db,
  viewer: { tenant: string; actor: string },
  places: readonly Place[],
  filter: SearchFilter,
): Promise<Set<string>> {
  const conversationIds = places.map(({ conversationId }) => conversationId)
  const rootSeqs = places.map(({ rootSeq }) => rootSeq)
  const seqs = places.map(({ seq }) => seq)
  const rows = await db.$queryRaw<{ conversationId: string; seq: number }[]>`
    ${named('findable-places')}
    SELECT x.conversation_id AS "conversationId", x.seq
    FROM unnest(${conversationIds}::text[], ${rootSeqs}::integer[], ${seqs}::integer[]) AS x(conversation_id, root_seq, seq)
    CROSS JOIN ${findableAt('x', viewer, filterOf(filter))} f`
  return new Set(rows.map(placeKey))
}
