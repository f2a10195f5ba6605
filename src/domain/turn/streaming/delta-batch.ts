// Merges the waiting deltas of a writer into one chunk, and computes the end of each delta. A delta may end in the first
// half of a surrogate pair; the next one then begins with the second half. Pure: delta-queue.ts writes the chunks.

import type { ChunkRow, Delta } from '../../../store/sql/turn/streaming/append-chunks.ts'

/** Whether the UTF-16 unit is the first half of a pair. */
export const isFirstHalf = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isSecondHalf = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

/** Whether the text begins with the second half of a pair. */
export const startsWithSecondHalf = (text: string) => isSecondHalf(text.charCodeAt(0))

/** A delta to write at UTF-16 offset `start`; null means the turn's end. `writer` is the hash of the writer's token. */
export type DeltaWrite = {
  tenant: string
  viewer: string
  turnId: string
  writer: string
  start: number | null
  text: string
}

/** A waiting delta. `isUnmergeable` is true for a delta that was queued again. */
export type WaitingDelta = { readonly delta: DeltaWrite; readonly isUnmergeable: boolean }

/** Identifies the writer and the turn. Deltas are merged only with deltas of the same writer. */
export const writerOf = ({ turnId, tenant, viewer, writer }: DeltaWrite): string =>
  [turnId, writer, tenant, viewer].join('\0')

/** Separates the surrogate halves at the ends from the text. appendDelta has already rejected halves in the middle. */
function toChunk({ turnId, tenant, viewer, writer, start, text }: DeltaWrite): Delta {
  const second = startsWithSecondHalf(text) ? text.charCodeAt(0) : null
  const last = text.charCodeAt(text.length - 1)
  const half = isFirstHalf(last) ? last : null
  const whole = text.slice(second === null ? 0 : 1, half === null ? undefined : -1)
  return { turn: turnId, tenant, viewer, writer, start, second, text: whole, units: whole.length, half }
}

/** Whether no surrogate half is unpaired where the texts join. */
const fits = (before: string, after: string) =>
  isFirstHalf(before.charCodeAt(before.length - 1)) === startsWithSecondHalf(after)

/** Merges the first deltas of a writer, as long as each continues the previous one. `count` is the number merged. */
export function mergeDeltas(waiting: readonly WaitingDelta[]): { chunk: Delta; count: number } {
  const first = waiting[0]!
  let { text } = first.delta
  let count = 1
  for (; text !== '' && count < waiting.length && !first.isUnmergeable; count++) {
    const { delta, isUnmergeable } = waiting[count]!
    const end = first.delta.start === null ? null : first.delta.start + text.length
    if (isUnmergeable || delta.text === '' || (delta.start !== null && delta.start !== end) || !fits(text, delta.text))
      break
    text += delta.text
  }
  return { chunk: toChunk({ ...first.delta, text }), count }
}

/** Returns the end of each merged delta: the chunk's end for the last delta, the start of the next delta otherwise. */
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
 * Returns the part of a delta that is not stored, given the turn's end and text so far; null if different text is
 * stored. Only text before `end` is compared, because text may have been appended after `end` was read.
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

/** Whether the delta starts before the turn's end, so that it may repeat stored text. */
export const startsBeforeEnd = (delta: DeltaWrite, row: ChunkRow): delta is DeltaWrite & { start: number } =>
  row.outcome === 'elsewhere' && delta.start !== null && delta.start < row.end!
