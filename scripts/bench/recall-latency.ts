// The time of recall in one process on Postgres against a plain vector query: in one conversation, and over all turns
// of one owner. The vectors are clustered and the word frequencies follow Zipf's law, so that both are as hard to
// search as real data.

import pg from 'pg'
import type { Deps } from '../../src/domain/deps.ts'
import { recall, type RecallInput } from '../../src/domain/memory/recall/recall.ts'
import { buildVectorIndex } from '../../src/store/vectors/vector-index.ts'
import { vectorValue } from '../../src/store/vectors/vector.ts'
import { clustered, DIMENSION, embedder, fillConversation, words, WORDS_A_QUERY, WORDS_A_TURN } from './corpus.ts'
import { format, interleave, median, type Figure, type Report } from './figures.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'
import { sql } from '../../test/support/sql.ts'

const CONVERSATIONS = 100
const TURNS = 1_000
const ROUNDS = 5
const QUERIES = 40
const viewer = { tenant: 'default', actor: 'ada' }

export async function recallLatency({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps: opened, close } = await openDeps(url, services.redisUrl)
    // Stop the configured embedder, which would embed the turns itself and delete the vectors of the benchmark's
    // embedder.
    await opened.embedding.stop()
    const deps: Deps = { ...opened, embedding: { ...opened.embedding, serving: () => embedder } }
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    try {
      await sql(pool).query('INSERT INTO embedder (name, dimension) VALUES ($1, $2)', [embedder.name, DIMENSION])
      const conversationIds: string[] = []
      for (let i = 0; i < CONVERSATIONS; i++) {
        conversationIds.push(await fillConversation(deps, 'ada', TURNS))
        if (i % 10 === 9) progress(`${(i + 1) * TURNS} turns appended`)
      }
      await sql(pool).query('VACUUM ANALYZE')
      progress('building the index')
      await buildVectorIndex(url, embedder, { from: 0, to: CONVERSATIONS * TURNS + 1, rows: CONVERSATIONS * TURNS })

      // Median time of the queries of one round, ms.
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
                      ORDER BY embedding <=> $3::halfvec LIMIT 10`
      const overTable = 'SELECT conversation_id, seq FROM turn_vector ORDER BY embedding <=> $1::halfvec LIMIT 10'
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
        'raw, 100,000 turns': () => raw('over-all', overTable, (i) => [vectorValue(queries[i]!.vector)]),
        'vectors alone, 100,000 turns': () =>
          timed((i) =>
            deps.vectors.nearest(
              viewer,
              conversationIds,
              { embedder: embedder.name, query: queries[i]!.vector },
              { limit: 10, filter: {} },
            ),
          ),
      }
      for (const warmUp of Object.values(contestants)) await warmUp()
      const medians = await interleave(ROUNDS, contestants, (message) => progress(`${message} ms`))
      const figure = (
        label: keyof typeof medians,
        against: keyof typeof medians,
        description: string,
        target: number,
      ): Figure => ({
        label,
        ours: medians[label],
        theirs: medians[against],
        unit: 'ms',
        better: 'smaller',
        target,
        against: description,
      })
      return {
        title: 'recall: against a plain vector query, in one process on Postgres',
        figures: [
          figure('recall, 1,000 turns', 'raw, 1,000 turns', 'ORDER BY <=> in the conversation', 0.125),
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
