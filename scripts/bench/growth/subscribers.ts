// The server's CPU time for each delivery of a turn against the number of sockets that follow the conversation.

import { MAX_CONNECTIONS } from '../../../src/server/http/http.ts'
import { connectSubscribers, makeConversation, measureSingleTurns, type FanOutSide } from '../fan-out.ts'
import { interleaved } from '../figures.ts'
import { startServer } from '../process.ts'
import { withDatabase, type Bench } from '../services.ts'
import type { Series } from './series.ts'

/** Numbers of sockets. The largest size keeps 100 of the server's connections free for the appends. */
const SIZES = [100, 1_000, MAX_CONNECTIONS - 100]
const ROUNDS = 5
/** Pause between turns, ms: long enough to deliver each turn to all sockets before the next one is appended. */
const PAUSE_MS = 200

export async function growthOfSubscribers({ services: { databaseUrl, redisUrl }, progress }: Bench): Promise<Series[]> {
  return withDatabase(databaseUrl, async (url) => {
    const started: { stop(): Promise<void> }[] = []
    try {
      const sides = new Map<number, FanOutSide>()
      for (const size of SIZES) {
        const env = { DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'info' }
        const server = await startServer('src/bin.ts', env)
        started.push(server)
        const side = await connectSubscribers(server, await makeConversation(url, redisUrl), progress, size)
        started.push(side.subscribers)
        sides.set(size, side)
      }
      const contestants: Record<string, () => Promise<number>> = {}
      for (const [size, side] of sides)
        contestants[String(size)] = async () => (await measureSingleTurns(side, PAUSE_MS)).cpu
      for (const warmUp of Object.values(contestants)) await warmUp()
      const rounds = await interleaved(ROUNDS, contestants, (message) => progress(`delivery: ${message} µs`))
      const costs = SIZES.map((size) => ({ size, rounds: rounds[String(size)]! }))
      const verb = 'delivery of a turn, server CPU'
      return [{ verb, quantity: 'sockets', unit: 'µs', costs, reason: null }]
    } finally {
      await Promise.all(started.map((each) => each.stop()))
    }
  })
}
