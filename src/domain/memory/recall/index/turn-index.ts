// Builds the index of one conversation in memory: all versions of its turns in flat arrays, the versions that contain
// each term, and the vectors. The index is shared by all viewers; each recall selects the versions that its viewer
// sees. Pure.

import { Role } from '../../../../store/generated/enums.ts'
import { emptyTurns, numbering, type IndexedTurns } from '../../../../store/sql/memory/recall/indexed-turns.ts'
import type { IndexedVersion, IndexState, ReadIndex } from '../../../../store/sql/memory/recall/read-turn-index.ts'
import type { SearchFilter } from '../../../../store/vectors/vector-search.ts'
import { isOpenAt, sees, viewClass, type View } from '../../../kernel/view.ts'
import { toNamed, type NamedActor } from '../rank/question.ts'
import { mergedPostings, type Postings } from './postings.ts'
import { vectorAt, withVectors, type VectorBlocks } from './vector-blocks.ts'

/** The index of a conversation. Only `visible` changes: `updated` returns a new index. */
export type TurnIndex = IndexState & {
  conversationId: string
  /** The embedder of the vectors; null if the index contains only words. Then `embeddedThrough` has no meaning. */
  embedder: string | null
  /** The versions, in order of position, then seq. Elements of all arrays with the same index describe one version. */
  versions: IndexedTurns
  /** 1 for a committed version, otherwise 0. */
  committed: Uint8Array
  /** The index of each version's role in ROLES. */
  roles: Uint8Array
  /** The audiences of the versions that have one, by the version's index. */
  audiences: ReadonlyMap<number, readonly string[]>
  postings: Postings
  /** The row of each version in `vectors`; -1 if it has no vector. */
  rows: Int32Array
  vectors: VectorBlocks | null
  participants: readonly NamedActor[]
  /** Estimated size in memory, in bytes. */
  bytes: number
  /** Cache of `visibleTurns`, by viewClass. */
  visible: Map<string, VisibleTurns>
}

/** The turns that a view contains, each in the newest version that the view contains if that is committed. */
export type VisibleTurns = {
  /** The indexes of these versions, ascending. */
  versions: Int32Array
  /** For each version of the index: its place in `versions`; -1 if it is not visible. */
  places: Int32Array
}

const ROLES = Object.values(Role)
/** Estimated memory of an index without its arrays, in bytes. */
const INDEX_BYTES = 1_000
/** Estimated memory of a participant, an audience or an actor's name, in bytes. */
const OBJECT_BYTES = 200
/** Maximum number of entries in `visible`. A further one replaces the oldest. */
const MAX_VIEWS = 4

const NO_ROWS = new Int32Array()

/**
 * Returns the versions of the new index in order: for each, its index in `before`, or -1 minus its index in `added`.
 * @param dropped positions whose versions in `before` are dropped; null if there is no index before
 */
function ordered(
  before: TurnIndex | null,
  dropped: ReadonlySet<number> | null,
  added: readonly IndexedVersion[],
): number[] {
  const order: number[] = []
  const newer = [...added.keys()].sort(
    (a, b) => added[a]!.position - added[b]!.position || added[a]!.seq - added[b]!.seq,
  )
  const positions = before?.versions.positions ?? NO_ROWS
  let next = 0
  for (let old = 0; old <= positions.length; old++) {
    const position = old < positions.length ? positions[old]! : Infinity
    // The versions of a position are either all kept or all read again.
    while (next < newer.length && added[newer[next]!]!.position < position) order.push(-1 - newer[next++]!)
    if (old < positions.length && !dropped!.has(position)) order.push(old)
  }
  return order
}

/** Returns the columns of the versions in the given order (see `ordered`). */
function columnsOf(
  conversationId: string,
  before: TurnIndex | null,
  added: readonly IndexedVersion[],
  order: readonly number[],
): Pick<TurnIndex, 'versions' | 'committed' | 'roles' | 'audiences'> {
  const versions = emptyTurns(conversationId, order.length)
  versions.names.push(...(before?.versions.names ?? []))
  const actorNumber = numbering(versions.names)
  const committed = new Uint8Array(order.length)
  const roles = new Uint8Array(order.length)
  const audiences = new Map<number, readonly string[]>()
  for (const [index, from] of order.entries()) {
    const audience = from >= 0 ? before!.audiences.get(from) : added[-1 - from]!.audience
    if (audience) audiences.set(index, audience)
    if (from >= 0) {
      copyVersion(before!.versions, from, versions, index)
      committed[index] = before!.committed[from]!
      roles[index] = before!.roles[from]!
      continue
    }
    const version = added[-1 - from]!
    versions.positions[index] = version.position
    versions.seqs[index] = version.seq
    versions.times[index] = version.at
    versions.tokens[index] = version.tokens
    versions.cues[index] = version.cues
    versions.lengths[index] = version.length
    versions.actors[index] = actorNumber(version.actor)
    committed[index] = version.isCommitted ? 1 : 0
    roles[index] = ROLES.indexOf(version.role)
  }
  return { versions, committed, roles, audiences }
}

function copyVersion(from: IndexedTurns, source: number, to: IndexedTurns, target: number): void {
  to.positions[target] = from.positions[source]!
  to.seqs[target] = from.seqs[source]!
  to.times[target] = from.times[source]!
  to.tokens[target] = from.tokens[source]!
  to.cues[target] = from.cues[source]!
  to.lengths[target] = from.lengths[source]!
  to.actors[target] = from.actors[source]!
}

