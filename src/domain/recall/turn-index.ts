// The index of one conversation, in memory: all versions of its turns, from which each recall selects what its viewer
// sees. Pure.

import { TermCounter } from '../../text/term-counts.ts'
import { createYield } from '../../yield.ts'
import type { IndexedVersion, IndexState, NamedParticipant, ReadIndex } from '../../store/sql/recall/read-turn-index.ts'
import { isOpenAt, sees, viewClass, type View } from '../view.ts'
import type { Sequence } from './sequence.ts'

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

/**
 * Returns the turns of the index in the view, with their occurrences of the requested terms and their cosines.
 * @param terms the number of each requested term, by the term's hash @param query the query's vector; null for none
 * @param isEligible whether a turn matches the filter
 */
export async function searchIndex(
  index: TurnIndex,
  view: View,
  terms: ReadonlyMap<number, number>,
  query: Float32Array | null,
  isEligible: (version: IndexedVersion) => boolean,
): Promise<Sequence> {
  const turns = visibleVersions(index, view)
  const eligible = new Uint8Array(turns.length)
  const similarities = new Float64Array(turns.length)
  const counter = new TermCounter(terms, turns.length)
  const yieldIfDue = createYield()
  for (let i = 0; i < turns.length; i++) {
    if (i % YIELD_AFTER === 0) await yieldIfDue()
    const version = turns[i]!
    const { terms: own, vector } = version
    // oxlint-disable-next-line typescript/prefer-for-of -- three times as fast as the array's iterator
    for (let n = 0; n < own.length; n++) counter.add(own[n]!)
    counter.endText()
    similarities[i] = vector === null || query === null ? NaN : cosine(vector, query)
    eligible[i] = isEligible(version) ? 1 : 0
  }
  return { turns, counts: counter.finish(), eligible, similarities }
}

/** Returns the cosine of two vectors of length 1. Four sums at once take half the time of one. */
function cosine(a: Float32Array, b: Float32Array): number {
  const whole = a.length - (a.length % 4)
  let [s0, s1, s2, s3] = [0, 0, 0, 0]
  for (let d = 0; d < whole; d += 4) {
    s0 += a[d]! * b[d]!
    s1 += a[d + 1]! * b[d + 1]!
    s2 += a[d + 2]! * b[d + 2]!
    s3 += a[d + 3]! * b[d + 3]!
  }
  for (let d = whole; d < a.length; d++) s0 += a[d]! * b[d]!
  return s0 + s1 + (s2 + s3)
}
