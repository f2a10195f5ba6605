// Deltas that wait while a statement runs leave together as the next one; those of one turn as one chunk, in the order
// they came. What is acknowledged is committed, and told to readers only then. What is there already is dropped here,
// so that a repeated delta keeps its place before those that follow it.

import type { Platform } from '../platform.ts'
import type { Pool } from 'pg'
import { appendChunks, type ChunkRow, type Delta } from '../../store/sql/streaming-turn/append-chunks.ts'
import { readTextSoFar } from '../../store/sql/turn/read-turns.ts'
import { isFirstHalf, isSecondHalf } from './state.ts'

type DeltaWrite = { tenant: string; turnId: string; start: number | null; text: string }

/**
 * `end` is the turn's end after the delta, or where the turn ends instead; 'other' is text that stands there already.
 */
export type Written = { outcome: ChunkRow['outcome'] | 'other'; end: number | null; status: ChunkRow['status'] }

export type DeltaQueue = { write(delta: DeltaWrite): Promise<Written> }

type Job = {
  delta: DeltaWrite
  /** Not to be merged: together with others it was refused. */
  alone: boolean
  resolve(written: Written): void
  reject(error: unknown): void
}

/** The text between halves at its ends. A half in the middle is not text: see appendDelta. */
function toDelta({ turnId, tenant, start, text }: DeltaWrite): Delta {
  const second = isSecondHalf(text.charCodeAt(0)) ? text.charCodeAt(0) : null
  const last = text.charCodeAt(text.length - 1)
  const half = isFirstHalf(last) ? last : null
  const whole = text.slice(second === null ? 0 : 1, half === null ? undefined : -1)
  return { turn: turnId, tenant, start, second, text: whole, units: whole.length, half }
}

/** Whether the halves that meet are one pair, or none are. */
const fits = (before: string, after: string) =>
  isFirstHalf(before.charCodeAt(before.length - 1)) === isSecondHalf(after.charCodeAt(0))

type Batch = { chunk: Delta; jobs: Job[] }

/** A chunk of the first jobs of a turn, as many as follow on one another. They leave the list. */
function merge(jobs: Job[]): Batch {
  const first = jobs.shift()!
  const merged = [first]
  let { text } = first.delta
  while (text !== '' && jobs.length > 0 && !first.alone) {
    const { delta, alone } = jobs[0]!
    const end = first.delta.start === null ? null : first.delta.start + text.length
    if (alone || delta.text === '' || (delta.start !== null && delta.start !== end) || !fits(text, delta.text)) break
    text += delta.text
    merged.push(jobs.shift()!)
  }
  return { jobs: merged, chunk: toDelta({ ...first.delta, text }) }
}

/**
 * @param limit UTF-8 bytes one turn's text may have
 * @param written called after the commit with every stretch of text
 */
export function createDeltaQueue(
  pool: Pool,
  limit: number,
  written: (conversationId: string, turnId: string, start: number, text: string) => void,
): DeltaQueue {
  const waiting = new Map<string, Job[]>()
  let running = false

  async function run(): Promise<void> {
    running = true
    while (waiting.size > 0) {
      const batch = [...waiting.values()].map(merge)
      for (const [turnId, jobs] of waiting) if (jobs.length === 0) waiting.delete(turnId)
      try {
        const rows = await appendChunks(
          pool,
          batch.map(({ chunk }) => chunk),
          limit,
        )
        for (const row of rows) await settle(batch[row.place]!, row)
      } catch (error) {
        // Those that were settled before are not rejected any more.
        for (const { jobs } of batch) for (const job of jobs) job.reject(error)
      }
    }
    running = false
  }

  async function settle({ chunk, jobs }: Batch, row: ChunkRow): Promise<void> {
    if (row.outcome === 'written' || row.outcome === 'renewed') {
      if (row.text) written(row.conversationId!, chunk.turn, row.start!, row.text)
      // The last one ends where the turn does, each other one where the next begins.
      let end = row.end!
      for (const job of jobs.toReversed()) {
        job.resolve({ ...row, end })
        end -= job.delta.text.length
      }
      return
    }
    if (jobs.length > 1)
      return putBack(
        chunk.turn,
        jobs.map((job) => ({ ...job, alone: true })),
      )
    const [job] = jobs
    const { start } = job!.delta
    if (row.outcome === 'elsewhere' && start !== null && start < row.end!) {
      const rest = await unsaid(job!.delta, row)
      if (rest === null) return job!.resolve({ ...row, outcome: 'other' })
      // Nothing new is a sign of life all the same.
      const delta = { ...job!.delta, text: rest, start: rest === '' ? null : row.end }
      return putBack(chunk.turn, [{ ...job!, delta, alone: true }])
    }
    job!.resolve(row)
  }

  /** What of the delta is not there yet; null where other text is. */
  async function unsaid({ tenant, turnId, start, text }: DeltaWrite, { end, half }: ChunkRow): Promise<string | null> {
    const stored = (await readTextSoFar(pool, tenant, [turnId])).get(turnId) ?? ''
    // Nobody may have written more in between: what is compared is what the answer spoke of.
    const said = half === null ? stored.slice(0, end!) : stored.slice(0, end! - 1) + String.fromCharCode(half)
    const known = text.slice(0, end! - start!)
    return said.slice(start!, start! + known.length) === known ? text.slice(known.length) : null
  }

  /** In front of those that came later. */
  function putBack(turnId: string, jobs: Job[]): void {
    waiting.set(turnId, [...jobs, ...(waiting.get(turnId) ?? [])])
  }

  return {
    write(delta) {
      return new Promise((resolve, reject) => {
        const job = { delta, alone: false, resolve, reject }
        const jobs = waiting.get(delta.turnId)
        if (jobs) jobs.push(job)
        else waiting.set(delta.turnId, [job])
        if (!running)
          setImmediate(() => {
            if (!running) void run()
          })
      })
    },
  }
}

/** What writing streaming turns needs. */
export type StreamDeps = Platform & { deltas: DeltaQueue }
