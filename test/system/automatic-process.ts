// A process that appends turns and runs the automatic jobs like a server, without transport. It reads turns as JSON
// lines from stdin and reports its progress on stdout. automatic.test.ts starts several of these processes and kills
// some.

import { createInterface } from 'node:readline'
import { pino } from 'pino'
import { createDeps } from '../../src/deps.ts'
import type { AutomaticThresholds } from '../../src/domain/kernel/automatic-thresholds.ts'
import { startJobs } from '../../src/domain/background/jobs.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import { withExtractor } from '../support/automatic.ts'
import { OFFLINE } from '../support/offline.ts'

export type Settings = {
  databaseUrl: string
  redisUrl: string
  automatic: AutomaticThresholds
  /** If true, fact extraction never ends in this process. */
  hangs: boolean
}

/** The turns that one process appends. */
export type Assignment = { tenant: string; turns: { conversationId: string; actor: string; clientId: string }[] }

/** A message to the test: ready, the number of acknowledged turns, or the start of an extraction that never ends. */
export type WorkerMessage = { is: 'ready' } | { is: 'appended'; count: number } | { is: 'extracting' }

const { hangs, automatic, ...storage } = JSON.parse(process.argv[2]!) as Settings
const report = (message: WorkerMessage) => process.stdout.write(`${JSON.stringify(message)}\n`)

const world = await createDeps(
  {
    ...OFFLINE,
    ...storage,
    automatic,
    databasePoolSize: 6,
    readTimeoutMs: 10_000,
    dataDir: null,
    limits: { turnBytes: 262_144, batchTurns: 1000, pageSize: 200, bodyBytes: 2 ** 24, frameBytes: 2 ** 20 },
    streamLeaseMs: 30_000,
    presenceTtlMs: 60_000,
    rateLimitPoints: 0,
    logLevel: 'fatal',
  },
  pino({ level: 'fatal' }, process.stderr),
)
const { deps } = world

const hanging = withExtractor(deps, () => {
  report({ is: 'extracting' })
  return new Promise(() => {})
})
const stop = await startJobs(hangs ? hanging : deps)
report({ is: 'ready' })

for await (const line of createInterface(process.stdin)) {
  const { tenant, turns } = JSON.parse(line) as Assignment
  for (const [n, { conversationId, actor, clientId }] of turns.entries()) {
    await appendTurn(
      deps,
      { tenant, actor },
      { conversationId, turn: { role: 'USER', content: `${actor} says ${clientId}.`, clientId } },
    )
    if (n % 10 === 9 || n === turns.length - 1) report({ is: 'appended', count: n + 1 })
  }
}
await stop()
await world.close()
