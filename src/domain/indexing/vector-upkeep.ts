// Upkeep of the stored vectors: makes the index of the embedder that searches use, and deletes the vectors of embedders
// that are no longer used. Any number of processes may run it; each step picks up where another process stopped.

import {
  deleteEmbedder,
  deleteVectors,
  giveUpEmbedder,
  readReading,
  type EmbedderRow,
} from '../../store/sql/indexing/embedders.ts'
import type { VectorIndexes } from '../../store/vector-index.ts'
import type { Platform } from '../platform.ts'

type UpkeepPlatform = Pick<Platform, 'db' | 'log'> & {
  /** null where the database has none. */
  indexes: VectorIndexes | null
}

/** Turns from which on an index is worth making: below, searches would not use it. */
const INDEXED_TURNS = 10_000
/** Conversations whose vectors one statement deletes. */
const DELETED_CONVERSATIONS = 50

async function makeIndex(
  { db, log, indexes }: UpkeepPlatform,
  { name, dimension }: EmbedderRow,
  signal: AbortSignal,
): Promise<void> {
  if (!indexes || (await indexes.read(name))?.valid) return
  const { turns } = await readReading(db, name)
  if (turns < INDEXED_TURNS || !(await indexes.make({ name, dimension }, turns, signal))) return
  log.info({ embedder: name, turns }, 'the index of vectors is made')
}

/** Deletes the embedder with its vectors. Whether this process did so. */
async function deleteOutdated(
  { db, log, indexes }: UpkeepPlatform,
  { name }: EmbedderRow,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await giveUpEmbedder(db, name))) return false
  await indexes?.drop(name)
  for (let last: string | null = ''; last !== null && !signal.aborted;) {
    last = await deleteVectors(db, name, last, DELETED_CONVERSATIONS)
  }
  if (signal.aborted) return false
  await deleteEmbedder(db, name)
  log.info({ embedder: name }, 'the vectors of an embedder that is no longer used are deleted')
  return true
}

/**
 * Does nothing while the serving embedder has not read every conversation: until then, older vectors are needed.
 * @param deleted called with each embedder whose vectors this process deleted
 */
export async function keepVectors(
  platform: UpkeepPlatform,
  rows: readonly EmbedderRow[],
  serving: string,
  deleted: (name: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const complete = rows.find(({ name, filledAt }) => name === serving && filledAt)
  if (!complete) return
  await makeIndex(platform, complete, signal)
  for (const row of rows) {
    if (row.isOutdated && row.name !== serving && (await deleteOutdated(platform, row, signal))) await deleted(row.name)
  }
}
