// Batches deltas: the deltas that arrive while a statement runs are written by the next statement, merged into one
// chunk per writer. They are acknowledged and published after the commit. A delta that repeats stored text is queued
// again without that text, before later deltas of its turn. The statement refuses the first delta of a turn whose text
// is held back; that delta and all later ones are passed to held-deltas.ts, in order.

import { LRUCache } from 'lru-cache'
import type { WrittenText } from '../../kernel/live/publisher.ts'
import type { Platform } from '../../kernel/platform.ts'
import { counters } from '../../../runtime/counters.ts'
import type { Pool } from '../../../store/db/tenant-pool.ts'
import { appendChunks, type ChunkRow, type Delta } from '../../../store/sql/turn/streaming/append-chunks.ts'
import { readStoredText } from '../../../store/sql/turn/streaming/open-content.ts'
import {
  endsOf,
  mergeDeltas,
  partNumberOf,
  startsBeforeEnd,
  unwrittenText,
  writerOf,
  type DeltaWrite,
  type WaitingDelta,
} from './delta-batch.ts'

/**
 * The outcome of a delta. `end` is the delta's end, or the end of the stored text if nothing was written. 'other':
 * different text is stored at the delta's offset.
 */
export type Written = {
  outcome: Exclude<ChunkRow['outcome'], 'held'> | 'other'
  end: number | null
  status: ChunkRow['status']
}

export type DeltaQueue = {
  /** Resolves after the commit, or when nothing was written. Rejects if the outcome is unknown. */
  write(delta: DeltaWrite): Promise<Written>
  /**
   * Publishes the held-back texts of a turn that is about to be closed. Does nothing for a turn without such texts, or
   * if the turn has another writer. `by` is null for the sweep.
   */
  seal(tenant: string, turnId: string, by: { writer: string } | null): Promise<void>
}

type QueuedDelta = WaitingDelta & { resolve(written: Written): void; reject(error: unknown): void }
/** Waiting deltas by `writerOf`, in order of arrival. */
type WaitingDeltas = Map<string, QueuedDelta[]>
type DeltaBatch = { writer: string; chunk: Delta; deltas: QueuedDelta[] }

/** Called after the commit with each range of text written, and with each part that was opened or completed. */
export type OnWritten = (written: WrittenText) => void

/** Returns the range that a chunk has written; null if viewers see no difference. */
export function writtenBy(
  { turn: turnId, part: number, content, complete: isComplete }: Delta,
  { outcome, conversationId, start, text, at, isPrivate }: Omit<ChunkRow, 'outcome'> & { outcome: string },
): WrittenText | null {
  if (outcome !== 'written' || (number === 0 && text === '')) return null
  const part = number === 0 ? null : { number, at: at!, content, isComplete }
  return { conversationId: conversationId!, turnId, part, start: start!, text: text!, isPrivate }
}

/** The state of a queue that `settle` changes. */
type QueueState = { pool: Pool; waiting: WaitingDeltas; onWritten: OnWritten }

/** Maximum number of cached ids of turns whose text is held back, about 1 MB. An id without an entry costs a query. */
const MAX_HELD_TURNS = 10_000

/**
 * @param limit maximum UTF-8 bytes of one turn's text and parts
 * @param held writes the deltas of turns whose text is held back
 */