/** Returns the vectors and their rows. Removes the vectors of dropped versions when they are the majority. */
function vectorsOf(
  before: TurnIndex | null,
  added: readonly IndexedVersion[],
  order: readonly number[],
): Pick<TurnIndex, 'rows' | 'vectors'> {
  const rows = Int32Array.from(order, (from) => (from >= 0 ? before!.rows[from]! : -1))
  const kept = rows.reduce((count, row) => count + (row >= 0 ? 1 : 0), 0)
  const isCompact = before?.vectors == null || 2 * kept >= before.vectors.rows
  let vectors = isCompact ? (before?.vectors ?? null) : null
  const appended: Float32Array[] = []
  for (const [index, from] of order.entries()) {
    const vector =
      from < 0
        ? added[-1 - from]!.vector
        : isCompact || rows[index]! < 0
          ? null
          : vectorAt(before.vectors!, rows[index]!)
    if (vector !== null) rows[index] = (vectors?.rows ?? 0) + appended.push(vector) - 1
  }
  vectors = withVectors(vectors, appended)
  return { rows, vectors }
}

/** Returns the index after a read. @param before the index that the read updates; null if it read all entries */
export function updated(
  conversationId: string,
  embedder: string | null,
  before: TurnIndex | null,
  read: ReadIndex,
): TurnIndex {
  const { versions: added, positions, participants, lastSeq, removedThrough, embeddedThrough } = read
  const order = ordered(before, positions, added)
  const columns = columnsOf(conversationId, before, added, order)
  const postings = mergedPostings(before?.postings ?? null, before?.rows.length ?? 0, added, order)
  const { rows, vectors } = vectorsOf(before, added, order)
  const { names, conversationId: _, ...arrays } = columns.versions
  const buffers = [...Object.values(arrays), ...Object.values(postings), ...(vectors?.blocks ?? [])]
  const perVersion = (1 + 1 + 4 + MAX_VIEWS * 2 * 4) * order.length
  const objects = participants.length + columns.audiences.size + names.length
  return {
    ...{ lastSeq, removedThrough, embeddedThrough, conversationId, embedder, ...columns, postings, rows, vectors },
    participants: participants.map(toNamed),
    bytes: buffers.reduce((sum, { byteLength }) => sum + byteLength, INDEX_BYTES + perVersion + objects * OBJECT_BYTES),
    visible: new Map(),
  }
}

/** Whether the version is committed and in the view, and the view contains no newer version of the same turn. */
function isVisible({ versions, committed, audiences }: TurnIndex, view: View, version: number): boolean {
  const { positions, seqs } = versions
  if (committed[version] === 0) return false
  const position = positions[version]!
  if (!sees(view, { position, seq: seqs[version]!, audience: audiences.get(version) ?? null })) return false
  for (let newer = version + 1; positions[newer] === position; newer++) {
    if (isOpenAt(view.windows, seqs[newer]!)) return false
  }
  return true
}

/** Returns the visible turns of the index in the view. Caches them in the index. */
export function visibleTurns(index: TurnIndex, given: View): VisibleTurns {
  const key = viewClass(given)
  const known = index.visible.get(key)
  if (known) return known
  // The index may be newer than the view: it may contain the first turn whose audience includes the actor. The result
  // is cached for all views of the class, so it must not depend on the actor.
  const view = given.addressed ? given : { ...given, actor: null }
  const size = index.rows.length
  const versions = new Int32Array(size)
  const places = new Int32Array(size)
  let count = 0
  for (let version = 0; version < size; version++) {
    const visible = isVisible(index, view, version)
    places[version] = visible ? count : -1
    if (visible) versions[count++] = version
  }
  const found = { versions: versions.subarray(0, count), places }
  if (index.visible.size >= MAX_VIEWS) index.visible.delete(index.visible.keys().next().value!)
  index.visible.set(key, found)
  return found
}

/** Returns the index of the version with that position and seq; -1 if there is none. */
export function versionAt({ versions: { positions, seqs } }: TurnIndex, position: number, seq: number): number {
  let [low, high] = [0, positions.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (positions[middle]! < position) low = middle + 1
    else high = middle
  }
  for (let version = low; positions[version] === position; version++) if (seqs[version] === seq) return version
  return -1
}

/** Whether the filter compares no value, so that every version matches. */
export const isUnfiltered = ({ actors, roles, since, until, metadata, writtenBy }: SearchFilter): boolean =>
  [actors, roles, since, until, metadata, writtenBy].every((value) => value == null)

/** Whether the indexes contain all values that the filter compares. */
export const isInMemory = ({ metadata, writtenBy }: SearchFilter): boolean => metadata == null && writtenBy == null

/** Returns a function that decides whether a version matches the filter. `isInMemory` must be true for the filter. */
export function versionFilter({
  actors,
  roles,
  since,
  until,
}: SearchFilter): (index: TurnIndex, version: number) => boolean {
  const isRole = roles && ROLES.map((role) => roles.includes(role))
  const isActor = actors && new Set(actors)
  return ({ versions: { names, actors: actorOf, times }, roles: roleOf }, version) =>
    (!isActor || isActor.has(names[actorOf[version]!]!))
    && (!isRole || isRole[roleOf[version]!]!)
    && (since == null || times[version]! >= since.getTime())
    && (until == null || times[version]! < until.getTime())
}
