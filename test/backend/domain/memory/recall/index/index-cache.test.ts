// The cache of the indexes that recall searches: after any change of a conversation, in this process or in another one,
// a recall with a warm cache finds the same as a recall without a cache, for every viewer.

import { describe, expect, it, vi } from 'vitest'
import { createConversation } from '../../../../../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../../../../../src/domain/deps.ts'
import { deleteConversation } from '../../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { eraseTurn } from '../../../../../../src/domain/trust/erasure/erase-turn.ts'
import { removeSummarizedContent } from '../../../../../../src/domain/trust/erasure/retention.ts'
import { addParticipant, removeParticipant } from '../../../../../../src/domain/conversation/participant/participant.ts'
import { createIndexCache } from '../../../../../../src/domain/memory/recall/index/index-cache.ts'
import { createScopeGuesses } from '../../../../../../src/domain/memory/recall/scope-guesses.ts'
import { recall } from '../../../../../../src/domain/memory/recall/recall.ts'
import { appendDelta } from '../../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../../../src/domain/turn/streaming/stream.ts'
import { summarize } from '../../../../../../src/domain/memory/summary/compact.ts'
import { openTurn } from '../../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import type { Turn } from '../../../../../../src/domain/turn/turn.ts'
import { updateParticipant } from '../../../../../../src/domain/conversation/participant/update-participant.ts'
import { NotFound } from '../../../../../../src/errors.ts'
import { backends } from '../../../../../support/backend.ts'
import { casesOf } from '../../../../../support/long.ts'
import { waitForTurnVectors } from '../../../../../support/recall.ts'
import { addEmbedder } from '../../../../../support/seeded-vectors.ts'
import { sql } from '../../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'
import { WRITER } from '../../../../../support/writer.ts'

const WORDS = 'harbour lantern meadow violin glacier pepper saddle thunder walnut compass orchard candle'.split(' ')
const VIEWERS = ['ada', 'bob', 'late', 'stranger']
const OPERATIONS = casesOf(80)
const EAST = Float32Array.of(1, 0)

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!
const sentence = () => Array.from({ length: 4 }, () => pick(WORDS)).join(' ')

