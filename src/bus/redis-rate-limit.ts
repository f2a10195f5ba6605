// Rate limits across processes, on Redis. While Redis does not reply, each process enforces the limit by itself, so
// that an outage neither rejects all requests nor lifts the limit.

import type { Clock } from '../runtime/clock.ts'
import { createMemoryRateLimit } from './memory-rate-limit.ts'
import { RATE_PERIOD_MS, type RateLimit } from './rate-limit.ts'
import { disconnect, withReplyTimeout, type RedisConnect } from './redis-client.ts'

/** Prefix of the Redis key that counts the points taken by a key in its current period. Expires with the period. */
const TAKEN = 'colloquy:rate:'
/** Maximum time to wait for a reply, ms. It is short, because every request waits. */
const REPLY_MS = 250

/**
 * KEYS: the key. ARGV: wanted points, points per period, period in ms. Takes the points and returns 0; if too few are
 * left, returns the ms until the next period. The first call of a period always succeeds.
 */
const TAKE = `
  local taken = tonumber(redis.call('GET', KEYS[1]) or '0')
  if taken > 0 and taken + ARGV[1] > tonumber(ARGV[2]) then return math.max(1, redis.call('PTTL', KEYS[1])) end
  redis.call('INCRBY', KEYS[1], ARGV[1])
  if taken == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return 0`

export async function createRedisRateLimit(connect: RedisConnect, points: number, clock: Clock): Promise<RateLimit> {
  const client = await connect()
  const fallback = createMemoryRateLimit(points, clock)
  return {
    points,
    async take(key, wanted) {
      try {
        const args = [wanted, points, RATE_PERIOD_MS].map(String)
        const reply = await withReplyTimeout(client.eval(TAKE, { keys: [TAKEN + key], arguments: args }), REPLY_MS)
        return Number(reply) || null
      } catch {
        // redisConnector logs the outage.
        return fallback.take(key, wanted)
      }
    },
    async close() {
      await fallback.close()
      await disconnect(client)
    },
  }
}
