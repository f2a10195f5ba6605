// The in-memory vectors of the embedded database: caching and invalidation. The contract is in test/contract/.

import type { Tx } from '../../../../src/store/db/db.ts'
import { describe, expect, it } from 'vitest'
import { createEmbeddedVectors } from '../../../../src/store/vectors/embedded-vectors.ts'
import { embedded } from '../../../support/backend.ts'
import { addEmbedder } from '../../../support/seeded-vectors.ts'
import { useWorld } from '../../../support/world.ts'
import { sql } from '../../../support/sql.ts'
import { type Scope } from '../../../../src/store/db/scope.ts'

const EMBEDDER = 'test:2'
const EAST = Float32Array.of(1, 0)

describe('the vector cache of the embedded database', () => {
  const world = useWorld(embedded)

  /** Creates a conversation with `count` turns, and a vector for each, which the tests write. */
  async function newConversationOf(count: number) {
    await addEmbedder(world.deps.pool, EMBEDDER, 2)
    const { newConversation, append, as } = world.tenant()
    const conversationId = await newConversation('ada')
    const vectorRows = []
    for (let i = 0; i < count; i++) {
      const { position, seq } = await append(conversationId, 'ada', `turn ${i}`)
      vectorRows.push({ conversationId, position, seq, vector: EAST })
    }
    return { conversationId, vectorRows, as }
  }

  /** The database, with a function that is called after each read of vectors. */
  const afterReads = (whenRead: () => Promise<void>) => {
    const { db } = world.deps
    const watched = (client: Tx) =>
      new Proxy(client, {
        get: (target, property) => {
          if (property !== '$queryRaw') return Reflect.get(target, property)
          return async (text: TemplateStringsArray, ...values: unknown[]) => {
            const rows = await target.$queryRaw(text, ...values)
            if (text.join('').includes('halfvec_send')) await whenRead()
            return rows
          }
        },
      })
    return { ...db, of: (scope: Scope) => watched(db.of(scope)) }
  }

  it('does not cache a conversation whose vectors are written or deleted while it reads them', async () => {
    const { conversationId, vectorRows, as } = await newConversationOf(2)
    let meanwhile = async () => {}
    const { pool } = world.deps
    const vectors = createEmbeddedVectors(afterReads(() => meanwhile()))
    const size = async () =>
      (
        await vectors.nearest(
          as('ada'),
          [conversationId],
          { embedder: EMBEDDER, query: EAST },
          { limit: 99, filter: {} },
        )
      ).found.length
    await vectors.write(EMBEDDER, vectorRows.slice(0, 1))
    meanwhile = () => vectors.write(EMBEDDER, vectorRows.slice(1))
    expect(await size()).toBe(1)
    meanwhile = async () => {
      await sql(pool).query('DELETE FROM conversation WHERE id = $1', [conversationId])
      vectors.forget(conversationId)
    }
    expect(await size()).toBe(0)
    meanwhile = async () => {}
    expect(vectors.cacheBytes()).toBe(0)
  })

  it('reads vectors once, adds written ones, and drops them when their conversation is deleted', async () => {
    const { conversationId, vectorRows, as } = await newConversationOf(40)
    let reads = 0
    const vectors = createEmbeddedVectors(afterReads(async () => void (reads += 1)))
    const found = async () => {
      const { found } = await vectors.nearest(
        as('ada'),
        [conversationId],
        { embedder: EMBEDDER, query: EAST },
        { limit: 99, filter: {} },
      )
      return found.map(({ seq }) => seq).sort((a, b) => a - b)
    }
    const seqs = vectorRows.map(({ seq }) => seq)
    await vectors.write(EMBEDDER, vectorRows.slice(0, 3))
    expect(await found()).toEqual(seqs.slice(0, 3))
    for (const row of vectorRows.slice(3)) await vectors.write(EMBEDDER, [row])
    expect(await found()).toEqual(seqs)
    expect(reads).toBe(1)
    await sql(world.deps.pool).query('DELETE FROM conversation WHERE id = $1', [conversationId])
    vectors.forget(conversationId)
    expect(vectors.cacheBytes()).toBe(0)
    expect(await found()).toEqual([])
  })

  it('does not change the vectors that a search reads while others are written', async () => {
    const { conversationId, vectorRows, as } = await newConversationOf(3)
    const vectors = createEmbeddedVectors(world.deps.db)
    const found = async () =>
      (
        await vectors.nearest(
          as('ada'),
          [conversationId],
          { embedder: EMBEDDER, query: EAST },
          { limit: 99, filter: {} },
        )
      ).found.length
    await vectors.write(EMBEDDER, vectorRows.slice(0, 1))
    expect(await found()).toBe(1)
    const searches = [found(), vectors.write(EMBEDDER, vectorRows.slice(1)), found()]
    expect(await Promise.all(searches)).toEqual([1, undefined, 1])
    expect(await found()).toBe(3)
  })

  it('keeps the conversations that were searched last, up to its size', async () => {
    const worlds = [await newConversationOf(1), await newConversationOf(1), await newConversationOf(1)]
    let reads = 0
    // Each conversation takes 516 bytes: two components of 4 bytes, two seqs of 4 bytes, and 500 bytes.
    const vectors = createEmbeddedVectors(
      afterReads(async () => void (reads += 1)),
      { cacheBytes: 2 * 516 },
    )
    for (const { vectorRows } of worlds) await vectors.write(EMBEDDER, vectorRows)
    const search = async (index: number) => {
      const { conversationId, as } = worlds[index]!
      const before = reads
      const { found } = await vectors.nearest(
        as('ada'),
        [conversationId],
        { embedder: EMBEDDER, query: EAST },
        { limit: 9, filter: {} },
      )
      expect(found).toHaveLength(1)
      return reads > before ? 'read' : 'cached'
    }
    expect([await search(0), await search(1), await search(0)]).toEqual(['read', 'read', 'cached'])
    expect([await search(2), await search(0), await search(1)]).toEqual(['read', 'cached', 'read'])
    expect(vectors.cacheBytes()).toBe(2 * 516)
  })

  it('drops a conversation for all embedders at once', async () => {
    const { conversationId, vectorRows, as } = await newConversationOf(1)
    await addEmbedder(world.deps.pool, 'other:2', 2)
    const vectors = createEmbeddedVectors(world.deps.db)
    for (const embedder of [EMBEDDER, 'other:2']) {
      await vectors.write(embedder, vectorRows)
      await vectors.nearest(as('ada'), [conversationId], { embedder, query: EAST }, { limit: 9, filter: {} })
    }
    expect(vectors.cacheBytes()).toBe(2 * 516)
    vectors.forget(conversationId)
    expect(vectors.cacheBytes()).toBe(0)
  })
})
