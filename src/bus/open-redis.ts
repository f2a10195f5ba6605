// Opens the bus, the presence store and the rate limit on Redis. Imported only if Redis is used, because its client is
// more than a quarter of all modules that the server would load.

import type { Logger } from 'pino'
import type { Clock } from '../runtime/clock.ts'
import { createRedisBus } from './redis.ts'
import { redisConnector } from './redis-client.ts'
import { createRedisPresence } from './redis-presence.ts'
import { createRedisRateLimit } from './redis-rate-limit.ts'

/** @param rateLimitPoints points that each viewer may take per period; 0 for no limit */
export async function openRedis(redisUrl: string, rateLimitPoints: number, clock: Clock, log: Logger) {
  const connect = redisConnector(redisUrl, log)
  // Connect concurrently: if Redis cannot be reached, each waits up to FIRST_CONNECT_MS (redis-client.ts).
  const [bus, presence, rates] = await Promise.all([
    createRedisBus(connect, log),
    createRedisPresence(connect),
    rateLimitPoints === 0 ? null : createRedisRateLimit(connect, rateLimitPoints, clock),
  ])
  return { bus, presence, rates }
}
