// Merges the waiting deltas of a writer into one chunk, and computes the end of each delta. A delta may end in the first
// half of a surrogate pair; the next one then begins with the second half. Pure: delta-queue.ts writes the chunks.

import type { ChunkRow, Delta } from '../../../store/sql/turn/streaming/append-chunks.ts'
import type { DeltaPart } from '../streamed-part.ts'

/** Whether the UTF-16 unit is the first half of a pair. */
export const isFirstHalf = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isSecondHalf = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

/** Whether the text begins with the second half of a pair. */
export const startsWithSecondHalf = (text: string) => isSecondHalf(text.charCodeAt(0))

/**
 * A delta to write at UTF-16 offset `start`; null means the end of the stored text. `writer` is the hash of the writer's
 * token. `part` is null for a delta of the turn's text.
 */
export type DeltaWrite = {
  tenant: string
  viewer: string
  turnId: string
  writer: string
  part: DeltaPart | null
  start: number | null
  text: string
}

/** Number of the part of a delta; 0 for the turn's text. */
export const partNumberOf = ({ part }: Pick<DeltaWrite, 'part'>): number => part?.number ?? 0

/** The fields of a chunk that name its part. */
export const partFieldsOf = ({ part }: Pick<DeltaWrite, 'part'>): Pick<Delta, 'part' | 'content' | 'complete'> => ({
  part: part?.number ?? 0,
  content: part?.content ?? null,
  complete: part?.isComplete ?? false,
})

/** A waiting delta. `isUnmergeable` is true for a delta that was queued again. */
export type WaitingDelta = { readonly delta: DeltaWrite; readonly isUnmergeable: boolean }

/** Identifies the writer and the turn. Deltas are merged only with deltas of the same writer. */
export const writerOf = ({ turnId, tenant, viewer, writer }: DeltaWrite): string =>
  [turnId, writer, tenant, viewer].join('\0')

/** Separates the surrogate halves at the ends from the text. appendDelta has already rejected halves in the middle. */
function toChunk(delta: DeltaWrite): Delta {
  const { turnId, tenant, viewer, writer, start, text } = delta
  const second = startsWithSecondHalf(text) ? text.charCodeAt(0) : null
  const last = text.charCodeAt(text.length - 1)
  const half = isFirstHalf(last) ? last : null
  const whole = text.slice(second === null ? 0 : 1, half === null ? undefined : -1)
  const place = { turn: turnId, tenant, viewer, writer, ...partFieldsOf(delta), start }
  return { ...place, second, text: whole, units: whole.length, half }
}

/** Whether no surrogate half is unpaired where the texts join. */
const fits = (before: string, after: string) =>
  isFirstHalf(before.charCodeAt(before.length - 1)) === startsWithSecondHalf(after)

/** Whether a delta continues the text of `first` and those merged with it, which is `text`. */
function continues(first: DeltaWrite, text: string, { part, start, text: more }: DeltaWrite): boolean {
  const end = first.start === null ? null : first.start + text.length
  return (
    partNumberOf({ part }) === partNumberOf(first)
    && !part?.content
    && more !== ''
    && (start === null || start === end)
    && fits(text, more)
  )
}

/** Merges the first deltas of a writer, as long as each continues the previous one. `count` is the number merged. */
export function mergeDeltas(waiting: readonly WaitingDelta[]): { chunk: Delta; count: number } {
  const first = waiting[0]!
  let { text, part } = first.delta
  let count = 1
  for (; text !== '' && count < waiting.length && !first.isUnmergeable && !part?.isComplete; count++) {
    const { delta, isUnmergeable } = waiting[count]!
    if (isUnmergeable || !continues(first.delta, text, delta)) break
    text += delta.text
    if (part && delta.part?.isComplete) part = { ...part, isComplete: true }
  }
  return { chunk: toChunk({ ...first.delta, part, text }), count }
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

/** Whether the delta starts before the end of the stored text, so that it may repeat a part of it. */
export const startsBeforeEnd = (delta: DeltaWrite, row: ChunkRow): delta is DeltaWrite & { start: number } =>
  row.outcome === 'elsewhere' && delta.start !== null && delta.start < row.end!
