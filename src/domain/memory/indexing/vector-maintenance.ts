// Maintains the stored vectors: builds the indexes of the embedder that serves searches, and deletes the vectors of
// outdated embedders (EmbedderRow.isOutdated). Any number of processes may run it; each step continues where another
// process stopped.

import {
  deleteEmbedder,
  deleteVectors,
  markUnfilled,
  readEmbedderProgress,
  type EmbedderRow,
} from '../../../store/sql/memory/indexing/embedders.ts'
import type { VectorIndexes } from '../../../store/vectors/vector-index.ts'
import { coverOf, nextSegment, unusedSegments } from '../../../store/vectors/vector-segments.ts'
import type { Platform } from '../../kernel/platform.ts'

type MaintenancePlatform = Pick<Platform, 'db' | 'log'> & {
  /** Null if the database has no vector indexes. */
  indexes: VectorIndexes | null
}

/**
 * Number of vectors without an index that triggers building one. Comparing fewer vectors is as fast as reading an
 * index. Vectors are never inserted into an existing index, because that takes about 50 times as long per vector as
 * building an index.
 */
const SEGMENT_VECTORS = 10_000
/**
 * Maximum share of the journal entries that may be unread by the embedder when an index is built. Hence an import is
 * indexed once, at its end. Until then, searches compare the query with each vector in scope that has no index.
 */
const MAX_UNREAD_SHARE = 0.1
/** Maximum number of vectors counted, because counting reads them. */
const MAX_COUNTED = 1_000_000
/** Maximum number of conversations whose vectors one statement deletes. */
const DELETED_CONVERSATIONS = 50

/**
 * Drops the indexes that an earlier merge replaced. If there are none, indexes the newest vectors as soon as there are
 * SEGMENT_VECTORS of them.
 */
async function indexVectors(
  { db, log, indexes }: MaintenancePlatform,
  { name, dimension }: EmbedderRow,
  signal: AbortSignal,
): Promise<void> {
  if (!indexes) return
  const segments = await indexes.read(name)
  // Replaced indexes are dropped by the next run and not directly after the merge, because other processes search the
  // segments that they know until they refresh them.
  if (unusedSegments(segments).length > 0) return indexes.dropUnused(name)
  const cover = coverOf(segments)
  const { newer, end } = await indexes.countNewer(name, cover.gaps.at(-1)!.from, MAX_COUNTED)
  if (newer < SEGMENT_VECTORS) return
  const { done, remaining } = await readEmbedderProgress(db, name)
  if (remaining > (done + remaining) * MAX_UNREAD_SHARE) return
  const range = nextSegment(cover, newer, end)
  const rows = cover.segments.reduce((sum, each) => sum + (each.from >= range.from ? each.rows : 0), newer)
  if (!(await indexes.build({ name, dimension }, { ...range, rows }, signal))) return
  log.info({ embedder: name, vectors: rows }, 'indexed vectors')
}

/** Deletes the embedder and its vectors. Returns false if it is no longer outdated or the signal is aborted. */
async function deleteOutdated(
  { db, log, indexes }: MaintenancePlatform,
  { name }: EmbedderRow,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await markUnfilled(db, name))) return false
  await indexes?.drop(name)
  for (let last: string | null = ''; last !== null && !signal.aborted;) {
    last = await deleteVectors(db, name, last, DELETED_CONVERSATIONS)
  }
  if (signal.aborted) return false
  await deleteEmbedder(db, name)
  log.info({ embedder: name }, 'deleted the vectors of an outdated embedder')
  return true
}

/**
 * Builds indexes, and deletes the vectors of outdated embedders. Does nothing until the embedder that serves searches
 * is complete (embedder-in-use.ts), because older vectors are needed until then.
 * @param serving name of the embedder that serves searches
 * @param onDeleted called with the name of each embedder whose vectors this process deleted
 */
export async function maintainVectors(
  platform: MaintenancePlatform,
  { rows, serving }: { rows: readonly EmbedderRow[]; serving: string },
  onDeleted: (name: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const complete = rows.find(({ name, filledAt }) => name === serving && filledAt)
  if (!complete) return
  await indexVectors(platform, complete, signal)
  for (const row of rows) {
    if (row.isOutdated && row.name !== serving && (await deleteOutdated(platform, row, signal)))
      await onDeleted(row.name)
  }
}