describe.each(backends)('the index cache, on $name', (backend) => {
  const world = useWorld(backend, { integrityKey: 'k'.repeat(32) })

  /** Returns the hits of a viewer for several filters, with all scores. */
  async function found(deps: Deps, tenant: Tenant, actor: string, conversationId: string, query: string) {
    const filters = [
      {},
      { actors: ['bob'] },
      { roles: ['ASSISTANT' as const] },
      { metadata: [{ path: ['n'], value: { equals: 1 } }] },
    ]
    const pages = []
    for (const filter of filters) {
      const { hits, plan } = await recall(deps, tenant.as(actor), { conversationId, query, k: 20, ...filter })
      pages.push([plan, hits.map(({ memory, ...scores }) => [memory.kind === 'TURN' && memory.turn.id, scores])])
    }
    return pages
  }

  /** Expects that recalls find the same with a warm cache and guesses as without both. */
  async function expectSame(warm: Deps, tenant: Tenant, conversationId: string, viewers = VIEWERS): Promise<void> {
    const cold = { ...world.deps, indexes: createIndexCache(0), scopes: { guess: () => null, remember: () => {} } }
    let differing: [unknown, unknown] | null = null
    for (const actor of viewers) {
      const query = `${pick(WORDS)} ${pick(WORDS)}`
      // Turns are embedded in the background, so a result counts only if the results before and after it are equal.
      await vi.waitFor(async () => {
        const before = await found(cold, tenant, actor, conversationId, query)
        const between = await found(warm, tenant, actor, conversationId, query)
        const after = await found(cold, tenant, actor, conversationId, query)
        if (JSON.stringify(before) !== JSON.stringify(after)) throw new Error('the conversation is changing')
        differing = JSON.stringify(between) === JSON.stringify(after) ? null : [between, after]
      })
      if (differing) expect(differing[0], `${actor}: ${query}`).toEqual(differing[1])
    }
  }

  it(`finds the same as a recall without a cache after each of ${OPERATIONS} random changes`, async () => {
    const { deps } = world
    const tenant = world.tenant()
    // The cache of another process, which takes no part in the changes.
    const warm = { ...deps, indexes: createIndexCache(), scopes: createScopeGuesses() }
    const id = await tenant.newConversation('ada', 'bob', 'joiner')
    const ada = tenant.as('ada')
    const turns: Turn[] = []
    const append = async (more: object = {}) => {
      turns.push(await tenant.append(id, pick(['ada', 'bob']), sentence(), { metadata: { n: pick([1, 2]) }, ...more }))
    }
    const open = async () => {
      const input = { conversationId: id, writerToken: WRITER, turn: { actor: 'bob', role: 'ASSISTANT' as const } }
      const { turn } = await openTurn(deps, tenant.as('bob'), input)
      await appendDelta(deps, tenant.as('bob'), { turnId: turn.id, writerToken: WRITER, start: 0, text: sentence() })
      return { turnId: turn.id, writerToken: WRITER }
    }
    const changes: Record<string, () => Promise<unknown>> = {
      append,
      appendPrivate: () => append({ audience: ['ada', 'bob'] }),
      appendReply: () => append({ role: 'ASSISTANT' }),
      edit: async () => {
        const turn = pick(turns)
        const edited = { role: turn.role, content: sentence(), actor: turn.actor }
        const newer = await supersedeTurn(deps, tenant.as(turn.actor), { turnId: turn.id, turn: edited }).catch(
          () => null,
        )
        if (newer) turns.push(newer.turn)
      },
      erase: () => eraseTurn(deps, tenant.as('op'), { turnId: pick(turns).id }).catch(() => {}),
      commit: async () => commitTurn(deps, tenant.as('bob'), await open()),
      abort: async () => abortTurn(deps, tenant.as('bob'), { ...(await open()), reason: 'test' }),
      rename: () => updateParticipant(deps, ada, { conversationId: id, actor: 'bob', displayName: pick(WORDS) }),
      join: () =>
        addParticipant(deps, ada, {
          conversationId: id,
          participant: { actor: 'late', historyVisibility: 'SINCE_JOINED' },
        }).catch(() => {}),
      leave: () => removeParticipant(deps, ada, { conversationId: id, actor: 'late' }).catch(() => {}),
      embed: async () => waitForTurnVectors(deps, [await tenant.append(id, 'ada', sentence())]),
    }
    for (let n = 0; n < 5; n++) await append()
    for (let n = 0; n < OPERATIONS; n++) {
      await pick(Object.values(changes))()
      await expectSame(warm, tenant, id, [pick(VIEWERS)])
    }
    await waitForTurnVectors(deps, [await tenant.append(id, 'ada', sentence())])
    await expectSame(warm, tenant, id)
  })

  it('finds no content that retention removed', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const warm = { ...deps, indexes: createIndexCache(), scopes: createScopeGuesses() }
    const input = { participants: [{ actor: 'ada' }], retention: 'EPHEMERAL' as const }
    const { conversation } = await createConversation(deps, tenant.as('ada'), input)
    const turns = []
    for (let n = 0; n < 6; n++) turns.push(await tenant.append(conversation.id, 'ada', `${WORDS[n]} ${WORDS[n + 1]}`))
    await waitForTurnVectors(deps, turns)
    await expectSame(warm, tenant, conversation.id, ['ada'])
    await summarize(deps, tenant.as('ada'), { conversationId: conversation.id })
    await expectSame(warm, tenant, conversation.id, ['ada'])
    expect(await removeSummarizedContent(deps)).toBeGreaterThan(0)
    await expectSame(warm, tenant, conversation.id, ['ada'])
  })

  it('finds nothing in a conversation that was deleted', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const warm = { ...deps, indexes: createIndexCache(), scopes: createScopeGuesses() }
    const id = await tenant.newConversation('ada')
    await tenant.append(id, 'ada', 'harbour')
    await expectSame(warm, tenant, id, ['ada'])
    await deleteConversation(deps, tenant.as('op'), id)
    const search = recall(warm, tenant.as('ada'), { conversationId: id, query: 'harbour' })
    await expect(search).rejects.toThrow(NotFound)
  })

  describe('with and without vectors', () => {
    const EMBEDDER = { name: 'test:2', dimension: 2 }

    /** Creates a conversation, a cache, and functions that append a turn, embed turns, and read the cached index. */
    async function cached() {
      const { deps } = world
      const tenant = world.tenant()
      const id = await tenant.newConversation('ada')
      await addEmbedder(deps.pool, EMBEDDER.name, EMBEDDER.dimension)
      const indexes = createIndexCache()
      const query = vi.spyOn(deps.pool, 'query')
      let state = { lastSeq: 0, removedThrough: 0, embeddedThrough: 0 }
      return {
        append: async () => {
          const turn = await tenant.append(id, 'ada', sentence())
          state = { ...state, lastSeq: turn.seq }
          return turn
        },
        embed: async (turns: readonly Turn[]) => {
          const vectorsOf = turns.map(({ position, seq }) => ({ conversationId: id, position, seq, vector: EAST }))
          await deps.vectors.write(EMBEDDER.name, vectorsOf)
          state = { ...state, embeddedThrough: state.lastSeq }
          await sql(deps.pool).query(
            `INSERT INTO embedding_cursor (conversation_id, embedder, through_seq, tenant) VALUES ($1, $2, $3, $4)
             ON CONFLICT (embedder, conversation_id) DO UPDATE SET through_seq = excluded.through_seq`,
            [id, EMBEDDER.name, state.embeddedThrough, tenant.as('ada').tenant],
          )
        },
        /** Returns the numbers of turns and of vectors in the index, and the names of the statements that read them. */
        read: async (embedder: typeof EMBEDDER | null) => {
          query.mockClear()
          const request = { tenant: tenant.as('ada').tenant, embedder, isLarge: false }
          const [index] = (await indexes.read(deps.pool, { ...request, conversations: [{ id, state }] }))!
          const names = query.mock.calls.map(([statement]) => (statement as { name?: string }).name ?? '')
          const statements = names.filter((name) => name.endsWith('turn-index'))
          return { turns: index!.rows.length, vectors: index!.rows.filter((row) => row >= 0).length, statements }
        },
      }
    }

    it('an index with vectors also serves recalls that need only words', async () => {
      const { append, embed, read } = await cached()
      await embed([await append(), await append()])
      expect(await read(null)).toEqual({ turns: 2, vectors: 0, statements: ['read-turn-index'] })
      expect(await read(EMBEDDER)).toEqual({ turns: 2, vectors: 2, statements: ['read-turn-index'] })
      expect(await read(EMBEDDER)).toEqual({ turns: 2, vectors: 2, statements: [] })
      expect(await read(null)).toEqual({ turns: 2, vectors: 2, statements: [] })
    })

    it('contains the vectors that were written after its words were read', async () => {
      const { append, embed, read } = await cached()
      await embed([await append()])
      await read(EMBEDDER)
      const second = await append()
      expect(await read(null)).toMatchObject({ turns: 2, vectors: 1, statements: ['read-newer-turn-index'] })
      await embed([second, await append()])
      expect(await read(null)).toMatchObject({ turns: 3, vectors: 2, statements: ['read-newer-turn-index'] })
      expect(await read(EMBEDDER)).toMatchObject({ turns: 3, vectors: 3, statements: ['read-newer-turn-index'] })
    })
  })
})
