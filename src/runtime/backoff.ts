// The time to wait before a retry: it doubles with each consecutive failure, up to a maximum. A random part is removed,
// so that clients that failed together do not retry together.

/**
 * @property firstMs time to wait after the first failure, ms
 * @property maxMs maximum time to wait, ms; no limit by default
 * @property jitter maximum fraction of the time that is removed at random; 0 by default
 */
export type Backoff = { firstMs: number; maxMs?: number; jitter?: number }

/**
 * Returns the time to wait, ms.
 * @param failures number of consecutive failures, at least 1
 * @param random a number from 0 to 1
 */
export const backoffMs = (
  { firstMs, maxMs = Infinity, jitter = 0 }: Backoff,
  failures: number,
  random = Math.random(),
): number => Math.min(firstMs * 2 ** (failures - 1), maxMs) * (1 - jitter * random)
