// A cache of the words of conversations, for recalls of wide scopes. A recall reads the state of each conversation with
// its view; a cached index is used only in that state or after it has been brought up to it. So writes of other
// processes are seen by the next recall, and no message can be missed.

import { LRUCache } from 'lru-cache'
import { readTurnIndex, type IndexState } from '../../store/sql/recall/read-turn-index.ts'
import type { Pool } from '../../store/tenant-pool.ts'
import { MAX_VERSIONS } from './postings.ts'
import { updated, type TurnIndex } from './turn-index.ts'

/** Maximum size of the cache, in bytes: about 300,000 turns of twelve words. */
const MAX_BYTES = 64 * 1024 * 1024
/** Estimated size of a journal entry's version, in bytes. Scopes that would take half the cache are not cached. */
const ENTRY_BYTES = 200
/** Milliseconds after which an index that no recall used is dropped, because its content may have been erased. */
const UNUSED_MS = 60_000
/**
 * Maximum number of entries that a recall reads to complete the indexes of its scope. Beyond them, it searches in the
 * database.
 */
const MAX_NEWER = 2_000
/** Number of entries after which a statement reads no further conversation; one statement blocks the embedded database. */
const PIECE_ENTRIES = 5_000
/** No embedder has this name, so that the reads return no vectors. */
const NO_EMBEDDER = ''
/** Number of scopes whose last recall is remembered. */
const MAX_ASKED = 1_000

/** What an index of words was read at. */
type WordState = Pick<IndexState, 'lastSeq' | 'removedThrough'>

/** Whether the index was read in that state or later. The numbers of a state only grow. */
const hasWordsOf = (index: WordState, state: WordState): boolean =>
  index.lastSeq >= state.lastSeq && index.removedThrough >= state.removedThrough

type Conversation = { id: string; state: WordState }
/** A conversation to read after the entry `after` of the index `before`, or whole. */
type Stale = Conversation & { before: TurnIndex | null; after: number | null; entries: number }

export type WordCache = {
  /**
   * Returns the words of the conversations of the tenant, in at least the given states, in the given order; null if
   * they are not cached. The second recall of a scope within a minute starts to fill the cache in the background. A
   * conversation that no longer exists is omitted.
   */
  read(pool: Pool, tenant: string, conversations: readonly Conversation[]): Promise<TurnIndex[] | null>
  /** Resolves when nothing is being read in the background. */
  settled(): Promise<void>
}

/** What must be read to bring the conversation from the cached index to its state; null if it is in that state. */
function staleOf(conversation: Conversation, cached: TurnIndex | undefined): Stale | null {
  const { lastSeq, removedThrough } = conversation.state
  if (cached && hasWordsOf(cached, conversation.state)) return null
  const resumes = cached !== undefined && cached.lastSeq > 0 && cached.removedThrough === removedThrough
  return resumes
    ? { ...conversation, before: cached, after: cached.lastSeq, entries: lastSeq - cached.lastSeq }
    : { ...conversation, before: null, after: null, entries: lastSeq }
}

/** Divides the conversations into groups, one for each statement: read whole, or from their newer entries on. */
function piecesOf(stale: readonly Stale[]): Stale[][] {
  const pieces: Stale[][] = []
  for (const group of [stale.filter(({ before }) => before), stale.filter(({ before }) => !before)]) {
    let entries = PIECE_ENTRIES
    for (const each of group) {
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

/** @param maxBytes maximum size, in bytes; 0 keeps nothing */
export function createWordCache(maxBytes = MAX_BYTES): WordCache {
  const cache = new LRUCache<string, TurnIndex>({
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: ({ bytes }) => bytes,
    ttl: UNUSED_MS,
    updateAgeOnGet: true,
  })
  /** The scopes that were recalled once, by the smallest id of their conversations. */
  const asked = new LRUCache<string, true>({ max: MAX_ASKED, ttl: UNUSED_MS })
  let purging = false
  let filling: Promise<void> | null = null

  /** Drops unused indexes while there are any. */
  function purgeLater(): void {
    if (purging) return
    purging = true
    setTimeout(() => {
      purging = false
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
        // The next recall reads a conversation anew whose content was removed meanwhile.
        if (!each || (before && before.removedThrough !== each.removedThrough)) cache.delete(id)
        else cache.set(id, updated(id, before, each))
      }
      purgeLater()
    }
    return missing
  }

  /** Starts to fill the cache, unless it is being filled or this is the first recall of the scope. */
  function fillLater(pool: Pool, tenant: string, scope: readonly Conversation[], stale: readonly Stale[]): void {
    const key = scope.reduce((least, { id }) => (id < least ? id : least), scope[0]!.id)
    if (asked.has(key)) filling ??= fillQuietly(pool, tenant, stale)
    asked.set(key, true)
  }

  async function fillQuietly(pool: Pool, tenant: string, stale: readonly Stale[]): Promise<void> {
    try {
      await fill(pool, tenant, stale)
    } catch {
      // The next recall tries again, and its own statements report what fails.
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
