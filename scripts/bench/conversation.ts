// A conversation of generated sentences, questions about it, and the time of calls, for benchmarks of reads.

import type { Deps } from '../../src/domain/deps.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import { median, type Progress } from './figures.ts'

/** A participant of the conversations. */
export const viewer = { tenant: 'default', actor: 'ada' }
const BATCH = 1_000
/** Calls per round. */
export const CALLS = 60

const SUBJECTS = [
  'tulip',
  'roof',
  'hedgehog',
  'train',
  'piano',
  'bill',
  'neighbour',
  'soup',
  'ladder',
  'letter',
  'winter',
]
const VERBS = ['mend', 'find', 'paint', 'sell', 'forget', 'plant', 'carry', 'sing about', 'count']
const sentence = (n: number) =>
  `We should ${VERBS[n % 9]} the ${SUBJECTS[n % 11]} before the ${SUBJECTS[(n * 7) % 11]} number ${n % 997} is gone, `
  + `said the ${SUBJECTS[(n * 5) % 11]}'s owner.`
/** Returns the question with the number. */
export const question = (n: number) => `Who wanted to ${VERBS[n % 9]} the ${SUBJECTS[(n * 3) % 11]}?`

/** Creates a conversation with this number of turns. */
export async function makeConversation(deps: Deps, turns: number, progress: Progress): Promise<string> {
  // No compaction, so that the contexts of both conversations contain the same number of turns.
  const {
    conversation: { id },
  } = await createConversation(deps, viewer, {
    systemPrompt: 'Be brief.',
    compaction: { strategy: 'NEVER' },
    participants: [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' }],
  })
  for (let from = 0; from < turns; from += BATCH) {
    await appendTurns(deps, viewer, {
      conversationId: id,
      turns: Array.from({ length: BATCH }, (_, n) => ({
        actor: n % 2 ? 'bot' : 'ada',
        role: n % 2 ? ('ASSISTANT' as const) : ('USER' as const),
        content: sentence(from + n),
      })),
    })
    if (from % 20_000 === 0 && from > 0) progress(`${from} turns appended`)
  }
  return id
}

/** Waits until every turn is embedded. */
export async function waitForVectors(deps: Deps, conversationId: string, progress: Progress): Promise<void> {
  deps.embedding.nudge([conversationId])
  for (;;) {
    const { remaining } = await deps.embedding.progress()
    if (remaining === 0) return
    progress(`${remaining} entries to be embedded`)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

/** Returns the median time of the calls of one round, ms. @param calls their number */
export async function timed(call: (n: number) => Promise<unknown>, calls = CALLS): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < calls; n++) {
    const begin = performance.now()
    await call(n)
    times.push(performance.now() - begin)
  }
  return median(times)
}
