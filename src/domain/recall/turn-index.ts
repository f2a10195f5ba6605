// The index of one conversation, in memory: all versions of its turns, from which each recall selects what its viewer
// sees. Pure.

import { createYield } from '../../yield.ts'
import type { IndexedTurn } from '../../store/sql/recall/read-index.ts'
import type { IndexedVersion, IndexState, NamedParticipant, ReadIndex } from '../../store/sql/recall/read-turn-index.ts'
import { isOpenAt, sees, viewClass, type View } from '../view.ts'

/** Estimated memory of a version besides its terms, vector and audience, and of an index, in bytes. */
const VERSION_BYTES = 400
const INDEX_BYTES = 1_000
/** Maximum number of classes of views whose visible turns are kept; the oldest is dropped. */
const MAX_VIEWS = 8

/** The index of a conversation. Never changed: `updated` returns a new one. */
export type TurnIndex = IndexState & {
  conversationId: string
  /** Ordered by position, then seq. */
  versions: readonly IndexedVersion[]
  participants: readonly NamedParticipant[]
  /** Estimated size in memory, in bytes. */
  bytes: number
  /** The versions that may be found, by viewClass, in order of position. */
  visible: Map<string, readonly IndexedVersion[]>
}

const byPlace = (a: IndexedVersion, b: IndexedVersion) => a.position - b.position || a.seq - b.seq

const bytesOf = ({ terms, vector, audience }: IndexedVersion): number =>
  VERSION_BYTES + terms.byteLength + (vector?.byteLength ?? 0) + (audience?.length ?? 0) * 64

/** Returns the index after a read. @param before the index that the read continues; null after a read of everything */
export function updated(conversationId: string, before: TurnIndex | null, read: ReadIndex): TurnIndex {
  const { versions, positions, participants, ...state } = read
  const kept = before?.versions.filter(({ position }) => !positions!.has(position)) ?? []
  const all = [...kept, ...versions].sort(byPlace)
  const bytes = all.reduce((sum, version) => sum + bytesOf(version), INDEX_BYTES + participants.length * 200)
  return { ...state, conversationId, versions: all, participants, bytes, visible: new Map() }
}

/** Whether the index was read in that state or later. The numbers of a state only grow. */
export const isCurrent = (index: IndexState, state: IndexState): boolean =>
  index.lastSeq >= state.lastSeq
  && index.removedThrough >= state.removedThrough
  && index.embeddedThrough >= state.embeddedThrough

/** Returns the committed versions that the view contains, each the newest one of its turn in the view. */
function visibleVersions(index: TurnIndex, view: View): readonly IndexedVersion[] {
  const key = viewClass(view)
  const known = index.visible.get(key)
  if (known) return known
  const { versions } = index
  const visible = versions.filter((version, at) => {
    if (!version.isCommitted || !sees(view, version)) return false
    for (let newer = at + 1; versions[newer]?.position === version.position; newer++) {
      if (isOpenAt(view.windows, versions[newer]!.seq)) return false
    }
    return true
  })
  if (index.visible.size >= MAX_VIEWS) index.visible.delete(index.visible.keys().next().value!)
  index.visible.set(key, visible)
  return visible
}

/** Number of versions after which work checks whether to yield to the event loop. */
const YIELD_AFTER = 256
const NONE: ReadonlyMap<number, number> = new Map()

/** A turn in the index, with its vector; null if the embedder has none. */
export type FoundVersion = IndexedTurn & { vector: Float32Array | null }

/**
 * Returns the turns of the index in the view, in order of position, with the counts of the requested terms.
 * @param terms maps each term's hash to its key in `counts`
 * @param isEligible whether a turn matches the filter
 */
export async function turnsInView(
  index: TurnIndex,
  view: View,
  terms: ReadonlyMap<number, number>,
  isEligible: (version: IndexedVersion) => boolean,
): Promise<FoundVersion[]> {
  const { conversationId } = index
  const found: FoundVersion[] = []
  const yieldIfDue = createYield()
  for (const [i, version] of visibleVersions(index, view).entries()) {
    if (i % YIELD_AFTER === 0) await yieldIfDue()
    const { position, seq, at, actor, tokens, cues, vector } = version
    found.push({
      conversationId,
      position,
      seq,
      at,
      actor,
      tokens,
      cues,
      eligible: isEligible(version),
      length: version.terms.length,
      counts: countsOf(version.terms, terms),
      vector,
    })
  }
  return found
}

/** Returns the number of occurrences of each requested term that occurs. */
function countsOf(terms: Int32Array, requested: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
  let counts: Map<number, number> | null = null
  // oxlint-disable-next-line typescript/prefer-for-of -- three times as fast as the array's iterator
  for (let n = 0; n < terms.length; n++) {
    const number = requested.get(terms[n]!)
    if (number === undefined) continue
    counts ??= new Map()
    counts.set(number, (counts.get(number) ?? 0) + 1)
  }
  return counts ?? NONE
}

/** Returns the cosine of two vectors of length 1. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += a[d]! * b[d]!
  return sum
}
