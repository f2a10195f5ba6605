// Reads the kinds of the authors of turns. A named statement of pg, because clients may record facts as often as turns.

import type { ParticipantKind } from '../../generated/enums.ts'
import type { Pool } from '../../db/tenant-pool.ts'
import { raw, type Sql } from '../kernel/sql.ts'

/**
 * The kind of the author of turn `t`, who is participant `p`: the kind of the author's own credential or, if none wrote
 * the turn, of the participant.
 */
export const AUTHOR_KIND: Sql = raw('coalesce(t.author_kind, p.kind)')

const READ = `
  SELECT t.id, ${AUTHOR_KIND.text} AS kind FROM turn t
  JOIN participant p ON p.conversation_id = t.conversation_id AND p.actor = t.actor
  WHERE t.id = ANY ($1::text[])`

/** Returns the kind of the author of each turn, by the turn's id. Uses the primary keys. */
export async function readAuthorKinds(
  pool: Pool,
  tenant: string,
  turnIds: readonly string[],
): Promise<Map<string, ParticipantKind>> {
  if (turnIds.length === 0) return new Map()
  const { rows } = await pool.query<{ id: string; kind: ParticipantKind }>({
    scope: tenant,
    name: 'read-author-kinds',
    text: READ,
    values: [turnIds],
  })
  return new Map(rows.map(({ id, kind }) => [id, kind]))
}
