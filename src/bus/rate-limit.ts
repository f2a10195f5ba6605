// The port for rate limits: points that each key may take per minute. Adapters: memory-rate-limit.ts for one process,
// redis-rate-limit.ts for several.

/** Length of the period for which a key gets its points, ms. The period starts with the key's first request. */
export const RATE_PERIOD_MS = 60_000

export type RateLimit = {
  /** The points of each key per period. */
  readonly points: number
  /**
   * Takes points of the key and returns null. If the key has too few points left, takes none and returns the time until
   * the next period, in ms. A call for more than all points succeeds if it is the first of its period. Never rejects.
   */
  take(key: string, points: number): Promise<number | null>
  close(): Promise<void>
}
