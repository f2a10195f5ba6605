// A corpus for benchmarks of recall: clustered vectors, and words whose frequencies follow Zipf's law, so that both are
// as hard to search as real data. Every run generates the same corpus.

import type { Deps } from '../../src/domain/deps.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import type { Embedder } from '../../src/providers/ports/embedder.ts'
import { unit } from '../../src/runtime/unit-vector.ts'

export const DIMENSION = 384
const CLUSTERS = 200
/** Standard deviation of each component from the centre of its cluster. */
const SPREAD = 0.04
const VOCABULARY = 20_000
export const WORDS_A_TURN = 12
export const WORDS_A_QUERY = 5
/**
 * The frequency of the word of rank r is proportional to 1 / (r + SHIFT), so the most common one is in 6 % of the
 * turns.
 */
const SHIFT = 30

/** State of Park and Miller's random number generator. Every run draws the same numbers. */
let state = 20_261_121
const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())

const centres = Array.from({ length: CLUSTERS }, () => unit(Float32Array.from({ length: DIMENSION }, normal)))
export const clustered = () => {
  const centre = centres[Math.floor(random() * CLUSTERS)]!
  return unit(centre.map((component) => component + SPREAD * normal()))
}

const logRange = Math.log((VOCABULARY + SHIFT) / SHIFT)
const word = () => `word${Math.floor(SHIFT * Math.exp(random() * logRange) - SHIFT)}`
export const words = (count: number) => Array.from({ length: count }, word).join(' ')

/** An embedder that returns random vectors at no cost. */
export const embedder: Embedder = {
  name: 'bench-1',
  dimension: DIMENSION,
  batch: 1_000,
  embed: async (texts) => texts.map(clustered),
  close: async () => {},
}

/** Pause after every 20 turns, ms. */
const PAUSE_MS = 7_200_000
/** Mean time between two turns, including the pauses, ms. */
const PACE_MS = 60_000 + PAUSE_MS / 20
/** Creation time of the last turn. */
const LAST = Date.UTC(2026, 0, 1)
/** Maximum number of turns in one call of appendTurns. */
const BATCH = 1_000

/** Creates a conversation of the owner with that many turns, all of them with vectors. Returns its id. */
export async function fillConversation(deps: Deps, owner: string, size: number): Promise<string> {
  const viewer = { tenant: 'default', actor: 'ada' }
  const {
    conversation: { id },
  } = await createConversation(deps, viewer, { owner, participants: [{ actor: 'ada' }, { actor: 'scout' }] })
  const start = LAST - size * PACE_MS
  for (let from = 0; from < size; from += BATCH) {
    const { turns } = await appendTurns(deps, viewer, {
      conversationId: id,
      turns: Array.from({ length: Math.min(BATCH, size - from) }, (_, i) => ({
        actor: i % 2 ? 'scout' : 'ada',
        role: 'USER' as const,
        content: words(WORDS_A_TURN),
        // A pause of two hours after every 20 turns starts a new session.
        createdAt: new Date(start + (from + i) * 60_000 + Math.floor((from + i) / 20) * PAUSE_MS),
      })),
    })
    await deps.vectors.write(
      embedder.name,
      turns.map(({ position, seq }) => ({ conversationId: id, position, seq, vector: clustered() })),
    )
  }
  return id
}
