// The port for rate limits: points that each key may take per minute. Adapters: memory-rate-limit.ts for one process,
// redis-rate-limit.ts for several.

/** Period after which all points of a key are available again, ms. It starts with the key's first request. */
export const RATE_PERIOD_MS = 60_000

export type RateLimit = {
  /** Number of points that each key may take per period. */
  readonly points: number
  /**
   * Takes points from the key and returns null. If the key has too few points left, takes none and returns the time
   * until the next period, in ms. The first call of a period succeeds even if it takes more than all points. Never
   * rejects.
   */
  take(key: string, points: number): Promise<number | null>
  close(): Promise<void>
}
