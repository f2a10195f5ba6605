// Limits the messages of one socket with a token bucket. The caller passes the time.

/** Maximum number of messages per second that one socket may send on average. */
export const MESSAGES_PER_SECOND = 500
/** Number of messages that one socket may send at once after a pause. */
export const MESSAGE_BURST = 10 * MESSAGES_PER_SECOND

/** Returns a function that counts a message at the time `now` (ms), and returns whether it is within the limits. */
export function createMessageRate(): (now: number) => boolean {
  let tokens = MESSAGE_BURST
  let last: number | null = null
  return (now) => {
    tokens = Math.min(MESSAGE_BURST, tokens + ((now - (last ?? now)) / 1000) * MESSAGES_PER_SECOND)
    last = now
    if (tokens < 1) return false
    tokens -= 1
    return true
  }
}
