// Caches the indexes of conversations that recalls search in memory: their words, and the vectors of an embedder if a
// recall needed them. Each recall reads the state of a conversation together with the viewer's view, and uses the cached
// index only if it has this state or is updated to it first. Hence a recall sees the writes of all processes without
// notifications, which could be lost.

import { LRUCache } from 'lru-cache'
import { readTurnIndex, type IndexState } from '../../../../store/sql/memory/recall/read-turn-index.ts'
import type { Pool } from '../../../../store/db/tenant-pool.ts'
import { MAX_VERSIONS } from './postings.ts'
import { updated, type TurnIndex } from './turn-index.ts'

/** Maximum size of the cache, in bytes: about 200,000 turns of twelve words with vectors of 100 components. */
const MAX_BYTES = 128 * 1024 * 1024
/** Maximum share of the cache that a large scope takes. */
const MAX_SHARE = 1 / 4
/** Estimated size of an index per journal entry, without vectors, in bytes. */
const ENTRY_BYTES = 200
/**
 * Milliseconds after which an index that no recall used is dropped. An unused index is not updated, so its content may
 * have been erased.
 */
const UNUSED_MS = 60_000
/** Maximum number of entries that a recall of a large scope reads to complete its indexes. */
const MAX_NEWER = 2_000
/**
 * Number of entries after which a statement reads no further conversation. Keeps statements short, because the embedded
 * database runs only one at a time.
 */
const PIECE_ENTRIES = 5_000
/** Maximum number of large scopes whose last recall is remembered. */
const MAX_RECALLED = 1_000

type Conversation = { id: string; state: IndexState }

export type IndexRequest = {
  tenant: string
  conversations: readonly Conversation[]
  /** The embedder whose vectors the indexes must contain; null if only words are needed. */
  embedder: { name: string; dimension: number } | null
  /** Whether the scope is large, so that most of its indexes must be cached already. */
  isLarge: boolean
}

export type IndexCache = {
  /**
   * Returns the indexes of the conversations, in the same order, each in the given state or a later one. Omits
   * conversations that no longer exist. For a large scope, returns null if more than MAX_NEWER entries are missing or if
   * it would take more than MAX_SHARE of the cache; if entries are missing, the second recall of the scope within
   * UNUSED_MS starts to fill the cache in the background.
   */
  read(pool: Pool, request: IndexRequest): Promise<TurnIndex[] | null>
  /** Resolves when no background read is running. */
  settled(): Promise<void>
}

/**
 * A conversation to read: the entries with a seq above `after`, which update the cached index (`before`), or all
 * entries if both are null. `entries` is the number of entries to read.
 */
type Stale = { id: string; embedder: string | null; before: TurnIndex | null; after: number | null; entries: number }

/** Returns the read that updates the cached index to the conversation's state; null if the index has that state. */
function staleOf({ id, state }: Conversation, cached: TurnIndex | undefined, embedder: string | null): Stale | null {
  const whole: Stale = { id, embedder, before: null, after: null, entries: state.lastSeq }
  if (!cached || (embedder !== null && cached.embedder !== embedder)) return whole
  // The numbers of a state never decrease.
  const hasVectors = embedder === null || cached.embeddedThrough >= state.embeddedThrough
  const hasWords = cached.lastSeq >= state.lastSeq && cached.removedThrough >= state.removedThrough
  if (hasWords && hasVectors) return null
  const after = embedder === null ? cached.lastSeq : Math.min(cached.lastSeq, cached.embeddedThrough)
  if (after === 0 || cached.removedThrough !== state.removedThrough) return { ...whole, embedder: cached.embedder }
  return { id, embedder: cached.embedder, before: cached, after, entries: state.lastSeq - after }
}

/**
 * Divides the conversations into pieces, one for each statement. All conversations of a piece are read with the vectors
 * of the same embedder, and either completely or from an entry.
 */
function piecesOf(stale: readonly Stale[]): Stale[][] {
  const kinds = new Map<string, { pieces: Stale[][]; entries: number }>()
  for (const each of stale) {
    const key = `${each.before ? 'newer' : 'whole'} ${each.embedder}`
    const kind = kinds.get(key) ?? { pieces: [[]], entries: 0 }
    kinds.set(key, kind)
    if (kind.entries >= PIECE_ENTRIES) {
      kind.pieces.push([])
      kind.entries = 0
    }
    kind.pieces.at(-1)!.push(each)
    kind.entries += each.entries
  }
  return [...kinds.values()].flatMap(({ pieces }) => pieces)
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)

