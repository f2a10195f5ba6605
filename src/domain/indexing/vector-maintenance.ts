// Maintains the stored vectors: creates the index of the embedder that serves searches, and deletes the vectors of
// outdated embedders. Any number of processes may run it; each step continues where another process stopped.

import {
  deleteEmbedder,
  deleteVectors,
  markUnfilled,
  readEmbedderProgress,
  type EmbedderRow,
} from '../../store/sql/indexing/embedders.ts'
import type { VectorIndexes } from '../../store/vector-index.ts'
import type { Platform } from '../platform.ts'

type MaintenancePlatform = Pick<Platform, 'db' | 'log'> & {
  /** Null if the database has no vector indexes. */
  indexes: VectorIndexes | null
}

/** Minimum number of turns for which an index is created; with fewer, searches would not use it. */
const INDEXED_TURNS = 10_000
/**
 * Maximum share of journal entries that the embedder has not read when an index is created. Inserting vectors into an
 * existing index takes about ten times as long, so the index is created when most of an import is embedded. Until then,
 * searches compare all vectors in scope.
 */
const MAX_UNREAD_SHARE = 0.1
/** Maximum number of conversations whose vectors one statement deletes. */
const DELETED_CONVERSATIONS = 50

async function createIndex(
  { db, log, indexes }: MaintenancePlatform,
  { name, dimension }: EmbedderRow,
  signal: AbortSignal,
): Promise<void> {
  if (!indexes || (await indexes.read(name))?.valid) return
  const { turns, done, remaining } = await readEmbedderProgress(db, name)
  if (turns < INDEXED_TURNS || remaining > (done + remaining) * MAX_UNREAD_SHARE) return
  if (!(await indexes.build({ name, dimension }, turns, signal))) return
  log.info({ embedder: name, turns }, 'created the vector index')
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
 * Creates the index and deletes outdated vectors. Does nothing until the serving embedder is complete (embedding.ts),
 * because until then older vectors are needed.
 * @param onDeleted called with the name of each embedder whose vectors this process deleted
 */
export async function maintainVectors(
  platform: MaintenancePlatform,
  rows: readonly EmbedderRow[],
  serving: string,
  onDeleted: (name: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const complete = rows.find(({ name, filledAt }) => name === serving && filledAt)
  if (!complete) return
  await createIndex(platform, complete, signal)
  for (const row of rows) {
    if (row.isOutdated && row.name !== serving && (await deleteOutdated(platform, row, signal)))
      await onDeleted(row.name)
  }
}
