// How long a recall takes in one process on Postgres, against the plainest vector query for the same: in a conversation
// of 1,000 turns, and over 100,000 turns of one owner. Vectors of 384 components in clusters, texts of words as common
// as words are, so that neither side has it easier than in life.

import pg from 'pg'
import type { Deps } from '../../src/domain/deps.ts'
import { createConversation } from '../../src/domain/conversation.ts'
import { recall, type RecallInput } from '../../src/domain/recall/recall.ts'
import { appendTurns } from '../../src/domain/turn/append.ts'
import { unit, type Embedder } from '../../src/providers/ports/embedder.ts'
import { makeVectorIndex } from '../../src/store/vector-index.ts'
import { vectorValue } from '../../src/store/vector.ts'
import { format, interleave, median, type Figure, type Report } from './figures.ts'
import { openWorld, withDatabase, type Bench } from './services.ts'

const DIMENSION = 384
const CLUSTERS = 200
/** How far vectors lie from the centre of their cluster, for each component of a unit vector. */
const SPREAD = 0.04
const CONVERSATIONS = 100
const TURNS = 1_000
const ROUNDS = 5
const QUERIES = 40
const VOCABULARY = 20_000
const WORDS_A_TURN = 12
const WORDS_A_QUERY = 5
/** Rank r comes in proportion to 1 / (r + 30): content words of talk, the commonest in some 6 % of the turns. */
const SHIFT = 30

const viewer = { tenant: 'default', actor: 'ada' }

/** The same numbers in every run, from 0 to 1 (Park and Miller's generator). */
let state = 20_261_121
const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())

const centres = Array.from({ length: CLUSTERS }, () => unit(Float32Array.from({ length: DIMENSION }, normal)))
const clustered = () => {
  const centre = centres[Math.floor(random() * CLUSTERS)]!
  return unit(centre.map((component) => component + SPREAD * normal()))
}

const total = Math.log((VOCABULARY + SHIFT) / SHIFT)
const word = () => `word${Math.floor(SHIFT * Math.exp(random() * total) - SHIFT)}`
const words = (count: number) => Array.from({ length: count }, word).join(' ')

/** Stands for a model: its vectors are drawn, not made, and cost nothing. */
const embedder: Embedder = {
  name: 'bench-1',
  dimension: DIMENSION,
  batch: 1_000,
  embed: async (texts) => texts.map(clustered),
  close: async () => {},
}

async function fillConversation(deps: Deps, owner: string): Promise<string> {
  const { id } = await createConversation(deps, viewer, { owner, participants: [{ actor: 'ada' }, { actor: 'scout' }] })
  const start = Date.UTC(2026, 0, 1)
  const turns = await appendTurns(deps, viewer, {
    conversationId: id,
    turns: Array.from({ length: TURNS }, (_, i) => ({
      actor: i % 2 ? 'scout' : 'ada',
      role: 'USER' as const,
      content: words(WORDS_A_TURN),
      // Sittings of 20 turns.
      createdAt: new Date(start + i * 60_000 + Math.floor(i / 20) * 7_200_000),
    })),
  })
  await deps.vectors.write(
    embedder.name,
    turns.map(({ rootSeq, seq }) => ({ conversationId: id, rootSeq, seq, vector: clustered() })),
  )
  return id
}

