// Which of some turns a viewer may find. By the index turn_place, turn by turn.

import type { Pool } from 'pg'
import { placeKey, type Place, type SearchFilter } from '../../vector-search.ts'
import { filterValues, findableAt } from './findable.ts'

/** Those of the places, by `placeKey`. */
export async function findablePlaces(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  places: readonly Place[],
  filter: SearchFilter,
): Promise<Set<string>> {
  const { rows } = await pool.query<{ conversationId: string; seq: number }>({
    name: 'findable-places',
    text: `
      SELECT x.conversation_id AS "conversationId", x.seq
      FROM unnest($3::text[], $4::integer[], $5::integer[]) AS x(conversation_id, root_seq, seq)
      CROSS JOIN ${findableAt('x', '$1', '$2', 6)} f`,
    values: [
      viewer.tenant,
      viewer.actor,
      places.map(({ conversationId }) => conversationId),
      places.map(({ rootSeq }) => rootSeq),
      places.map(({ seq }) => seq),
      ...filterValues(filter),
    ],
  })
  return new Set(rows.map(placeKey))
}
