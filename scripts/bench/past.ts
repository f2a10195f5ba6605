// Time of reads as of a moment in the past against the same reads of the present, in one process on Postgres. All turns are
// older than the moment, so both return the same.

import { setTimeout as sleep } from 'node:timers/promises'
import { buildContext } from '../../src/domain/memory/context/build.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { getFactPage } from '../../src/domain/memory/fact/fact.ts'
import { recordFacts } from '../../src/domain/memory/fact/record.ts'
import { asOf } from '../../src/domain/memory/as-of.ts'
import { recall } from '../../src/domain/memory/recall/recall.ts'
import { pageOfTurns } from '../../src/domain/turn/history.ts'
import { sql } from '../../test/support/sql.ts'
import { makeConversation, question, timed, viewer, waitForVectors } from './conversation.ts'
import { interleave, type Figure, type Report } from './figures.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'

const SIZES = [1_000, 10_000]
const FACTS = 1_000
const ROUNDS = 5
/** Calls of a round of the past, which takes longer than one of the present. */
const CALLS = 10

type Read = (deps: Deps, conversationId: string, n: number) => Promise<unknown>

const READS: Readonly<Record<string, Read>> = {
  'the newest 50 turns': (deps, id) => pageOfTurns(deps, viewer, [id], { last: 50 }),
  '50 facts': (deps) => getFactPage(deps, viewer, { first: 50 }),
  'recall of 10': (deps, conversationId, n) => recall(deps, viewer, { query: question(n), conversationId, k: 10 }),
  'a context of 4,000 tokens': (deps, conversationId) =>
    buildContext(deps, viewer, { conversationId, tokenBudget: 4_000, includeFacts: true }),
}

async function recordAll(deps: Deps, conversationId: string): Promise<void> {
  for (let from = 0; from < FACTS; from += 50) {
    const facts = Array.from({ length: 50 }, (_, n) => ({
      subject: 'ada',
      predicate: 'owns',
      object: `ladder number ${from + n}`,
    }))
    await recordFacts(deps, viewer, { conversationId, userId: 'ada', facts })
  }
}

/** `npm run bench -- past`. */
export async function past({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps, close } = await openDeps(url, services.redisUrl)
    try {
      const ids: string[] = []
      for (const turns of SIZES) {
        const id = await makeConversation(deps, turns, progress)
        await waitForVectors(deps, id, progress)
        ids.push(id)
      }
      await recordAll(deps, ids[0]!)
      await sql(deps.pool).query('VACUUM ANALYZE')
      const time = new Date()
      await sleep(10)
      const then = await asOf(deps, viewer, { asOf: { time } })
      const figures: Figure[] = []
      for (const [index, turns] of SIZES.entries()) {
        for (const [name, read] of Object.entries(READS)) {
          const of = (from: Deps) => () => timed((n) => read(from, ids[index]!, n), CALLS)
          const contestants = { past: of(then), present: of(deps) }
          for (const warmUp of Object.values(contestants)) await warmUp()
          const medians = await interleave(ROUNDS, contestants, (message) => progress(`${name}: ${message} ms`))
          figures.push({
            label: `${name}, of ${turns.toLocaleString('en-US')} turns`,
            ours: medians.past,
            theirs: medians.present,
            against: 'the present',
            unit: 'ms',
            better: 'smaller',
            target: null,
          })
        }
      }
      return {
        title: 'past: reads as of a moment, on Postgres',
        figures,
        notes: [`Medians of ${ROUNDS} interleaved rounds of ${CALLS} calls. ${FACTS.toLocaleString('en-US')} facts.`],
      }
    } finally {
      await close()
    }
  })
}