/** @param maxBytes maximum size of the cache, in bytes; 0 disables it */
export function createIndexCache(maxBytes = MAX_BYTES): IndexCache {
  const cache = new LRUCache<string, TurnIndex>({
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: ({ bytes }) => bytes,
    ttl: UNUSED_MS,
    updateAgeOnGet: true,
  })
  /** The large scopes that were recalled in the last UNUSED_MS, by embedder and the smallest id of the conversations. */
  const recalled = new LRUCache<string, true>({ max: MAX_RECALLED, ttl: UNUSED_MS })
  let isPurging = false
  let filling: Promise<void> | null = null

  /** Drops unused indexes regularly until the cache is empty. One timer serves the thousands of indexes of a scope. */
  function purgeLater(): void {
    if (isPurging) return
    isPurging = true
    setTimeout(() => {
      isPurging = false
      cache.purgeStale()
      if (cache.size > 0) purgeLater()
    }, UNUSED_MS / 2).unref()
  }

  /** Reads the conversations into the cache. Returns their indexes, without conversations that do not exist. */
  async function readAll(pool: Pool, tenant: string, stale: readonly Stale[]): Promise<Map<string, TurnIndex>> {
    const found = new Map<string, TurnIndex>()
    const changed: Stale[] = []
    for (const piece of piecesOf(stale)) {
      const read = await readTurnIndex(pool, tenant, piece[0]!.embedder, piece)
      for (const { id, embedder, before, after, entries } of piece) {
        const each = read.get(id)
        if (!each) cache.delete(id)
        // Retention has removed content of turns meanwhile: read the conversation completely.
        else if (before && before.removedThrough !== each.removedThrough)
          changed.push({ id, embedder, before: null, after: null, entries })
        else {
          // A read from a later entry than `embeddedThrough` lacks the vectors of the entries between them.
          const isBehind = before !== null && after! > before.embeddedThrough
          const embeddedThrough = isBehind ? before.embeddedThrough : each.embeddedThrough
          const index = updated(id, embedder, before, { ...each, embeddedThrough })
          found.set(id, index)
          cache.set(id, index)
        }
      }
      purgeLater()
    }
    return changed.length > 0 ? new Map([...found, ...(await readAll(pool, tenant, changed))]) : found
  }

  /** Starts to fill the cache, unless it is being filled already or this is the first recall of the scope. */
  function fillLater(pool: Pool, { tenant, conversations, embedder }: IndexRequest, stale: readonly Stale[]): void {
    const least = conversations.reduce((id, each) => (each.id < id ? each.id : id), conversations[0]!.id)
    const key = `${least} ${embedder?.name ?? ''}`
    if (recalled.has(key)) filling ??= fillQuietly(pool, tenant, stale)
    recalled.set(key, true)
  }

  async function fillQuietly(pool: Pool, tenant: string, stale: readonly Stale[]): Promise<void> {
    try {
      await readAll(pool, tenant, stale)
    } catch {
      // The next recall retries, and its own statements report the error.
    } finally {
      filling = null
    }
  }

  return {
    async read(pool, request) {
      const { tenant, conversations, embedder, isLarge } = request
      const all = sumOf(conversations.map(({ state }) => state.lastSeq))
      const bytes = all * (ENTRY_BYTES + 4 * (embedder?.dimension ?? 0))
      if (isLarge && (bytes > maxBytes * MAX_SHARE || all > MAX_VERSIONS)) return null
      const cached = new Map(conversations.map(({ id }) => [id, cache.get(id)]))
      const stale = conversations.flatMap((each) => staleOf(each, cached.get(each.id), embedder?.name ?? null) ?? [])
      if (isLarge && sumOf(stale.map(({ entries }) => entries)) > MAX_NEWER) {
        fillLater(pool, request, stale)
        return null
      }
      if (stale.length > 0) {
        const read = await readAll(pool, tenant, stale)
        for (const { id } of stale) cached.set(id, read.get(id))
      }
      return conversations.flatMap(({ id }) => cached.get(id) ?? [])
    },
    async settled() {
      while (filling) await filling
    },
  }
}
