// The in-memory vectors of the embedded database: caching and invalidation. The contract is in test/contract/.

import type { Tx } from '../../../src/store/db.ts'
import { describe, expect, it, vi } from 'vitest'
import { deleteConversation } from '../../../src/domain/erasure/delete-conversation.ts'
import { createEmbeddedVectors } from '../../../src/store/embedded-vectors.ts'
import { embedded } from '../../support/backend.ts'
import { addEmbedder } from '../../support/seeded-vectors.ts'
import { useWorld } from '../../support/world.ts'
import { sql } from '../../support/sql.ts'
import { type Scope } from '../../../src/store/scope.ts'

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

  it('does not cache a conversation whose vectors are written or deleted while it reads them', async () => {
    const { conversationId, vectorRows, as } = await newConversationOf(2)
    let meanwhile = async () => {}
    const { pool, db } = world.deps
    const slowly = (client: Tx) =>
      new Proxy(client, {
        get: (target, property) => {
          if (property !== '$queryRaw') return Reflect.get(target, property)
          return async (text: TemplateStringsArray, ...values: unknown[]) => {
            const rows = await target.$queryRaw(text, ...values)
            if (text.join('').includes('halfvec_send')) await meanwhile()
            return rows
          }
        },
      })
    const slow = { ...db, of: (scope: Scope) => slowly(db.of(scope)) }
    const vectors = createEmbeddedVectors(slow)
    const size = async () => (await vectors.nearest(EMBEDDER, as('ada'), [conversationId], EAST, 99, {})).found.length
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

  it('reads vectors once, and drops them when their conversation is deleted', async () => {
    const { conversationId, vectorRows, as } = await newConversationOf(2)
    const { vectors, pool } = world.deps
    const count = async () => (await vectors.nearest(EMBEDDER, as('ada'), [conversationId], EAST, 99, {})).found.length
    await vectors.write(EMBEDDER, vectorRows)
    expect(await count()).toBe(2)
    const query = vi.spyOn(pool, 'query')
    expect(await count()).toBe(2)
    expect(query.mock.calls.map(([statement]) => (statement as { name?: string }).name)).not.toContain('read-vectors')
    query.mockRestore()
    await deleteConversation(world.deps, as('ada'), conversationId)
    expect(await count()).toBe(0)
  })
})
