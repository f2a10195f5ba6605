// Caches the indexes of conversations that recalls read completely. Each recall reads the state of a conversation
// together with the viewer's view, and uses the cached index only if it has this state. Hence a recall sees the writes
// of all processes without notifications, which could be lost. If the conversation has newer entries, reads only these.

import { LRUCache } from 'lru-cache'
import { readTurnIndex, type IndexState } from '../../store/sql/recall/read-turn-index.ts'
import type { Pool } from '../../store/tenant-pool.ts'
import { updated, type TurnIndex } from './turn-index.ts'

/** Maximum size of the cache, in bytes: about 100,000 turns of twelve words with vectors of 100 components. */
const MAX_BYTES = 64 * 1024 * 1024
/**
 * Milliseconds after which an index that no recall used is dropped. An index contains names and vectors, which may
 * be erased. They then leave the memory of the process within this time, even if it does not search them again.
 */
const UNUSED_MS = 60_000
/** Estimated size of an index per journal entry, without vectors, in bytes. */
const ENTRY_BYTES = 250
/** Maximum number of larger scopes whose last recall is remembered. */
const MAX_RECALLED = 1_000
/** Maximum number of newer entries to read separately. If there are more, the whole conversation is read again. */
const MAX_NEWER = 500

/** Whether the index was read in that state or a later one. The numbers of a state never decrease. */
const isCurrent = (index: IndexState, state: IndexState): boolean =>
  index.lastSeq >= state.lastSeq
  && index.removedThrough >= state.removedThrough
  && index.embeddedThrough >= state.embeddedThrough

export type IndexCache = {
  /**
   * Returns the indexes of the tenant's conversations by id, in the given states or later ones. Omits conversations
   * that no longer exist.
   */
  read(
    pool: Pool,
    tenant: string,
    embedder: string,
    conversations: readonly Conversation[],
  ): Promise<Map<string, TurnIndex>>
  /**
   * Returns whether the indexes of a larger scope are cached, so that `read` reads only a few newer entries. The second
   * call for a scope within UNUSED_MS starts to fill the cache in the background, unless the scope would take more than
   * half of it.
   */
  prepare(
    pool: Pool,
    tenant: string,
    embedder: { name: string; dimension: number },
    conversations: readonly Conversation[],
  ): boolean
  /** Resolves when no background read is running. */
  settled(): Promise<void>
}

type Conversation = { id: string; state: IndexState }

const keyOf = (embedder: string, conversationId: string) => `${conversationId} ${embedder}`

/** @param maxBytes maximum size of the cache, in bytes; 0 disables it */
export function createIndexCache(maxBytes = MAX_BYTES): IndexCache {
  const cache = new LRUCache<string, TurnIndex>({
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: ({ bytes }) => bytes,
    ttl: UNUSED_MS,
    updateAgeOnGet: true,
    ttlAutopurge: true,
  })

  /** The larger scopes that were recalled within UNUSED_MS. The key is the smallest id of their conversations. */
  const recalled = new LRUCache<string, true>({ max: MAX_RECALLED, ttl: UNUSED_MS })
  let filling: Promise<void> | null = null

  /** Returns the seq after which to read newer entries; null if the conversation must be read completely. */
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
      // Retention has removed content of turns meanwhile: read the conversation completely.
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
      // The next recall retries, and its own statements report the error.
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
      if (recalled.has(key)) filling ??= fill(pool, tenant, name, missing)
      recalled.set(key, true)
      return false
    },
    async settled() {
      while (filling) await filling
    },
  }
}
