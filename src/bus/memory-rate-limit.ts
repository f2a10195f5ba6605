// Rate limits of one process. Keeps the MAX_KEYS most recently used keys. The next call for a dropped key starts a new
// period.

import { LRUCache } from 'lru-cache'
import type { Clock } from '../runtime/clock.ts'
import { RATE_PERIOD_MS, type RateLimit } from './rate-limit.ts'

/** Maximum number of keys. With keys of 100 characters, they take about 20 MB. */
const MAX_KEYS = 50_000

export function createMemoryRateLimit(points: number, { performance }: Pick<Clock, 'performance'>): RateLimit {
  const used = new LRUCache<string, { taken: number; until: number }>({ max: MAX_KEYS })
  return {
    points,
    async take(key, wanted) {
      const at = performance.now()
      let entry = used.get(key)
      if (!entry || entry.until <= at) used.set(key, (entry = { taken: 0, until: at + RATE_PERIOD_MS }))
      if (entry.taken > 0 && entry.taken + wanted > points) return entry.until - at
      entry.taken += wanted
      return null
    },
    async close() {
      used.clear()
    },
  }
}
