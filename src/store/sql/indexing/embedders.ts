// The embedders that have made vectors, or are about to. The newest is the one that was chosen last; those before it go
// once it has read every conversation.

import type { Db } from '../../db.ts'
import { raw } from '../sql.ts'

export type EmbedderRow = {
  name: string
  dimension: number
  filledAt: Date | null
  /** Whether a newer one has been filled for so long that every process uses that. */
  isOutdated: boolean
}

/**
 * All processes notice within a sweep, which is 10 s, that a newer embedder serves; what they used stays for so long.
 */
const GRACE = `interval '30 seconds'`

const outdated = (e: string) =>
  raw(`EXISTS (SELECT FROM embedder n WHERE n.added_at > ${e}.added_at AND n.filled_at < now() - ${GRACE})`)

/** Makes the embedder the newest; the dimension it is known with, which is not changed. */
export async function registerEmbedder(db: Db, name: string, dimension: number): Promise<number> {
  const rows = await db.$queryRaw<{ dimension: number }[]>`
      INSERT INTO embedder AS e (name, dimension, added_at) VALUES (${name}::text, ${dimension}::integer, clock_timestamp())
      ON CONFLICT (name) DO UPDATE SET added_at =
        CASE WHEN EXISTS (SELECT FROM embedder o WHERE o.added_at > e.added_at) AND e.dimension = excluded.dimension
             THEN clock_timestamp() ELSE e.added_at END
      RETURNING e.dimension`
  return rows[0]!.dimension
}

/** Newest first. */
export async function readEmbedders(db: Db): Promise<EmbedderRow[]> {
  const rows = await db.$queryRaw<
    EmbedderRow[]
  >`SELECT e.name, e.dimension, e.filled_at AS "filledAt", ${outdated('e')} AS "isOutdated"
           FROM embedder e ORDER BY e.added_at DESC, e.name`
  return rows
}

/**
 * Notes that the embedder has read every conversation, if it has: no entry that it has yet to read is older than itself, so
 * that what is said all the time does not put it off. Reads all journals' heads.
 * @returns whether it was noted now
 */
export async function markFilled(db: Db, name: string): Promise<boolean> {
  const rowCount = await db.$executeRaw`
      UPDATE embedder m SET filled_at = now()
      WHERE m.name = ${name}::text AND m.filled_at IS NULL AND NOT EXISTS (
        SELECT FROM journal j
        LEFT JOIN embedding_cursor k ON k.conversation_id = j.conversation_id AND k.embedder = ${name}::text
        JOIN entry e ON e.conversation_id = j.conversation_id AND e.seq = coalesce(k.through_seq, 0) + 1
        WHERE j.last_seq > coalesce(k.through_seq, 0) AND e.at <= m.added_at)`
  return rowCount === 1
}

/** Entries of all journals that the embedder has read, and has yet to read; turns there are, about. */
export type ReadingProgress = { done: number; remaining: number; turns: number }

/** Reads all journals' heads. */
export async function readReading(db: Db, name: string): Promise<ReadingProgress> {
  const rows = await db.$queryRaw<ReadingProgress[]>`
      SELECT coalesce(sum(least(coalesce(k.through_seq, 0), j.last_seq)), 0)::double precision AS done,
             coalesce(sum(greatest(j.last_seq - coalesce(k.through_seq, 0), 0)), 0)::double precision AS remaining,
             coalesce(sum(j.turn_count), 0)::double precision AS turns
      FROM journal j
      LEFT JOIN embedding_cursor k ON k.conversation_id = j.conversation_id AND k.embedder = ${name}::text`
  return rows[0]!
}

/**
 * Before its vectors go: from here on it is not complete, should it be chosen again. False where it is not outdated.
 */
export async function giveUpEmbedder(db: Db, name: string): Promise<boolean> {
  const rowCount =
    await db.$executeRaw`UPDATE embedder e SET filled_at = NULL WHERE e.name = ${name}::text AND ${outdated('e')}`
  return rowCount === 1
}

/**
 * Deletes an outdated embedder's vectors of up to `limit` conversations after `after`, with the cursors, so that what is left
 * is right at any time. By the key of embedding_cursor.
 * @returns the last of those conversations, or null when there are none, or the embedder was chosen again
 */
export async function deleteVectors(db: Db, name: string, after: string, limit: number): Promise<string | null> {
  const rows = await db.$queryRaw<{ last: string | null }[]>`
      WITH model AS MATERIALIZED (
        SELECT e.name FROM embedder e WHERE e.name = ${name}::text AND ${outdated('e')} FOR UPDATE
      ), gone AS MATERIALIZED (
        SELECT k.conversation_id FROM embedding_cursor k, model m
        WHERE k.conversation_id > ${after}::text AND k.embedder = m.name ORDER BY k.conversation_id LIMIT ${limit}::integer
      ), vectors AS (
        DELETE FROM turn_vector v USING gone g WHERE v.conversation_id = g.conversation_id AND v.embedder = ${name}::text
      ), cursors AS (
        DELETE FROM embedding_cursor k USING gone g WHERE k.conversation_id = g.conversation_id AND k.embedder = ${name}::text
      )
      SELECT max(g.conversation_id) AS last FROM gone g`
  return rows[0]!.last
}

/** The last of it. */
export async function deleteEmbedder(db: Db, name: string): Promise<void> {
  await db.$executeRaw`DELETE FROM embedder e WHERE e.name = ${name}::text AND ${outdated('e')}`
}
