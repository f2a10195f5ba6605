// Caches the words of conversations, for recalls of large scopes (gather.ts). Each recall reads the state of every
// conversation together with the viewer's view. It uses a cached index only if the index has this state or is updated
// to it first. Hence a recall sees the writes of all processes without notifications, which could be lost.

import { LRUCache } from 'lru-cache'
import { readTurnIndex, type IndexState } from '../../store/sql/recall/read-turn-index.ts'
import type { Pool } from '../../store/tenant-pool.ts'
import { MAX_VERSIONS } from './postings.ts'
import { updated, type TurnIndex } from './turn-index.ts'

/** Maximum size of the cache, in bytes: about 300,000 turns of twelve words. */
const MAX_BYTES = 64 * 1024 * 1024
/** Estimated size of an index per journal entry, in bytes. */
const ENTRY_BYTES = 200
/**
 * Time since its last use after which an index is dropped, in milliseconds. An unused index is not updated, so its
 * content may have been erased.
 */
const UNUSED_MS = 60_000
/**
 * Maximum number of entries that a recall reads to complete the indexes of its scope. If more are missing, it searches
 * in the database.
 */
const MAX_NEWER = 2_000
/**
 * Number of entries after which a statement reads no further conversation. Keeps statements short, because the embedded
 * database runs only one at a time.
 */
const PIECE_ENTRIES = 5_000
/** No embedder has this name. Reads with this name return no vectors. */
const NO_EMBEDDER = ''
/** Maximum number of scopes whose last recall is remembered. */
const MAX_RECALLED = 1_000

/** The part of a conversation's state on which an index of its words depends. */
type WordState = Pick<IndexState, 'lastSeq' | 'removedThrough'>

/** Whether the index was read in that state or a later one. The numbers of a state never decrease. */
const hasWordsOf = (index: WordState, state: WordState): boolean =>
  index.lastSeq >= state.lastSeq && index.removedThrough >= state.removedThrough

type Conversation = { id: string; state: WordState }
/**
 * A conversation to read: the entries with a seq above `after`, which update the cached index (`before`), or all
 * entries if both are null. `entries` is the number of entries to read.
 */
type Stale = Conversation & { before: TurnIndex | null; after: number | null; entries: number }

export type WordCache = {
  /**
   * Returns the indexes of the given conversations, in the same order, each in the given state or a later one. Reads at
   * most MAX_NEWER missing entries. Omits conversations that no longer exist. Returns null if more entries are missing,
   * if the scope is too large for the cache, or if an index was dropped meanwhile. If more entries are missing, the
   * second recall of a scope within UNUSED_MS starts to fill the cache in the background.
   */
  read(pool: Pool, tenant: string, conversations: readonly Conversation[]): Promise<TurnIndex[] | null>
  /** Resolves when no background read is running. */
  settled(): Promise<void>
}

/** Returns the read that updates the cached index to the conversation's state; null if the index has that state. */
function staleOf(conversation: Conversation, cached: TurnIndex | undefined): Stale | null {
  const { lastSeq, removedThrough } = conversation.state
  if (cached && hasWordsOf(cached, conversation.state)) return null
  const resumes = cached !== undefined && cached.lastSeq > 0 && cached.removedThrough === removedThrough
  return resumes
    ? { ...conversation, before: cached, after: cached.lastSeq, entries: lastSeq - cached.lastSeq }
    : { ...conversation, before: null, after: null, entries: lastSeq }
}

/**
 * Divides the conversations into pieces, one for each statement. A piece contains either conversations with newer
 * entries to read, or conversations to read completely.
 */
function piecesOf(stale: readonly Stale[]): Stale[][] {
  const pieces: Stale[][] = []
  for (const kind of [stale.filter(({ before }) => before), stale.filter(({ before }) => !before)]) {
    let entries = PIECE_ENTRIES
    for (const each of kind) {
      if (entries >= PIECE_ENTRIES) {
        pieces.push([])
        entries = 0
      }
      pieces.at(-1)!.push(each)
      entries += each.entries
    }
  }
  return pieces
}

const entriesOf = (conversations: readonly { entries: number }[]) =>
  conversations.reduce((sum, { entries }) => sum + entries, 0)

/** @param maxBytes maximum size of the cache, in bytes; 0 disables it */
export function createWordCache(maxBytes = MAX_BYTES): WordCache {
  const cache = new LRUCache<string, TurnIndex>({
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: ({ bytes }) => bytes,
    ttl: UNUSED_MS,
    updateAgeOnGet: true,
  })
  /** The scopes that were recalled in the last UNUSED_MS. A scope's key is the smallest id of its conversations. */
  const recalled = new LRUCache<string, true>({ max: MAX_RECALLED, ttl: UNUSED_MS })
  let isPurging = false
  let filling: Promise<void> | null = null

  /** Drops unused indexes regularly until the cache is empty. */
  function purgeLater(): void {
    if (isPurging) return
    isPurging = true
    setTimeout(() => {
      isPurging = false
      cache.purgeStale()
      if (cache.size > 0) purgeLater()
    }, UNUSED_MS / 2).unref()
  }

  /** Reads the conversations into the cache. Returns the ids of conversations that do not exist. */
  async function fill(pool: Pool, tenant: string, stale: readonly Stale[]): Promise<Set<string>> {
    const missing = new Set<string>()
    for (const piece of piecesOf(stale)) {
      const read = await readTurnIndex(pool, tenant, NO_EMBEDDER, piece)
      for (const { id, before } of piece) {
        const each = read.get(id)
        if (!each) missing.add(id)
        // If retention has removed content meanwhile, the next recall reads the conversation completely.
        if (!each || (before && before.removedThrough !== each.removedThrough)) cache.delete(id)
        else cache.set(id, updated(id, before, each))
      }
      purgeLater()
    }
    return missing
  }

  /** Starts to fill the cache, unless it is being filled already or this is the first recall of the scope. */
  function fillLater(pool: Pool, tenant: string, scope: readonly Conversation[], stale: readonly Stale[]): void {
    const key = scope.reduce((least, { id }) => (id < least ? id : least), scope[0]!.id)
    if (recalled.has(key)) filling ??= fillQuietly(pool, tenant, stale)
    recalled.set(key, true)
  }

  async function fillQuietly(pool: Pool, tenant: string, stale: readonly Stale[]): Promise<void> {
    try {
      await fill(pool, tenant, stale)
    } catch {
      // The next recall retries, and its own statements report the error.
    } finally {
      filling = null
    }
  }

  return {
    async read(pool, tenant, conversations) {
      const entries = conversations.reduce((sum, { state }) => sum + state.lastSeq, 0)
      if (entries * ENTRY_BYTES > maxBytes / 2 || entries > MAX_VERSIONS) return null
      const stale = conversations.flatMap((each) => staleOf(each, cache.get(each.id)) ?? [])
      if (entriesOf(stale) > MAX_NEWER) {
        fillLater(pool, tenant, conversations, stale)
        return null
      }
      const missing = stale.length > 0 ? await fill(pool, tenant, stale) : new Set<string>()
      const found: TurnIndex[] = []
      for (const { id, state } of conversations) {
        const index = cache.get(id)
        if (index && hasWordsOf(index, state)) found.push(index)
        else if (!missing.has(id)) return null
      }
      return found
    },
    async settled() {
      while (filling) await filling
    },
  }
}
