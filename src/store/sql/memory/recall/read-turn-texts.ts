// Reads the beginnings of the texts of turns with the names of their authors, for a reranker.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { TurnVersionId } from '../../../vectors/vector-search.ts'
import type { Viewer } from '../../../db/scope.ts'
import { parameter, raw, sql } from '../../kernel/sql.ts'
import { among, howMany, VIEWER, views, visible, type HowMany } from '../../kernel/visible.ts'

export type TurnText = {
  conversationId: string
  seq: number
  /** The author's display name in the conversation or, without one, the actor. */
  author: string
  text: string
}

const read = (conversations: HowMany) => ({
  name: `read-turn-texts-${conversations}`,
  text: sql`
    SELECT t.conversation_id AS "conversationId", t.seq, coalesce(a.display_name, t.actor) AS author, t.text
    FROM (${views(VIEWER, among(parameter(3), conversations))}) v
    JOIN unnest($4::text[], $5::integer[], $6::integer[]) AS p(conversation_id, root_seq, seq) ON p.conversation_id = v.id
    CROSS JOIN LATERAL (
      SELECT t.conversation_id, t.seq, t.actor, left(searched_text(t.text, t.parts), $7::integer) AS text FROM turn t
      WHERE t.conversation_id = ${raw(conversations === 'one' ? '($3::text[])[1]' : 'p.conversation_id')} AND t.root_seq = p.root_seq AND t.seq = p.seq AND ${visible()}) t
    LEFT JOIN participant a ON a.conversation_id = t.conversation_id AND a.actor = t.actor`.text,
})
const READ = { one: read('one'), many: read('many') }

/**
 * The visible turn versions with these seqs, unordered. Uses the index turn_place and the key of participant.
 * @param characters maximum length of each text
 */
export async function readTurnTexts(
  pool: Pool,
  { tenant, actor }: Viewer,
  versions: readonly TurnVersionId[],
  characters: number,
): Promise<TurnText[]> {
  const conversationIds = [...new Set(versions.map(({ conversationId }) => conversationId))]
  const { rows } = await pool.query<TurnText>({
    scope: tenant,
    ...READ[howMany(conversationIds)],
    values: [
      tenant,
      actor,
      conversationIds,
      versions.map(({ conversationId }) => conversationId),
      versions.map(({ position }) => position),
      versions.map(({ seq }) => seq),
      characters,
    ],
  })
  return rows
}