export function createDeltaQueue(pool: Pool, limit: number, onWritten: OnWritten, held: DeltaQueue): DeltaQueue {
  const waiting: WaitingDeltas = new Map()
  const state: QueueState = { pool, waiting, onWritten }
  const heldTurns = new LRUCache<string, true>({ max: MAX_HELD_TURNS })
  let running = false

  /** Passes on the deltas of a turn whose text is held back, and those of the writer that wait behind them. */
  function passOn(writer: string, deltas: readonly QueuedDelta[]): void {
    heldTurns.set(deltas[0]!.delta.turnId, true)
    const later = waiting.get(writer) ?? []
    waiting.delete(writer)
    for (const { delta, resolve, reject } of [...deltas, ...later]) held.write(delta).then(resolve, reject)
  }

  async function run(): Promise<void> {
    running = true
    while (waiting.size > 0) {
      const batches = takeBatches(waiting)
      try {
        const chunks = batches.map(({ chunk }) => chunk)
        const rows = await appendChunks(pool, chunks, limit)
        for (const row of rows) {
          const batch = batches[row.index]!
          const { outcome } = row
          if (outcome === 'held') passOn(batch.writer, batch.deltas)
          else await settle(state, batch, { ...row, outcome })
        }
      } catch (error) {
        // For deltas that were settled before the error, reject has no effect.
        for (const { deltas } of batches) for (const { reject } of deltas) reject(error)
      }
    }
    running = false
  }

  return {
    seal: held.seal,
    write(delta) {
      if (heldTurns.has(delta.turnId)) return held.write(delta)
      return new Promise((resolve, reject) => {
        const queued = { delta, isUnmergeable: false, resolve, reject }
        const writer = writerOf(delta)
        const deltas = waiting.get(writer)
        if (deltas) deltas.push(queued)
        else waiting.set(writer, [queued])
        if (!running)
          setImmediate(() => {
            if (!running) void run()
          })
      })
    },
  }
}

/**
 * Removes and returns the first deltas of each writer of one tenant, merged into one chunk per writer. Chooses the
 * tenant that has waited longest: a statement sees the rows of one tenant only.
 */
function takeBatches(waiting: WaitingDeltas): DeltaBatch[] {
  const batches: DeltaBatch[] = []
  const rest: [string, QueuedDelta[]][] = []
  for (const [writer, deltas] of waiting) {
    if (batches.length > 0 && deltas[0]!.delta.tenant !== batches[0]!.chunk.tenant) continue
    const { chunk, count } = mergeDeltas(deltas)
    batches.push({ writer, chunk, deltas: deltas.splice(0, count) })
    // Deltas that remain wait behind those of other tenants.
    waiting.delete(writer)
    if (deltas.length > 0) rest.push([writer, deltas])
  }
  for (const [writer, deltas] of rest) waiting.set(writer, deltas)
  return batches
}

/**
 * Resolves the deltas of a chunk, or queues them again: unmerged if a merged chunk was refused, and without the
 * repeated text if a delta repeats stored text.
 */
async function settle(
  { pool, waiting, onWritten }: QueueState,
  { writer, chunk, deltas }: DeltaBatch,
  row: ChunkRow & Pick<Written, 'outcome'>,
): Promise<void> {
  if (row.outcome === 'written' || row.outcome === 'renewed') {
    counters.deltas += deltas.length
    const written = writtenBy(chunk, row)
    if (written) onWritten(written)
    const ends = endsOf(deltas, row.end!)
    for (let index = deltas.length - 1; index >= 0; index--) deltas[index]!.resolve({ ...row, end: ends[index]! })
    return
  }
  if (deltas.length > 1) {
    const unmerged = deltas.map((queued) => ({ ...queued, isUnmergeable: true }))
    return requeue(waiting, writer, unmerged)
  }
  const queued = deltas[0]!
  const { delta } = queued
  if (!startsBeforeEnd(delta, row)) return queued.resolve(row)
  const textSoFar = await readStoredText(pool, delta.tenant, delta.turnId, partNumberOf(delta))
  const rest = unwrittenText(delta, { end: row.end!, half: row.half }, textSoFar)
  if (rest === null) return queued.resolve({ ...row, outcome: 'other' })
  // A delta without new text still renews the lease.
  const unwritten = { ...delta, text: rest, start: rest === '' ? null : row.end }
  requeue(waiting, writer, [{ ...queued, delta: unwritten, isUnmergeable: true }])
}

/** Queues deltas again, before later deltas of their writer. */
function requeue(waiting: WaitingDeltas, writer: string, deltas: QueuedDelta[]): void {
  waiting.set(writer, [...deltas, ...(waiting.get(writer) ?? [])])
}

/** Dependencies of writing streaming turns. */
export type StreamDeps = Platform & { deltas: DeltaQueue }
