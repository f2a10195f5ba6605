// Detects the end of a peak of waiting data. The data then is garbage that V8 would collect much later, because a process
// with little work allocates little.

/** Number of waiting bytes from which there is a peak. */
const PEAK_BYTES = 32 * 1024 * 1024
/** Number of waiting bytes below which a peak has ended. */
const LOW_BYTES = 8 * 1024 * 1024
/** Time for which less must wait before the peak has ended, ms. */
const LOW_MS = 2_000

/**
 * Returns a function that is called with the number of waiting bytes and the time (ms) at each check. It calls `onEnd`
 * once after each peak.
 */
export function createPeakWatch(onEnd: () => void): (bytes: number, now: number) => void {
  let isPeak = false
  /** Time since which less than LOW_BYTES wait. */
  let lowSince = 0
  return (bytes, now) => {
    if (bytes >= PEAK_BYTES) isPeak = true
    if (bytes >= LOW_BYTES) lowSince = now
    if (!isPeak || now - lowSince < LOW_MS) return
    isPeak = false
    onEnd()
  }
}
