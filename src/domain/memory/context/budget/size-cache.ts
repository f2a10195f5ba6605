// Caches the sizes of messages, because consecutive contexts of a conversation share most messages. The keys are salted
// hashes instead of texts, so that the cache contains no text after an erasure. Without it, a context of 20 turns after
// an append takes 1.26 times as long (2026-11-29, `npm run bench -- guesses`).

import { hash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Size } from './budget.ts'
import type { Message } from '../message.ts'

/** Maximum number of cached sizes. Each takes about 300 bytes. */
const MAX_SIZES = 10_000
/** Maximum length of a message's JSON whose size is cached, in UTF-16 units. Hashing a longer one takes too long. */
const MAX_UNITS = 16 * 1024

/** Returns the cached size of a message, or calls `measure` and caches the result. @param unanswered see piecesOf */
export type SizeCache = (
  message: Message,
  unanswered: ReadonlySet<string>,
  measure: () => Promise<Size>,
) => Size | Promise<Size>

export function createSizeCache(): SizeCache {
  const salt = randomBytes(16).toString('base64')
  const sizes = new LRUCache<string, Size>({ max: MAX_SIZES })
  return (message, unanswered, measure) => {
    const { role, name, labelled, position, parts } = message
    const content = JSON.stringify([role, name, labelled, position, parts, [...unanswered]])
    if (content.length > MAX_UNITS) return measure()
    const key = hash('sha256', salt + content, 'base64')
    return sizes.get(key) ?? measureAnew(key, measure)
  }

  async function measureAnew(key: string, measure: () => Promise<Size>): Promise<Size> {
    const size = await measure()
    sizes.set(key, size)
    return size
  }
}
