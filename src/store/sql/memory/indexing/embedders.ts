// Registers, reads and removes embedders. The newest embedder is the one that was configured last. Older ones are
// removed after it is filled (markFilled).

import { SYSTEM } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import { raw } from '../../kernel/sql.ts'

export type EmbedderRow = {
  name: string
  dimension: number
  /** Time at which the embedder was marked as filled (markFilled); null until then. */
  filledAt: Date | null
  /** Whether a newer embedder was filled more than GRACE ago. */
  isOutdated: boolean
}

/**
 * Time after which every process uses the newer embedder. Must exceed the interval of sweeps, because a process
 * switches in its next sweep (SWEEP_MS in domain/memory/indexing/embedder-in-use.ts).
 */
const GRACE = `interval '30 seconds'`

const outdated = (e: string) =>
  raw(`EXISTS (SELECT FROM embedder n WHERE n.added_at > ${e}.added_at AND n.filled_at < now() - ${GRACE})`)

/**
 * Makes the embedder the newest and returns its registered dimension. If that is not `dimension`, nothing is changed.
 */
export async function registerEmbedder(db: Db, name: string, dimension: number): Promise<number> {
  const rows = await db.of(SYSTEM).$queryRaw<{ dimension: number }[]>`
      INSERT INTO embedder AS e (name, dimension, added_at) VALUES (${name}::text, ${dimension}::integer, clock_timestamp())
      ON CONFLICT (name) DO UPDATE SET added_at =
        CASE WHEN EXISTS (SELECT FROM embedder o WHERE o.added_at > e.added_at) AND e.dimension = excluded.dimension
             THEN clock_timestamp() ELSE e.added_at END
      RETURNING e.dimension`
  return rows[0]!.dimension
}

/** All embedders, newest first. */
export async function readEmbedders(db: Db): Promise<EmbedderRow[]> {
  const rows = await db.of(SYSTEM).$queryRaw<
    EmbedderRow[]
  >`SELECT e.name, e.dimension, e.filled_at AS "filledAt", ${outdated('e')} AS "isOutdated"
           FROM embedder e ORDER BY e.added_at DESC, e.name`
  return rows
}

/**
 * Marks the embedder as filled if it has processed every entry that was written before it was registered. Later entries
 * are ignored, so that constant traffic does not delay this. Reads all journal heads.
 * @returns whether this call marked it
 */
export async function markFilled(db: Db, name: string): Promise<boolean> {
  const rowCount = await db.of(SYSTEM).$executeRaw`
      UPDATE embedder m SET filled_at = now()
      WHERE m.name = ${name}::text AND m.filled_at IS NULL AND NOT EXISTS (
        SELECT FROM journal j
        LEFT JOIN embedding_cursor k ON k.conversation_id = j.conversation_id AND k.embedder = ${name}::text
        JOIN entry e ON e.conversation_id = j.conversation_id AND e.seq = coalesce(k.through_seq, 0) + 1
        WHERE j.last_seq > coalesce(k.through_seq, 0) AND e.at <= m.added_at)`
  return rowCount === 1
}

/** `done` and `remaining` count journal entries; `turns` is the approximate number of all turns. */
export type EmbedderProgress = { done: number; remaining: number; turns: number }

/** The embedder's progress. Reads all journal heads. */
export async function readEmbedderProgress(db: Db, name: string): Promise<EmbedderProgress> {
  const rows = await db.of(SYSTEM).$queryRaw<EmbedderProgress[]>`
      SELECT coalesce(sum(least(coalesce(k.through_seq, 0), j.last_seq)), 0)::double precision AS done,
             coalesce(sum(greatest(j.last_seq - coalesce(k.through_seq, 0), 0)), 0)::double precision AS remaining,
             coalesce(sum(j.turn_count), 0)::double precision AS turns
      FROM journal j
      LEFT JOIN embedding_cursor k ON k.conversation_id = j.conversation_id AND k.embedder = ${name}::text`
  return rows[0]!
}

/**
 * Marks an outdated embedder as not filled, before its vectors are deleted, because it may be registered again. False
 * if it is not outdated.
 */
export async function markUnfilled(db: Db, name: string): Promise<boolean> {
  const rowCount = await db.of(SYSTEM)
    .$executeRaw`UPDATE embedder e SET filled_at = NULL WHERE e.name = ${name}::text AND ${outdated('e')}`
  return rowCount === 1
}

/**
 * Deletes an outdated embedder's vectors of up to `limit` conversations after `after`, together with their cursors, so
 * that both stay consistent. Uses the key of embedding_cursor.
 * @returns the id of the last of these conversations; null if none is left or the embedder is no longer outdated
 */
export async function deleteVectors(db: Db, name: string, after: string, limit: number): Promise<string | null> {
  const rows = await db.of(SYSTEM).$queryRaw<{ last: string | null }[]>`
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

/** Deletes an outdated embedder. Its vectors must be deleted first. */
export async function deleteEmbedder(db: Db, name: string): Promise<void> {
  await db.of(SYSTEM).$executeRaw`DELETE FROM embedder e WHERE e.name = ${name}::text AND ${outdated('e')}`
}
