// The port for rate limits: points that each key may take per minute. Adapters: memory-rate-limit.ts for one process,
// redis-rate-limit.ts for several.

/** Length of the period for which the points are given, ms. It starts with a key's first request. */
export const RATE_PERIOD_MS = 60_000

export type RateLimit = {
  /** The points of each key per period. */
  readonly points: number
  /**
   * Takes points of the key. Returns null, or the time until the next period in ms if the key has not enough points
   * left. A request that takes more than all points is accepted if it is the first of its period. Never rejects.
   */
  take(key: string, points: number): Promise<number | null>
  close(): Promise<void>
}
