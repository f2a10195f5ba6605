// The time of recall over all conversations of an owner, against a plain vector query over their turns: by the number
// of turns, and by the number of conversations.

import pg from 'pg'
import type { Deps } from '../../src/domain/deps.ts'
import { recall } from '../../src/domain/memory/recall/recall.ts'
import { createIndexCache } from '../../src/domain/memory/recall/index/index-cache.ts'
import { buildVectorIndex } from '../../src/store/vectors/vector-index.ts'
import { vectorValue } from '../../src/store/vectors/vector.ts'
import { sql } from '../../test/support/sql.ts'
import { clustered, DIMENSION, embedder, fillConversation, words, WORDS_A_QUERY } from './corpus.ts'
import { interleave, median, type Figure, type Report } from './figures.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'

/** The owners, with the number of their conversations and of the turns in each conversation. */
const OWNERS = {
  '10,000 turns in 100 conversations': { owner: 'bob', conversations: 100, turns: 100 },
  '100,000 turns in 100 conversations': { owner: 'carl', conversations: 100, turns: 1_000 },
  '10,000 turns in 2,000 conversations': { owner: 'dora', conversations: 2_000, turns: 5 },
} as const
const ROUNDS = 5
const QUERIES = 20

const viewer = { tenant: 'default', actor: 'ada' }

export async function ownerRecall({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps: opened, close } = await openDeps(url, services.redisUrl)
    // The configured embedder would embed the turns itself and delete the vectors of the benchmark's embedder.
    await opened.embedding.stop()
    const deps: Deps = { ...opened, embedding: { ...opened.embedding, serving: () => embedder } }
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    try {
      await sql(pool).query('INSERT INTO embedder (name, dimension) VALUES ($1, $2)', [embedder.name, DIMENSION])
      const conversationOf = new Map<string, string>()
      for (const [label, { owner, conversations, turns }] of Object.entries(OWNERS)) {
        for (let i = 0; i < conversations; i++) conversationOf.set(owner, await fillConversation(deps, owner, turns))
        progress(`filled: ${label}`)
      }
      await sql(pool).query('VACUUM ANALYZE')
      const total = Object.values(OWNERS).reduce((sum, { conversations, turns }) => sum + conversations * turns, 0)
      await buildVectorIndex(url, embedder, { from: 0, to: total + 1, rows: total })

      const queries = Array.from({ length: QUERIES }, () => ({ text: words(WORDS_A_QUERY), vector: clustered() }))
      const timed = async (ask: (i: number) => Promise<unknown>) => {
        const times: number[] = []
        for (let i = 0; i < QUERIES; i++) {
          const begin = performance.now()
          await ask(i)
          times.push(performance.now() - begin)
        }
        return median(times)
      }
      const withoutCache: Deps = { ...deps, indexes: createIndexCache(0) }
      const ours = (owner: string, by: Deps) => () =>
        timed((i) =>
          recall(by, viewer, {
            query: queries[i]!.text,
            conversationId: conversationOf.get(owner)!,
            scope: 'OWNER',
            kinds: ['TURN'],
          }),
        )
      const raw = (owner: string) => () =>
        timed((i) =>
          pool.query({
            name: 'raw-owner',
            text: `SELECT v.conversation_id, v.seq FROM turn_vector v JOIN conversation c ON c.id = v.conversation_id
                   WHERE c.owner = $1 AND v.embedder = $2 ORDER BY v.embedding <=> $3::vector LIMIT 10`,
            values: [owner, embedder.name, vectorValue(queries[i]!.vector)],
          }),
        )
      const contestants: Record<string, () => Promise<number>> = {}
      for (const [label, { owner }] of Object.entries(OWNERS)) {
        contestants[label] = ours(owner, deps)
        contestants[`${label}, first recalls`] = ours(owner, withoutCache)
        contestants[`raw, ${label}`] = raw(owner)
      }
      for (const warmUp of Object.values(contestants)) {
        await warmUp()
        await deps.indexes.settled()
      }
      const medians = await interleave(ROUNDS, contestants, (message) => progress(`${message} ms`))
      const figures = Object.keys(OWNERS).flatMap((label) =>
        [label, `${label}, first recalls`].map((ours): Figure => ({
          label: ours,
          ours: medians[ours]!,
          theirs: medians[`raw, ${label}`]!,
          unit: 'ms',
          better: 'smaller',
          target: null,
          against: 'ORDER BY <=> over the turns of the owner',
        })),
      )
      return {
        title: 'owner: recall of turns over all conversations of an owner, in one process on Postgres',
        figures,
        notes: [
          `Medians of ${ROUNDS} interleaved rounds of ${QUERIES} queries each, one at a time; ${DIMENSION} components.`,
          'First recalls search the words in the database; later ones search them in memory.',
        ],
      }
    } finally {
      await pool.end()
      await close()
    }
  })
}
