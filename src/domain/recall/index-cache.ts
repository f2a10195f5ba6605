// A cache of the indexes of conversations that are searched whole. A recall reads the state of a conversation with its
// view; the cached index is used only if it has that state. So the next recall sees the writes of other processes,
// without messages that could be lost. A conversation with newer entries is read again from there on.

import { LRUCache } from 'lru-cache'
import { readTurnIndex, type IndexState } from '../../store/sql/recall/read-turn-index.ts'
import type { Pool } from '../../store/tenant-pool.ts'
import { updated, type TurnIndex } from './turn-index.ts'

/** Maximum size of the cache, in bytes: about 100,000 turns of twelve words with vectors of 100 components. */
const MAX_BYTES = 64 * 1024 * 1024
/**
 * Milliseconds after which an index that no recall used is dropped. An index has names and vectors. If they are erased
 * and the process does not search the conversation again, they leave its memory within this time.
 */
const UNUSED_MS = 60_000
/** Estimated size of a journal entry's version besides its vector, in bytes. */
const ENTRY_BYTES = 250
/** Number of larger scopes whose last recall is remembered. */
const MAX_ASKED = 1_000
/** Maximum number of newer entries that are read alone. Beyond them, the whole conversation is read again. */
const MAX_NEWER = 500

/** Whether the index was read in that state or later. The numbers of a state only grow. */
const isCurrent = (index: IndexState, state: IndexState): boolean =>
  index.lastSeq >= state.lastSeq
  && index.removedThrough >= state.removedThrough
  && index.embeddedThrough >= state.embeddedThrough

export type IndexCache = {
  /**
   * Returns the indexes of conversations of the tenant, in at least the given states. A conversation that no longer
   * exists has no key.
   */
  read(
    pool: Pool,
    tenant: string,
    embedder: string,
    conversations: readonly Conversation[],
  ): Promise<Map<string, TurnIndex>>
  /**
   * Whether the indexes of a larger scope are cached, so that `read` reads only a few newer entries. The second call for
   * a scope within a minute starts to fill the cache in the background, unless the scope would take half of it.
   */
  prepare(
    pool: Pool,
    tenant: string,
    embedder: { name: string; dimension: number },
    conversations: readonly Conversation[],
  ): boolean
  /** Resolves when nothing is being read in the background. */
  settled(): Promise<void>
}

type Conversation = { id: string; state: IndexState }

const keyOf = (embedder: string, conversationId: string) => `${conversationId} ${embedder}`

/** @param maxBytes maximum size, in bytes; 0 keeps nothing */
export function createIndexCache(maxBytes = MAX_BYTES): IndexCache {
  const cache = new LRUCache<string, TurnIndex>({
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: ({ bytes }) => bytes,
    ttl: UNUSED_MS,
    updateAgeOnGet: true,
    ttlAutopurge: true,
  })

  /** The larger scopes that were recalled once, by the smallest id of their conversations. */
  const asked = new LRUCache<string, true>({ max: MAX_ASKED, ttl: UNUSED_MS })
  let filling: Promise<void> | null = null

  /** Seq of the newest entry that the index and its vectors contain; null if the conversation must be read whole. */
  function resumeFrom(index: TurnIndex | undefined, state: IndexState): number | null {
    if (!index || index.removedThrough !== state.removedThrough) return null
    const after = Math.min(index.lastSeq, index.embeddedThrough)
    return after > 0 && state.lastSeq - after <= MAX_NEWER ? after : null
  }

  async function readAll(
    pool: Pool,
    tenant: string,
    embedder: string,
    conversations: readonly { id: string; before: TurnIndex | null; after: number | null }[],
  ): Promise<TurnIndex[]> {
    const read = await readTurnIndex(pool, tenant, embedder, conversations)
    const indexes: TurnIndex[] = []
    const changed: { id: string; before: null; after: null }[] = []
    for (const { id, before } of conversations) {
      const each = read.get(id)
      if (!each) continue
      // Retention has removed content meanwhile, of any turn.
      if (before && before.removedThrough !== each.removedThrough) changed.push({ id, before: null, after: null })
      else indexes.push(updated(id, before, each))
    }
    for (const index of indexes) cache.set(keyOf(embedder, index.conversationId), index)
    return changed.length > 0 ? [...indexes, ...(await readAll(pool, tenant, embedder, changed))] : indexes
  }

  /** Reads the conversations into the cache, one after another. */
  async function fill(pool: Pool, tenant: string, embedder: string, missing: readonly Conversation[]): Promise<void> {
    try {
      for (const { id } of missing) await readAll(pool, tenant, embedder, [{ id, before: null, after: null }])
    } catch {
      // The next recall tries again, and its own statements report what fails.
    } finally {
      filling = null
    }
  }

  return {
    async read(pool, tenant, embedder, conversations) {
      const found: TurnIndex[] = []
      const behind: { id: string; before: TurnIndex; after: number }[] = []
      const missing: { id: string; before: null; after: null }[] = []
      for (const { id, state } of conversations) {
        const cached = cache.get(keyOf(embedder, id))
        const after = resumeFrom(cached, state)
        if (cached && isCurrent(cached, state)) found.push(cached)
        else if (cached && after !== null) behind.push({ id, before: cached, after })
        else missing.push({ id, before: null, after: null })
      }
      for (const group of [behind, missing]) {
        if (group.length > 0) found.push(...(await readAll(pool, tenant, embedder, group)))
      }
      return new Map(found.map((index) => [index.conversationId, index]))
    },
    prepare(pool, tenant, { name, dimension }, conversations) {
      const missing = conversations.filter(({ id, state }) => {
        const cached = cache.peek(keyOf(name, id))
        return !cached || (!isCurrent(cached, state) && resumeFrom(cached, state) === null)
      })
      if (missing.length === 0) return true
      const entries = conversations.reduce((sum, { state }) => sum + state.lastSeq, 0)
      if (entries * (ENTRY_BYTES + 4 * dimension) > maxBytes / 2) return false
      const key = conversations.reduce((least, { id }) => (id < least ? id : least), conversations[0]!.id)
      if (asked.has(key)) filling ??= fill(pool, tenant, name, missing)
      asked.set(key, true)
      return false
    },
    async settled() {
      while (filling) await filling
    },
  }
}
