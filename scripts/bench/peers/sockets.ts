// Rows against graphql-ws with yoga's pub/sub on Redis: single turns to 5,000 sockets and streaming deltas to 1,000.
// The peer stores nothing; ours stores every event in Postgres.

import { setTimeout as sleep } from 'node:timers/promises'
import { measureBurst, measureSingleTurns, openTurns, SUBSCRIBERS, withSides, type FanOutSide } from '../fan-out.ts'
import { reasonOf } from '../figures.ts'
import type { Bench } from '../services.ts'
import { measure, WARM_UP_MS, type Measured } from '../row.ts'

const PEER = 'graphql-ws + Redis'
const SOCKETS = 5_000
/** Pause between single turns, ms: long enough for the slower side to deliver each turn before the next one. */
const PAUSE_MS = 400

/** Connects the sockets to both servers, and runs `use`. */
const withPeer = <T>(bench: Bench, sockets: number, use: Parameters<typeof withSides<T>>[3]): Promise<T> => {
  const env = { FAN_OUT_REDIS_URL: bench.services.redisUrl }
  return withSides(bench, sockets, { path: 'scripts/bench/fan-out-plain.ts', env }, use)
}

async function singleTurns(bench: Bench): Promise<Measured[]> {
  const label = `fan-out to ${SOCKETS.toLocaleString('en-US')} sockets, server CPU per delivery`
  const common = { label, against: PEER, asked: 8.1, unit: 'µs' } as const
  return withPeer(bench, SOCKETS, async ({ ours, theirs }) => {
    const cpu = (side: FanOutSide) => async () => (await measureSingleTurns(side, PAUSE_MS)).cpu
    return [await measure({ ...common, ours: cpu(ours), theirs: cpu(theirs) }, bench.progress)]
  }).catch((error: Error) => [{ ...common, failure: reasonOf(error) }])
}

async function deltas(bench: Bench): Promise<Measured[]> {
  const label = `streaming deltas to ${SUBSCRIBERS.toLocaleString('en-US')} sockets, deliveries`
  const common = { label, against: PEER, asked: 15, unit: '/s', warmUpMs: WARM_UP_MS } as const
  return withPeer(bench, SUBSCRIBERS, async ({ ours, theirs }) => {
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
