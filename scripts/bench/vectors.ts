// Vector search alone, on Postgres: its recall with the HNSW index, and its time over all conversations of one owner
// against a plain query over the same table. The vectors are clustered, and the same in every run.

import type { Pool } from '../../src/store/db/tenant-pool.ts'
import { unit } from '../../src/runtime/unit-vector.ts'
import { createOwnerPool, createPool, createPrisma } from '../../src/store/db/db.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { createPostgresVectors } from '../../src/store/vectors/postgres-vectors.ts'
import { buildVectorIndex } from '../../src/store/vectors/vector-index.ts'
import type { VectorSearch } from '../../src/store/vectors/vector-search.ts'
import { vectorValue } from '../../src/store/vectors/vector.ts'
import { SYSTEM } from '../../src/store/db/scope.ts'
import { interleave, median, type Report } from './figures.ts'
import { withDatabase, type Bench } from './services.ts'
import { sql } from '../../test/support/sql.ts'

const DIMENSION = 384
const CLUSTERS = 200
/** Standard deviation of each component from the centre of its cluster. */
const SPREAD = 0.04
const CONVERSATIONS = 100
const TURNS = 1_000
const TOTAL = CONVERSATIONS * TURNS
/** Number of queries whose results are compared with those of an exact search. */
const QUERIES = 200
const ROUNDS = 5
/** Number of timed queries per round. */
const TIMED = 20
const K = 10
const BATCH = 500
const EMBEDDER = 'bench:384'

const viewer = { tenant: 'default', actor: 'ada' }
const conversationIds = Array.from({ length: CONVERSATIONS }, (_, i) => `conv_${String(i).padStart(26, '0')}`)

/** State of Park and Miller's random number generator. Every run draws the same numbers. */
let state = 20_261_121
const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())
const centres = Array.from({ length: CLUSTERS }, () => unit(Float32Array.from({ length: DIMENSION }, normal)))
const clustered = () => {
  const centre = centres[Math.floor(random() * CLUSTERS)]!
  return unit(centre.map((component) => component + SPREAD * normal()))
}

async function fill(pool: Pool, vectors: VectorSearch, progress: Bench['progress']): Promise<void> {
  await sql(pool).query(
    `INSERT INTO conversation (id, tenant, owner) SELECT r, 'default', 'ada' FROM unnest($1::text[]) r`,
    [conversationIds],
  )
  await sql(pool).query(
    `INSERT INTO journal (conversation_id, tenant, last_seq, turn_count)
     SELECT r, 'default', $2::integer, $2::integer FROM unnest($1::text[]) r`,
    [conversationIds, TURNS],
  )
  await sql(pool).query(
    `INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, token_count, terms)
     SELECT r || '-' || i, r, i, i, 'ada', 'USER', 'COMMITTED', repeat('word ', 25), 25, '{}'
     FROM unnest($1::text[]) r, generate_series(1, $2::integer) i`,
    [conversationIds, TURNS],
  )
  await sql(pool).query('INSERT INTO embedder (name, dimension) VALUES ($1, $2)', [EMBEDDER, DIMENSION])
  // The turns of a conversation belong to many clusters, as in real conversations.
  for (let done = 0; done < TOTAL; done += BATCH) {
    await vectors.write(
      EMBEDDER,
      Array.from({ length: BATCH }, (_, i) => {
        const seq = ((done + i) % TURNS) + 1
        return {
          conversationId: conversationIds[Math.floor((done + i) / TURNS)]!,
          position: seq,
          seq,
          vector: clustered(),
        }
      }),
    )
    if ((done + BATCH) % 20_000 === 0) progress(`${done + BATCH} vectors`)
  }
  await sql(pool).query('VACUUM ANALYZE')
}

const PLAIN =
  'SELECT conversation_id AS "conversationId", seq FROM turn_vector ORDER BY embedding <=> $1::halfvec LIMIT 10'

export async function vectors({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const pool = createPool({ databaseUrl: url, poolSize: 4 }, (error) => progress(error.message))
    const db = createPrisma(pool)
    try {
      const owner = createOwnerPool({ databaseUrl: url, poolSize: 1 }, (error) => progress(error.message))
      await migrate(owner).finally(() => owner.end())
      const search = createPostgresVectors(db)
      await fill(pool, search, progress)
      const begin = performance.now()
      await buildVectorIndex(url, { name: EMBEDDER, dimension: DIMENSION }, { from: 0, to: TOTAL + 1, rows: TOTAL })
      const built = (performance.now() - begin) / 1000
      progress(`index built in ${built.toFixed(1)} s`)

      const nearest = async (query: Float32Array, limit = K) =>
        search.nearest(viewer, conversationIds, { embedder: EMBEDDER, query }, { limit, filter: {} })
      const plain = async (query: Float32Array) =>
        (
          await pool.query<{ conversationId: string; seq: number }>({
            scope: SYSTEM,
            name: 'plain',
            text: PLAIN,
            values: [vectorValue(query)],
          })
        ).rows

      let hits = 0
      let tooShort = 0
      let exact = 0
      for (let i = 0; i < QUERIES; i++) {
        const query = clustered()
        const { method, found } = await nearest(query)
        const expected = new Set((await plain(query)).map(({ conversationId, seq }) => `${conversationId} ${seq}`))
        hits += found.filter(({ conversationId, seq }) => expected.has(`${conversationId} ${seq}`)).length
        tooShort += Number(found.length < K) + Number((await nearest(query, 200)).found.length < 200)
        exact += Number(method === 'EXACT')
      }
      const recall = hits / (QUERIES * K)

      const time = (run: (query: Float32Array) => Promise<unknown>) => async () => {
        const times: number[] = []
        for (let i = 0; i < TIMED; i++) {
          const query = clustered()
          const start = performance.now()
          await run(query)
          times.push(performance.now() - start)
        }
        return median(times)
      }
      const contestants = { nearest: time((query) => nearest(query)), plain: time(plain) }
      for (const warmUp of Object.values(contestants)) await warmUp()
      const medians = await interleave(ROUNDS, contestants, (message) => progress(`${message} ms`))
      return {
        title: `vectors: ${TOTAL.toLocaleString('en-US')} x ${DIMENSION} of one owner, Postgres`,
        figures: [
          {
            label: `the ${K} nearest`,
            unit: 'ms',
            better: 'smaller',
            target: 3,
            ours: medians.nearest,
            theirs: medians.plain,
            against: 'ORDER BY embedding <=> $1 LIMIT 10, over the table',
          },
          {
            label: `recall@${K}`,
            unit: '',
            better: 'larger',
            target: 0.97,
            ours: recall,
            theirs: 1,
            against: 'exact search',
          },
        ],
        notes: [
          `${exact} of ${QUERIES} queries compared all vectors. ${tooShort} of ${2 * QUERIES} results (10 and 200 `
            + `nearest per query) are too short; must be 0. Medians of ${ROUNDS} interleaved rounds of ${TIMED} `
            + 'queries.',
          'Ours also checks that each turn is committed, in view and the newest version. The index was built in '
            + `${built.toFixed(1)} s.`,
        ],
      }
    } finally {
      await db.$disconnect()
      await pool.end()
    }
  })
}
