// The row of fan-out: the latency of single turns to 5,000 sockets, our server against one that only writes frames.

import { measureSingleTurns, withSides, type FanOutSide } from '../fan-out.ts'
import { measure, type Measured } from '../row.ts'
import type { Bench } from '../services.ts'

const SOCKETS = 5_000
/** Pause between turns, ms: long enough for either server to deliver each turn before the next one is appended. */
const PAUSE_MS = 250
/** Minimum ratio: our p99 may be at most 1.4 times that of bare frames. */
const ASKED = 0.71

export async function rowOfSockets(bench: Bench): Promise<Measured[]> {
  return withSides(bench, SOCKETS, { path: 'scripts/bench/fan-out-bare.ts' }, async ({ ours, theirs }) => {
    const p99 = (side: FanOutSide) => async () => (await measureSingleTurns(side, PAUSE_MS)).p99
    const label = `fan-out to ${SOCKETS.toLocaleString('en-US')} sockets, p99`
    const row = { label, against: 'bare ws frames', asked: ASKED, unit: 'ms' } as const
    return [await measure({ ...row, ours: p99(ours), theirs: p99(theirs) }, bench.progress)]
  })
}
