// `npm run bench -- guesses`: what the guesses of a context's turns, the cache of message sizes and the guesses of a
// recall's scope save, in one process on Postgres: the same calls with and without each of them, in turn. Contexts follow
// an append each. Recalls, and contexts with recall, repeat in an unchanged conversation, because the scope is guessed
// only then.

import { buildContext } from '../../src/domain/memory/context/build.ts'
import { createSizeCache } from '../../src/domain/memory/context/budget/size-cache.ts'
import { createTurnGuesses } from '../../src/domain/memory/context/material/turn-guesses.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { recall } from '../../src/domain/memory/recall/recall.ts'
import { createScopeGuesses } from '../../src/domain/memory/recall/scope-guesses.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import { makeConversation, question, viewer, waitForVectors } from './conversation.ts'
import { format, median, type Figure, type Report } from './figures.ts'
import { openDeps, settle, withDatabase, type Bench } from './services.ts'

const TURNS = 1_000
const RECENT = 20
const HITS = 10
const ROUNDS = 9
const CALLS = 60
/** Minimum ratio that justifies the code. */
const MIN_GAIN = 1.1

const NO_GUESSES = { guess: () => null, remember: () => {} }

type Call = (deps: Deps, n: number) => Promise<unknown>

type Compared = { label: string; against: string; without: Partial<Deps>; change: Call; call: Call }

/** The compared calls in the conversation. Each call follows one of `change`. */
function comparedIn(conversationId: string): Compared[] {
  const append: Call = (deps, n) =>
    appendTurn(deps, viewer, { conversationId, turn: { role: 'USER', content: `We mend roof ${n}.` } })
  const nothing: Call = async () => {}
  const input = { conversationId, tokenBudget: 4_000, recentTurns: RECENT }
  const context: Call = (deps) => buildContext(deps, viewer, input)
  const recalled: Call = (deps, n) =>
    buildContext(deps, viewer, { ...input, semanticRecall: { k: HITS }, query: question(n) })
  const search: Call = (deps, n) => recall(deps, viewer, { conversationId, query: question(n), k: HITS })
  const turns = { label: `a context of ${RECENT} turns`, change: append, call: context }
  const scopes = { against: 'without scope guesses', without: { scopes: NO_GUESSES }, change: nothing }
  return [
    { ...turns, against: 'without turn guesses', without: { turnGuesses: NO_GUESSES } },
    { ...turns, against: 'without the size cache', without: { sizes: (_message, _unanswered, measure) => measure() } },
    { ...scopes, label: `a repeated recall of ${HITS} hits`, call: search },
    { ...scopes, label: `a repeated context of ${RECENT} turns and ${HITS} hits`, call: recalled },
  ]
}

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
      const figures: Figure[] = []
      for (const { label, against, without, change, call } of comparedIn(conversationId)) {
        const own = { turnGuesses: createTurnGuesses(), sizes: createSizeCache(), scopes: createScopeGuesses() }
        const contestants = [
          { ...deps, ...own },
          { ...deps, ...own, ...without },
        ] as const
        await timesOf(contestants, change, call)
        const rounds: [number, number][] = []
        for (let round = 0; round < ROUNDS; round++) rounds.push(await timesOf(contestants, change, call))
        const [ours, theirs] = [median(rounds.map(([each]) => each)), median(rounds.map(([, each]) => each))]
        progress(`${format(ours)} ms, ${against} ${format(theirs)} ms`)
        figures.push({ label, ours, theirs, against, unit: 'ms', better: 'smaller', target: MIN_GAIN })
      }
      return {
        title: `guesses: contexts and recalls in a conversation of ${format(TURNS)} turns, in one process on Postgres`,
        figures,
        notes: [`Medians of ${ROUNDS} rounds of ${CALLS} calls each, one at a time, with and without in turn.`],
      }
    } finally {
      await close()
    }
  })
}