export async function recallLatency({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps: opened, close } = await openWorld(url, services.redisUrl)
    // Vectors are drawn, not made: nobody else is to make some, or to delete those of an embedder that it does not
    // know.
    await opened.embedding.stop()
    const deps: Deps = { ...opened, embedding: { ...opened.embedding, searched: () => embedder } }
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    try {
      await pool.query('INSERT INTO embedder (name, dimension) VALUES ($1, $2)', [embedder.name, DIMENSION])
      const conversationIds: string[] = []
      for (let i = 0; i < CONVERSATIONS; i++) {
        conversationIds.push(await fillConversation(deps, 'ada'))
        if (i % 10 === 9) progress(`${(i + 1) * TURNS} turns written`)
      }
      await pool.query('VACUUM ANALYZE')
      progress('making the index')
      await makeVectorIndex(url, embedder, CONVERSATIONS * TURNS)

      // The median of the queries of a round, ms.
      const timed = async (ask: (i: number) => Promise<unknown>) => {
        const times: number[] = []
        for (let i = 0; i < QUERIES; i++) {
          const begin = performance.now()
          await ask(i)
          times.push(performance.now() - begin)
        }
        return median(times)
      }
      const queries = Array.from({ length: QUERIES }, () => ({ text: words(WORDS_A_QUERY), vector: clustered() }))
      const ours = (more: Partial<RecallInput>) =>
        timed((i) =>
          recall(deps, viewer, {
            query: queries[i]!.text,
            k: 10,
            conversationId: conversationIds[i % CONVERSATIONS]!,
            ...more,
          }),
        )
      const inConversation = `SELECT conversation_id, seq FROM turn_vector WHERE conversation_id = $1 AND embedder = $2
                      ORDER BY embedding <=> $3::vector LIMIT 10`
      const overAll = 'SELECT conversation_id, seq FROM turn_vector ORDER BY embedding <=> $1::vector LIMIT 10'
      const raw = (name: string, text: string, values: (i: number) => unknown[]) =>
        timed((i) => pool.query({ name, text, values: values(i) }))

      const plans = new Set<string>()
      for (const scope of ['CONVERSATION', 'OWNER'] as const) {
        const { plan } = await recall(deps, viewer, {
          query: queries[0]!.text,
          conversationId: conversationIds[0]!,
          scope,
        })
        plans.add(`${scope}: vectors ${plan.vectorSearch}, ${plan.candidates} candidates`)
      }
      const contestants = {
        'recall, 1,000 turns': () => ours({}),
        'raw, 1,000 turns': () =>
          raw('in-conversation', inConversation, (i) => [
            conversationIds[i % CONVERSATIONS],
            embedder.name,
            vectorValue(queries[i]!.vector),
          ]),
        'recall, 100,000 turns': () => ours({ scope: 'OWNER' }),
        'raw, 100,000 turns': () => raw('over-all', overAll, (i) => [vectorValue(queries[i]!.vector)]),
        'vectors alone, 100,000 turns': () =>
          timed((i) => deps.vectors.nearest(embedder.name, viewer, conversationIds, queries[i]!.vector, 10, {})),
      }
      for (const warmUp of Object.values(contestants)) await warmUp()
      const found = await interleave(ROUNDS, contestants, (message) => progress(`${message} ms`))
      const figure = (what: keyof typeof found, against: keyof typeof found, how: string, target: number): Figure => ({
        what,
        ours: found[what],
        theirs: found[against],
        unit: 'ms',
        better: 'smaller',
        target,
        against: how,
      })
      return {
        title: 'recall: against the plainest vector query, in one process on Postgres',
        figures: [
          figure('recall, 1,000 turns', 'raw, 1,000 turns', 'ORDER BY <=> over the conversation_id', 0.125),
          figure('recall, 100,000 turns', 'raw, 100,000 turns', 'ORDER BY <=> over the table', 0.67),
          figure('vectors alone, 100,000 turns', 'raw, 100,000 turns', 'ORDER BY <=> over the table', 3),
        ],
        notes: [
          `Medians of ${ROUNDS} interleaved rounds of ${QUERIES} queries each, one at a time; k 10, `
            + `${DIMENSION} components.`,
          `Plans: ${[...plans].join('; ')}.`,
          `${format(CONVERSATIONS * TURNS)} turns of one owner in ${CONVERSATIONS} conversations, ${WORDS_A_TURN} words each.`,
        ],
      }
    } finally {
      await pool.end()
      await close()
    }
  })
}
