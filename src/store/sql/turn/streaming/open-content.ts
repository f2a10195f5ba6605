// Reads the content of open turns from their chunks and parts, by primary key. Named statements of pg: every new
// subscription and every commit runs one (`npm run bench -- fan-out`).

import type { Pool } from '../../../db/tenant-pool.ts'
import { raw, sql } from '../../kernel/sql.ts'

/** A part of an open turn other than its text, as far as it is written. */
export type OpenPart = {
  /** Number of the part in its turn, from 1 without gaps. */
  readonly number: number
  /** UTF-16 offset in the turn's text at which the part stands. */
  readonly at: number
  /** The part without its streamed text. */
  readonly content: Readonly<Record<string, unknown>>
  /** The streamed text so far, without a trailing high surrogate. */
  readonly text: string
  readonly isComplete: boolean
}

/** The content of an open turn so far: its text, without a trailing high surrogate, and its parts by number. */
export type OpenContent = { readonly text: string; readonly parts: readonly OpenPart[] }

const textOf = (turnId: string, part: string): string =>
  `coalesce((SELECT string_agg(k.text, '' ORDER BY k.start) FROM chunk k
             WHERE k.turn_id = ${turnId} AND k.part = ${part}), '')`

/** The text so far of the open turn that the SQL expression names, as SQL. */
export const textSoFar = (turnId: string): string => textOf(turnId, '0')

/** The parts so far of the open turn that the SQL expression names, as SQL of a JSON array of OpenPart; null for none. */
export const partsSoFar = (turnId: string): string =>
  `(SELECT json_agg(json_build_object('number', p.number, 'at', p.at, 'content', p.content, 'text',
                                      ${textOf('p.turn_id', 'p.number')}, 'isComplete', p.is_complete) ORDER BY p.number)
    FROM stream_part p WHERE p.turn_id = ${turnId})`

/** SELECT list of an OpenContent for the open turn that the SQL expression names. */
export const contentSoFar = (turnId: string, columns = { text: 'text', parts: 'parts' }) =>
  raw(`${textSoFar(turnId)} AS "${columns.text}", coalesce(${partsSoFar(turnId)}, '[]') AS "${columns.parts}"`)

const CONTENT_SO_FAR = sql`
  SELECT s.turn_id AS id, ${contentSoFar('s.turn_id')}
  FROM stream s JOIN conversation r ON r.id = s.conversation_id AND r.tenant = $1::text
  WHERE s.turn_id = ANY ($2::text[])`.text

/** The content so far of the open turns among the ids, by id. Other ids have no key. */
export async function readContentSoFar(
  pool: Pool,
  tenant: string,
  ids: readonly string[],
): Promise<Map<string, OpenContent>> {
  const { rows } = await pool.query<{ id: string } & OpenContent>({
    scope: tenant,
    name: 'read-content-so-far',
    text: CONTENT_SO_FAR,
    values: [tenant, ids],
  })
  return new Map(rows.map(({ id, text, parts }) => [id, { text, parts }]))
}

/** The text so far of one part of an open turn, or of its text for part 0. Empty if the tenant has no such open turn. */
export async function readStoredText(pool: Pool, tenant: string, turnId: string, part: number): Promise<string> {
  const { rows } = await pool.query<{ text: string }>({
    scope: tenant,
    name: 'read-stored-text',
    text: `SELECT coalesce(string_agg(k.text, '' ORDER BY k.start), '') AS text
           FROM stream s
           JOIN conversation r ON r.id = s.conversation_id AND r.tenant = $1::text
           JOIN chunk k ON k.turn_id = s.turn_id AND k.part = $3::smallint
           WHERE s.turn_id = $2::text`,
    values: [tenant, turnId, part],
  })
  return rows[0]!.text
}

export type OpenTurnContent = OpenContent & {
  actor: string
  /** Whether redaction still holds back text of the turn or of a part. */
  isHeld: boolean
  /** stream.part_bytes, by which close_turn notices later deltas of parts. */
  partBytes: number
}

const OPEN_TURN = sql`
  SELECT t.actor, s.part_bytes AS "partBytes", ${contentSoFar('t.id')},
         EXISTS (SELECT FROM held_text h WHERE h.turn_id = t.id AND NOT h.sealed) AS "isHeld"
  FROM stream s
  JOIN turn t ON t.id = s.turn_id AND t.conversation_id = s.conversation_id
  JOIN conversation c ON c.id = t.conversation_id AND c.tenant = $1::text
  WHERE s.turn_id = $2::text AND ($3::text IS NULL OR s.writer_hash = $3::text AND EXISTS (
    SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor
                                AND p.left_at IS NULL))`.text

/**
 * An open turn's actor and content so far; null if the tenant has no such open turn, it has another writer, or its
 * author has left. If `writer` is null, the writer and the author are not checked.
 */
export async function readOpenTurn(
  pool: Pool,
  tenant: string,
  id: string,
  writer: string | null,
): Promise<OpenTurnContent | null> {
  const { rows } = await pool.query<OpenTurnContent>({
    scope: tenant,
    name: 'read-open-turn',
    text: OPEN_TURN,
    values: [tenant, id, writer],
  })
  return rows[0] ?? null
}
