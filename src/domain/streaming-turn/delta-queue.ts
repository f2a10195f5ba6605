// Deltas that wait while a statement runs leave together as the next one; those of one turn as one chunk. What is
// acknowledged is committed, and told to readers only then.

import type { Pool } from 'pg'
import { appendChunks, type ChunkRow, type Delta } from '../../store/sql/append-chunks.ts'
import { join } from './state.ts'

export type DeltaWrite = { tenant: string; turnId: string; start: number | null; text: string }

/** Outcome of one delta. `end` is the turn's end after it, or where the turn ends instead. */
export type Written = Pick<ChunkRow, 'outcome' | 'end' | 'half' | 'status'>

export type DeltaQueue = {
  /**
   * Writes text that begins where the turn ends: at `start`, or wherever it is.
   * @param half the half that the turn is known to end in and that the text completes
   */
  write(delta: DeltaWrite, half?: number | null): Promise<Written>
}

type Job = {
  delta: DeltaWrite
  half: number | null
  resolve(written: Written): void
  reject(error: unknown): void
}

/** A chunk made of the first jobs of a turn that follow on one another, as many as there are. */
function merge(jobs: Job[]): { chunk: Delta; jobs: Job[] } {
  const [first] = jobs.splice(0, 1)
  const merged = [first!]
  let text = first!.delta.text
  let end = first!.delta.start === null ? null : first!.delta.start + text.length
  while (text !== '' && jobs.length > 0) {
    const { delta, half } = jobs[0]!
    const follows = delta.start === null || (end !== null && delta.start === end)
    if (!follows || half !== null || delta.text === '' || !join({ end: 0, half: first!.half }, text + delta.text)) break
    text += delta.text
    if (end !== null) end += delta.text.length
    merged.push(jobs.shift()!)
  }
  const { text: complete, half } = join({ end: 0, half: first!.half }, text)!
  return {
    jobs: merged,
    chunk: {
      turn: first!.delta.turnId, tenant: first!.delta.tenant, start: first!.delta.start,
      text: complete, length: complete.length, half, joins: first!.half !== null,
    },
  }
}

/**
 * @param limit UTF-8 bytes one turn's text may have
 * @param written called after the commit with every stretch of text
 */
export function createDeltaQueue(
  pool: Pool, limit: number, written: (room: string, turnId: string, start: number, text: string) => void,
): DeltaQueue {
  const waiting = new Map<string, Job[]>()
  let running = false

  async function run(): Promise<void> {
    running = true
    while (waiting.size > 0) {
      const batch = [...waiting.values()].map(merge)
      for (const [turnId, jobs] of waiting) if (jobs.length === 0) waiting.delete(turnId)
      try {
        settle(batch, await appendChunks(pool, batch.map(({ chunk }) => chunk), limit))
      } catch (error) {
        for (const { jobs } of batch) for (const job of jobs) job.reject(error)
      }
    }
    running = false
  }

  function settle(batch: { chunk: Delta; jobs: Job[] }[], rows: ChunkRow[]): void {
    for (const row of rows) {
      const { chunk, jobs } = batch[row.place]!
      if (row.outcome !== 'written') {
        // The later ones of a chunk were good only if the first was; each finds out for itself.
        jobs[0]!.resolve(row)
        for (const job of jobs.slice(1)) enqueue(job)
        continue
      }
      if (chunk.text !== '') written(row.room!, chunk.turn, row.start!, chunk.text)
      let end = row.start! + (chunk.joins ? 1 : 0)
      for (const job of jobs) {
        end += job.delta.text.length
        job.resolve({ ...row, end })
      }
    }
  }

  function enqueue(job: Job): void {
    const jobs = waiting.get(job.delta.turnId)
    if (jobs) jobs.push(job)
    else waiting.set(job.delta.turnId, [job])
  }

  return {
    write(delta, half = null) {
      return new Promise((resolve, reject) => {
        enqueue({ delta, half, resolve, reject })
        if (!running) setImmediate(() => { if (!running) void run() })
      })
    },
  }
}
