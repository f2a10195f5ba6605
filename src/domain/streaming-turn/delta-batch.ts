// Merges the waiting deltas of a turn into one chunk, and says where each of them ends. Pure: delta-queue.ts writes them.

import type { ChunkRow, Delta } from '../../store/sql/streaming-turn/append-chunks.ts'
import { isFirstHalf, isSecondHalf } from './state.ts'

export type DeltaWrite = { tenant: string; turnId: string; start: number | null; text: string }

/** A delta that waits; `alone` keeps it from being merged, after it was refused together with others. */
export type WaitingDelta = { readonly delta: DeltaWrite; readonly alone: boolean }

/** The text between the surrogate halves at its ends. A half in the middle is not text: see appendDelta. */
function toChunk({ turnId, tenant, start, text }: DeltaWrite): Delta {
  const second = isSecondHalf(text.charCodeAt(0)) ? text.charCodeAt(0) : null
  const last = text.charCodeAt(text.length - 1)
  const half = isFirstHalf(last) ? last : null
  const whole = text.slice(second === null ? 0 : 1, half === null ? undefined : -1)
  return { turn: turnId, tenant, start, second, text: whole, units: whole.length, half }
}

/** Whether the halves that meet are one pair, or neither side ends in a half. */
const fits = (before: string, after: string) =>
  isFirstHalf(before.charCodeAt(before.length - 1)) === isSecondHalf(after.charCodeAt(0))

/** One chunk of the first waiting deltas of a turn, as many as continue one another; `count` says how many. */
export function mergeDeltas(waiting: readonly WaitingDelta[]): { chunk: Delta; count: number } {
  const first = waiting[0]!
  let { text } = first.delta
  let count = 1
  for (; text !== '' && count < waiting.length && !first.alone; count++) {
    const { delta, alone } = waiting[count]!
    const end = first.delta.start === null ? null : first.delta.start + text.length
    if (alone || delta.text === '' || (delta.start !== null && delta.start !== end) || !fits(text, delta.text)) break
    text += delta.text
  }
  return { chunk: toChunk({ ...first.delta, text }), count }
}

/** Where each of the merged deltas ends: the last at the chunk's end, each other one where the next begins. */
export function endsOf(merged: readonly WaitingDelta[], chunkEnd: number): number[] {
  const ends: number[] = []
  let end = chunkEnd
  for (let index = merged.length - 1; index >= 0; index--) {
    ends[index] = end
    end -= merged[index]!.delta.text.length
  }
  return ends
}

/**
 * The part of a delta that is not stored yet, given the turn's end and its text so far; null where other text is stored.
 * The text may have grown since the end was read: only what is before the end is compared.
 */
export function unwrittenText(
  { start, text }: { start: number; text: string },
  { end, half }: { end: number; half: number | null },
  textSoFar: string,
): string | null {
  const stored = half === null ? textSoFar.slice(0, end) : textSoFar.slice(0, end - 1) + String.fromCharCode(half)
  const repeated = text.slice(0, end - start)
  return stored.slice(start, start + repeated.length) === repeated ? text.slice(repeated.length) : null
}

/** Whether the delta starts before the turn's end, so that it may repeat text that is stored. */
export const startsBeforeEnd = (delta: DeltaWrite, row: ChunkRow): delta is DeltaWrite & { start: number } =>
  row.outcome === 'elsewhere' && delta.start !== null && delta.start < row.end!
