// Rows against graphql-ws with yoga's pub/sub on Redis: single turns to 5,000 sockets and streaming deltas to 1,000. The
// peer stores nothing; ours stores every event in Postgres.

import { setTimeout as sleep } from 'node:timers/promises'
import {
  connectSubscribers,
  makeConversation,
  measureBurst,
  measureSingleTurns,
  openTurns,
  SUBSCRIBERS,
  type FanOutSide,
} from '../fan-out.ts'
import { reasonOf } from '../figures.ts'
import { startServer } from '../process.ts'
import { withDatabase, type Bench } from '../services.ts'
import { measure, type Measured } from '../row.ts'

const PEER = 'graphql-ws + Redis'
const SOCKETS = 5_000
/** Pause between single turns, ms: long enough for the slower side to deliver each before the next. */
const PAUSE_MS = 400

type Sides = { ours: FanOutSide; theirs: FanOutSide }

/** Connects the sockets to both servers, and runs `use`. */
async function withSockets<T>(
  { services: { databaseUrl, redisUrl }, progress }: Bench,
  sockets: number,
  use: (sides: Sides) => Promise<T>,
): Promise<T> {
  return withDatabase(databaseUrl, async (url) => {
    const conversationId = await makeConversation(url, redisUrl)
    const started: { stop(): Promise<void> }[] = []
    const start = async (path: string, env: Record<string, string>) => {
      const server = await startServer(path, { LOG_LEVEL: 'info', STREAM_LEASE_SECONDS: '3600', ...env })
      started.push(server)
      const side = await connectSubscribers(server, conversationId, (line) => progress(`${path}: ${line}`), sockets)
      started.push(side.subscribers)
      return side
    }
    try {
      const ours = await start('src/bin.ts', { DATABASE_URL: url, REDIS_URL: redisUrl })
      return await use({ ours, theirs: await start('test/bench/fan-out-plain.ts', { FAN_OUT_REDIS_URL: redisUrl }) })
    } finally {
      await Promise.all(started.map((each) => each.stop()))
    }
  })
}

async function singleTurns(bench: Bench): Promise<Measured[]> {
  const label = `fan-out to ${SOCKETS.toLocaleString('en-US')} sockets, server CPU per delivery`
  const common = { label, against: PEER, asked: 8.1, unit: 'µs' } as const
  return withSockets(bench, SOCKETS, async ({ ours, theirs }) => {
    const cpu = (side: FanOutSide) => async () => (await measureSingleTurns(side, PAUSE_MS)).cpu
    return [await measure({ ...common, ours: cpu(ours), theirs: cpu(theirs) }, bench.progress)]
  }).catch((error: Error) => [{ ...common, failure: reasonOf(error) }])
}

async function deltas(bench: Bench): Promise<Measured[]> {
  const label = `streaming deltas to ${SUBSCRIBERS.toLocaleString('en-US')} sockets, deliveries`
  const common = { label, against: PEER, asked: 15, unit: '/s' } as const
  return withSockets(bench, SUBSCRIBERS, async ({ ours, theirs }) => {
    for (const side of [ours, theirs]) await openTurns(side)
    await sleep(1_000)
    const rate = (side: FanOutSide) => async () => (await measureBurst(side)).rate
    return [await measure({ ...common, ours: rate(ours), theirs: rate(theirs) }, bench.progress)]
  }).catch((error: Error) => [{ ...common, failure: reasonOf(error) }])
}

export const rowsOfSockets = async (bench: Bench): Promise<Measured[]> => [
  ...(await singleTurns(bench)),
  ...(await deltas(bench)),
]
