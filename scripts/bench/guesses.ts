// `npm run bench -- guesses`: what the guesses of a context's turns and the cache of message sizes save, in one process on
// Postgres: the same contexts with and without each of them, in turn, each after an append.

import { buildContext } from '../../src/domain/context/build.ts'
import { createSizeCache } from '../../src/domain/context/size-cache.ts'
import { createTurnGuesses } from '../../src/domain/context/turn-guesses.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { appendTurn } from '../../src/domain/turn/append.ts'
import { makeConversation, viewer, waitForVectors } from './conversation.ts'
import { format, median, type Figure, type Report } from './figures.ts'
import { openDeps, settle, withDatabase, type Bench } from './services.ts'

const TURNS = 1_000
const RECENT = 20
const ROUNDS = 9
const CALLS = 60
/** Minimum ratio that justifies the code. */
const MIN_GAIN = 1.1

type Compared = { against: string; without: Partial<Deps> }

const COMPARED: Compared[] = [
  { against: 'without turn guesses', without: { turnGuesses: { guess: () => null, remember: () => {} } } },
  { against: 'without the size cache', without: { sizes: (_message, _unanswered, measure) => measure() } },
]

type Call = (deps: Deps, n: number) => Promise<unknown>

/** Returns the median times of `call` with the two dependencies, ms, in turn. Each call follows one of `change`. */
async function timesOf(contestants: readonly [Deps, Deps], change: Call, call: Call): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let n = 0; n < CALLS; n++) {
    for (const index of n % 2 ? ([1, 0] as const) : ([0, 1] as const)) {
      await change(contestants[index], n)
      const begin = performance.now()
      await call(contestants[index], n)
      times[index].push(performance.now() - begin)
    }
  }
  return [median(times[0]), median(times[1])]
}

export async function guesses({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps, close } = await openDeps(url, services.redisUrl)
    try {
      const conversationId = await makeConversation(deps, TURNS, progress)
      await waitForVectors(deps, conversationId, progress)
      await settle(url)
      const build: Call = (by) => buildContext(by, viewer, { conversationId, tokenBudget: 4_000, recentTurns: RECENT })
      const append: Call = (by, n) =>
        appendTurn(by, viewer, { conversationId, turn: { role: 'USER', content: `We mend roof ${n}.` } })
      const figures: Figure[] = []
      for (const { against, without } of COMPARED) {
        const own = { turnGuesses: createTurnGuesses(), sizes: createSizeCache() }
        const contestants = [
          { ...deps, ...own },
          { ...deps, ...own, ...without },
        ] as const
        await timesOf(contestants, append, build)
        const rounds: [number, number][] = []
        for (let round = 0; round < ROUNDS; round++) rounds.push(await timesOf(contestants, append, build))
        const [ours, theirs] = [median(rounds.map(([each]) => each)), median(rounds.map(([, each]) => each))]
        progress(`${format(ours)} ms, ${against} ${format(theirs)} ms`)
        const label = `a context of ${RECENT} turns`
        figures.push({ label, ours, theirs, against, unit: 'ms', better: 'smaller', target: MIN_GAIN })
      }
      return {
        title: `guesses: a context in a conversation of ${format(TURNS)} turns, in one process on Postgres`,
        figures,
        notes: [`Medians of ${ROUNDS} rounds of ${CALLS} contexts each, one at a time, with and without in turn.`],
      }
    } finally {
      await close()
    }
  })
}
