// A process that appends turns and does the work that follows them, as a server does, without its transport. Told by
// lines of JSON on stdin what to append; says on stdout how far it is. For automatic.test.ts, which kills some of them.

import { createInterface } from 'node:readline'
import { pino } from 'pino'
import { createDeps } from '../../src/deps.ts'
import type { AutomaticThresholds } from '../../src/domain/automatic-thresholds.ts'
import { startJobs } from '../../src/domain/background/jobs.ts'
import { VERBS, type Verbs } from '../../src/domain/background/verbs.ts'
import { appendTurn } from '../../src/domain/turn/append.ts'
import { OFFLINE } from '../support/offline.ts'

export type Settings = {
  databaseUrl: string
  redisUrl: string
  automatic: AutomaticThresholds
  /** Whether it never comes to an end of reading a conversation for facts. */
  hangs: boolean
}

/** Turns that one process is to append. */
export type Errand = { tenant: string; turns: { conversationId: string; actor: string; clientId: string }[] }

/** What it says: that it works, that so many turns are acknowledged, that it has begun to read a conversation. */
export type Word = { is: 'ready' } | { is: 'appended'; count: number } | { is: 'reading' }

const { hangs, automatic, ...place } = JSON.parse(process.argv[2]!) as Settings
const say = (word: Word) => process.stdout.write(`${JSON.stringify(word)}\n`)

const world = await createDeps(
  {
    ...OFFLINE,
    ...place,
    automatic,
    databasePoolSize: 4,
    dataDir: null,
    limits: { turnBytes: 262_144, batchTurns: 1000, pageSize: 200, bodyBytes: 2 ** 24, frameBytes: 2 ** 20 },
    streamLeaseMs: 30_000,
    presenceTtlMs: 60_000,
    logLevel: 'fatal',
  },
  pino({ level: 'fatal' }, process.stderr),
)
const { deps } = world

const verbs: Verbs = { ...VERBS }
if (hangs) {
  verbs.extractNext = async () => {
    say({ is: 'reading' })
    return new Promise(() => {})
  }
}
const stop = await startJobs(deps, verbs)
say({ is: 'ready' })

for await (const line of createInterface(process.stdin)) {
  const { tenant, turns } = JSON.parse(line) as Errand
  for (const [n, { conversationId, actor, clientId }] of turns.entries()) {
    await appendTurn(
      deps,
      { tenant, actor },
      { conversationId, turn: { role: 'USER', content: `${actor} says ${clientId}.`, clientId } },
    )
    if (n % 10 === 9 || n === turns.length - 1) say({ is: 'appended', count: n + 1 })
  }
}
await stop()
await world.close()
