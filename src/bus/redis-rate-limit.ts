// Rate limits across processes, on Redis. While Redis does not reply, each process limits by itself, so that an outage
// neither rejects all requests nor lifts the limit.

import { createMemoryRateLimit } from './memory-rate-limit.ts'
import { RATE_PERIOD_MS, type RateLimit } from './rate-limit.ts'
import { disconnect, withReplyTimeout, type RedisConnect } from './redis-client.ts'

/** Key prefix of the points that a key has taken; it expires with the period. */
const TAKEN = 'colloquy:rate:'
/** Maximum time of a reply, ms. Every request waits for it. */
const REPLY_MS = 250

/** KEYS: the key. ARGV: wanted points, points of a period, period in ms. Returns 0, or ms until the next period. */
const TAKE = `
  local taken = tonumber(redis.call('GET', KEYS[1]) or '0')
  if taken > 0 and taken + ARGV[1] > tonumber(ARGV[2]) then return math.max(1, redis.call('PTTL', KEYS[1])) end
  redis.call('INCRBY', KEYS[1], ARGV[1])
  if taken == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return 0`

export async function createRedisRateLimit(connect: RedisConnect, points: number): Promise<RateLimit> {
  const client = await connect()
  const own = createMemoryRateLimit(points)
  return {
    points,
    async take(key, wanted) {
      try {
        const args = [wanted, points, RATE_PERIOD_MS].map(String)
        const reply = await withReplyTimeout(client.eval(TAKE, { keys: [TAKEN + key], arguments: args }), REPLY_MS)
        return Number(reply) || null
      } catch {
        // redisConnector logs the outage.
        return own.take(key, wanted)
      }
    },
    async close() {
      await own.close()
      await disconnect(client)
    },
  }
}
