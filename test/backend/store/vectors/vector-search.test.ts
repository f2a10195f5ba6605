// Vector search over tenants of very different size in one table: a search returns as many turns as match, up to its
// limit, with and without the index.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEmbeddedVectors } from '../../../../src/store/vectors/embedded-vectors.ts'
import { createPostgresVectors } from '../../../../src/store/vectors/postgres-vectors.ts'
import { buildVectorIndex, readVectorSegments } from '../../../../src/store/vectors/vector-index.ts'
import type { TurnVersionId, SearchFilter, VectorSearch } from '../../../../src/store/vectors/vector-search.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { seedConversation } from '../../../support/seeded-vectors.ts'
import { isLong } from '../../../support/long.ts'
import { sql } from '../../../support/sql.ts'

const EMBEDDER = 'skewed:8'
const DIMENSION = 8
/** Number of turns in the only conversation of each tenant. */
const SIZES: Record<string, number> = { one: 1, hundred: 100, many: isLong ? 100_000 : 10_000 }
const ALL = Object.values(SIZES).reduce((sum, turns) => sum + turns)
/** The ranges of the indexes. A twentieth of the vectors follows the last one. */
const BOUNDS = isLong ? [0, 0.8, 0.95] : [0, 0.95]
const SEGMENTS = BOUNDS.slice(1).map((to, i) => ({ from: Math.round(ALL * BOUNDS[i]!), to: Math.round(ALL * to) }))
/** Every RARE_EVERY-th turn is by actor "rare": about a hundred turns of the largest conversation. */
const RARE_EVERY = SIZES.many! / 100 - 3
const K = 20

const conversationOf = (tenant: string) => `conv_of_${tenant}`
const query = (seed: number) => {
  const vector = Float32Array.from({ length: DIMENSION }, (_, d) => Math.sin(seed * 12.9898 + d * 78.233))
  const length = Math.hypot(...vector)
  return vector.map((component) => component / length)
}

describe.each(backends)('vector search over tenants of very different size, on $name', ({ name, open }) => {
  let opened: Opened
  let searches: Record<string, VectorSearch>
  beforeAll(async () => {
    opened = await open()
    const { pool, db, url } = opened
    for (const [tenant, turns] of Object.entries(SIZES)) {
      await seedConversation(pool, {
        tenant,
        conversationId: conversationOf(tenant),
        turns,
        embedder: EMBEDDER,
        dimension: DIMENSION,
        rareEvery: RARE_EVERY,
      })
    }
    await sql(pool).query('ANALYZE')
    if (name === 'postgres')
      for (const range of SEGMENTS)
        await buildVectorIndex(url!, { name: EMBEDDER, dimension: DIMENSION }, { ...range, rows: ALL })
    searches =
      name === 'embedded'
        ? {
            'in memory': createEmbeddedVectors(db),
            'with a cache that is too small': createEmbeddedVectors(db, { cacheBytes: 1000 }),
          }
        : {
            'with the default choice': createPostgresVectors(db),
            'with the index': createPostgresVectors(db, { exactTurns: 0 }),
          }
  })
  afterAll(() => opened?.close())

  const nearest = async (search: VectorSearch, tenant: string, vector: Float32Array, filter: SearchFilter = {}) =>
    (
      await search.nearest(
        { tenant, actor: 'somebody' },
        [conversationOf(tenant)],
        { embedder: EMBEDDER, query: vector },
        { limit: K, filter },
      )
    ).found

  /** Seqs of the K nearest turns, by an exact search in a plain statement. */
  async function exactResult(tenant: string, vector: Float32Array, actor: string | null = null): Promise<number[]> {
    const { rows } = await sql(opened.pool).query<{ seq: number }>(
      `SELECT v.seq FROM turn_vector v JOIN turn t USING (conversation_id, root_seq, seq)
       WHERE v.conversation_id = $1 AND v.embedder = $2 AND ($5::text IS NULL OR t.actor = $5)
       ORDER BY v.embedding <#> $3::text::halfvec LIMIT $4`,
      [conversationOf(tenant), EMBEDDER, `[${vector.join()}]`, K, actor],
    )
    return rows.map(({ seq }) => seq)
  }
  /** The share of the expected turns that were found. */
  const recallOf = (found: readonly TurnVersionId[], expected: readonly number[]) =>
    found.filter(({ seq }) => expected.includes(seq)).length / expected.length

  it.each(Object.keys(SIZES))(
    'returns the nearest turns of the tenant "%s", or all turns if there are fewer than the limit',
    async (tenant) => {
      for (const [variant, search] of Object.entries(searches)) {
        // A forced index search for a thousandth of the table misses some turns, so the test requires less recall of
        // it.
        const share = variant === 'with the index' ? 0.6 : 0.9
        for (let seed = 0; seed < 5; seed++) {
          const found = await nearest(search, tenant, query(seed))
          expect(found).toHaveLength(Math.min(K, SIZES[tenant]!))
          expect(found.every(({ conversationId }) => conversationId === conversationOf(tenant))).toBe(true)
          expect(recallOf(found, await exactResult(tenant, query(seed)))).toBeGreaterThanOrEqual(share)
          const similarities = found.map(({ similarity }) => similarity)
          expect(similarities).toEqual(similarities.toSorted((a, b) => b - a))
        }
      }
    },
  )

  it('returns all matches of a selective filter', async () => {
    for (const search of Object.values(searches)) {
      const found = await nearest(search, 'many', query(1), { actors: ['rare'] })
      expect(found).toHaveLength(K)
      expect(recallOf(found, await exactResult('many', query(1), 'rare'))).toBeGreaterThanOrEqual(0.9)
    }
    for (const search of Object.values(searches)) {
      expect(await nearest(search, 'many', query(1), { actors: ['nobody'] })).toEqual([])
    }
  })

  it('returns as many turns as requested even if the nearest turns are not in the view', async () => {
    const { pool } = opened
    const expected = await exactResult('many', query(3))
    await sql(pool).query(`UPDATE turn SET audience = '{often}' WHERE conversation_id = $1 AND seq = ANY ($2)`, [
      conversationOf('many'),
      expected,
    ])
    for (const search of Object.values(searches)) {
      const found = await nearest(search, 'many', query(3))
      expect(found).toHaveLength(K)
      expect(found.filter(({ seq }) => expected.includes(seq))).toEqual([])
    }
    await sql(pool).query('UPDATE turn SET audience = NULL WHERE conversation_id = $1', [conversationOf('many')])
  })

  if (name === 'postgres')
    it('uses the index for wide scopes only', async () => {
      const methodFor = async (tenant: string) =>
        (
          await searches['with the default choice']!.nearest(
            { tenant, actor: 'x' },
            [conversationOf(tenant)],
            { embedder: EMBEDDER, query: query(1) },
            { limit: K, filter: {} },
          )
        ).method
      expect([await methodFor('one'), await methodFor('hundred'), await methodFor('many')]).toEqual([
        'EXACT',
        'EXACT',
        'APPROXIMATE',
      ])
      const segments = await readVectorSegments(opened.db, EMBEDDER)
      expect(segments.map(({ from, to }) => ({ from, to })).toSorted((a, b) => a.from - b.from)).toEqual(SEGMENTS)
    })
})
