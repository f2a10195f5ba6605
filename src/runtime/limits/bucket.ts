// A token bucket: work takes tokens, which flow in at a constant rate. The state is one number, the time at which the
// bucket is full again (the generic cell rate algorithm), so no timer is necessary. All times are in ms of a monotonic
// clock.

/** The number of tokens of a full bucket, and the time in which an empty one fills, ms. */
export type BucketSize = { tokens: number; fillMs: number }

export type Bucket = {
  /** Takes one token and returns true, or returns false if there is none. */
  take(now: number): boolean
  /**
   * Takes tokens that are already used, even if fewer are left.
   * @param since time at which their use began; the bucket did not fill since then
   * @returns the time until no token is owed, ms; at most `maxDebtMs`, because further debt is cancelled
   */
  charge(tokens: number, since: number, now: number, maxDebtMs: number): number
  isFull(now: number): boolean
}

/** Creates a full bucket. */
export function createBucket({ tokens: size, fillMs }: BucketSize): Bucket {
  const msPerToken = fillMs / size
  let fullAt = -Infinity
  return {
    take(now) {
      const next = Math.max(fullAt, now) + msPerToken
      if (next - now > fillMs) return false
      fullAt = next
      return true
    },
    charge(tokens, since, now, maxDebtMs) {
      fullAt = Math.min(Math.max(fullAt, since) + tokens * msPerToken, now + fillMs + maxDebtMs)
      return Math.max(0, fullAt - fillMs - now)
    },
    isFull: (now) => fullAt <= now,
  }
}
