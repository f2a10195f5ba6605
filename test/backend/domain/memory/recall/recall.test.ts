// Recall as clients use it. Turns are found by words immediately, and by meaning once they have vectors. A recall
// returns only turns of the requested scope that the viewer sees. Invalid queries fail with clear errors.

import { beforeEach, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import type { Memory } from '../../../../../src/domain/memory/recall/memory.ts'
import { recall, type RecallInput } from '../../../../../src/domain/memory/recall/recall.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { InvalidInput, NotFound } from '../../../../../src/errors.ts'
import { CallFailed } from '../../../../../src/providers/ports/call-failed.ts'
import { backends } from '../../../../support/backend.ts'
import { waitForTurnVectors, textOf } from '../../../../support/recall.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

describe.each(backends)('recall, on $name', (backend) => {
  const world = useWorld(backend)
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation('ann', 'bob')
  })

  const ask = (query: string, more: Partial<RecallInput> = {}, actor = 'ann') =>
    recall(world.deps, tenant.as(actor), { query, conversationId, ...more })
  const found = async (query: string, more: Partial<RecallInput> = {}, actor = 'ann') =>
    (await ask(query, more, actor)).hits.map(({ memory }) => textOf(memory))
  const append = (content: string, more: Parameters<Tenant['append']>[3] = {}, actor = 'ann', where = conversationId) =>
    tenant.append(where, actor, content, more)

  /** Turns on different days are in different sessions. */
  const day = (number: number) => new Date(Date.UTC(2024, 0, number))

  describe('finds', () => {
    it('a turn by its words as soon as it is written, in any inflected form', async () => {
      await append('The invoices were paid', { createdAt: day(1) })
      await append('We went sailing', { createdAt: day(3) })
      expect((await found('who pays an invoice?'))[0]).toBe('The invoices were paid')
      expect((await found('a sail'))[0]).toBe('We went sailing')
    })

    it('a turn of the time to which the query refers, relative to now', async () => {
      const ago = (days: number) => new Date(Date.now() - days * 24 * 3600 * 1000)
      const leaks = { attic: 60, cellar: 30, kitchen: 14, garage: 1 }
      const turns = []
      for (const [place, days] of Object.entries(leaks)) {
        turns.push(await append(`The plumber mended the leak in the ${place}`, { createdAt: ago(days) }))
      }
      await waitForTurnVectors(world.deps, turns)
      expect((await found('Which leak did the plumber look at two weeks ago?'))[0]).toContain('kitchen')
      expect((await found('Which leak did the plumber look at 30 days ago?'))[0]).toContain('cellar')
      expect((await found('Which leak did the plumber look at yesterday?'))[0]).toContain('garage')
    })

    it('a turn by its meaning once it has a vector', async () => {
      await waitForTurnVectors(world.deps, [
        await append('Our puppy was ill and went to the vet', { createdAt: day(1) }),
        await append('The invoice was paid in full', { createdAt: day(3) }),
      ])
      const { hits, plan } = await ask('the dog needed a doctor')
      expect(textOf(hits[0]!.memory)).toBe('Our puppy was ill and went to the vet')
      expect(hits[0]!.similarity).toBeGreaterThan(hits[1]!.similarity! + 0.1)
      expect(hits[0]!.textScore).toBeNull()
      expect(plan).toEqual({ vectorSearch: 'EXACT', candidates: 2, reranked: 0 })
    })

    it('a streaming turn once it is committed', async () => {
      const { turn: open } = await openTurn(world.deps, tenant.as('bob'), {
        writerToken: WRITER,
        conversationId,
        turn: { role: 'ASSISTANT' },
      })
      await appendDelta(world.deps, tenant.as('bob'), { writerToken: WRITER, turnId: open.id, text: 'The quokka sm' })
      await appendDelta(world.deps, tenant.as('bob'), { writerToken: WRITER, turnId: open.id, text: 'iled' })
      expect(await found('quokka')).toEqual([])
      await commitTurn(world.deps, tenant.as('bob'), { writerToken: WRITER, turnId: open.id })
      expect(await found('smiling')).toEqual(['The quokka smiled'])
    })

    it('the newest version of an edited turn, and no aborted turn', async () => {
      const first = await append('The code is walrus')
      await supersedeTurn(world.deps, tenant.as('ann'), {
        turnId: first.id,
        turn: { role: 'USER', content: 'The code is narwhal' },
      })
      const { turn: open } = await openTurn(world.deps, tenant.as('bob'), {
        writerToken: WRITER,
        conversationId,
        turn: { role: 'ASSISTANT' },
      })
      await appendDelta(world.deps, tenant.as('bob'), { writerToken: WRITER, turnId: open.id, text: 'walrus narwhal' })
      await abortTurn(world.deps, tenant.as('bob'), { writerToken: WRITER, turnId: open.id })
      expect(await found('narwhal')).toEqual(['The code is narwhal'])
      // The newest version may be similar to walruses in meaning, but does not contain the word.
      expect((await ask('walrus')).hits.map(({ memory, textScore }) => [textOf(memory), textScore])).toEqual(
        expect.not.arrayContaining([['The code is walrus', expect.anything()]]),
      )
      expect((await ask('walrus')).hits.every(({ textScore }) => textScore === null)).toBe(true)
    })

    it('the turns of an actor named in the query, including by display name', async () => {
      conversationId = (
        await createConversation(world.deps, tenant.as('ann'), {
          participants: [
            { actor: 'u1', displayName: 'Grace Hopper' },
            { actor: 'u2', displayName: 'Alan' },
          ],
        })
      ).conversation.id
      await append('I like the compiler', { createdAt: day(1) }, 'u2')
      await append('I like the compiler', { createdAt: day(1) }, 'u1')
      const actorIn = (memory: Memory) => (memory.kind === 'TURN' ? memory.turn.actor : null)
      const actorOf = async (query: string) => actorIn((await ask(query)).hits[0]!.memory)
      expect(await actorOf('Does Grace like the compiler?')).toBe('u1')
      expect(await actorOf('Does Alan like the compiler?')).toBe('u2')
    })

    it('k turns if there are k, regardless of their text', async () => {
      const turns = []
      for (let i = 1; i <= 12; i++) turns.push(await append(`Meeting number ${i}`, { createdAt: day(i) }))
      await waitForTurnVectors(world.deps, turns)
      expect(await found('elephants in the river')).toHaveLength(10)
      expect(await found('elephants in the river', { k: 12 })).toHaveLength(12)
      expect(await found('elephants in the river', { k: 3 })).toHaveLength(3)
    })

    it('nothing for unknown words, and reports that no vectors were compared', async () => {
      await append('hello there')
      const nothing = {
        hits: [],
        plan: { vectorSearch: 'NONE', candidates: 0, reranked: 0 },
        hasNextPage: false,
        hasPreviousPage: false,
        startCursor: null,
        endCursor: null,
      }
      expect(await ask('xqzzyv qqqqx')).toEqual(nothing)
      expect(await ask('who is it?')).toEqual(nothing)
      expect(await ask('🦑')).toMatchObject({ hits: [] })
      expect(await ask('🦑'.repeat(10_000))).toMatchObject({ hits: [] })
    })

    it('nothing in an empty conversation', async () => expect(await found('anything')).toEqual([]))
  })

  describe('is limited to', () => {
    it('the requested actors, roles, times and metadata', async () => {
      await append('apple one', { createdAt: day(1) })
      await append('apple two', { createdAt: day(2), role: 'ASSISTANT' }, 'bob')
      await append('apple three', { createdAt: day(3), metadata: { topic: 'fruit', tags: ['a', 'b'] } }, 'bob')
      expect(await found('apple', { actors: ['bob'] })).toEqual(expect.arrayContaining(['apple two', 'apple three']))
      expect(await found('apple', { actors: ['bob'] })).toHaveLength(2)
      expect(await found('apple', { roles: ['ASSISTANT'] })).toEqual(['apple two'])
      expect(await found('apple', { createdAfter: day(2), createdBefore: day(3) })).toEqual(['apple two'])
      expect(await found('apple', { metadata: [{ path: ['tags'], value: { contains: 'b' } }] })).toEqual([
        'apple three',
      ])
      expect(await found('apple', { actors: [] })).toEqual([])
      expect(await found('apple', { kinds: [] })).toEqual([])
    })

    it('the requested minimum relevance, with and without vectors', async () => {
      await waitForTurnVectors(world.deps, [
        await append('Our puppy was ill', { createdAt: day(1) }),
        await append('The bank was closed', { createdAt: day(3) }),
      ])
      for (const query of ['the dog was sick', 'was the bank closed?']) {
        const [best, other] = (await ask(query, { threshold: 0 })).hits
        expect(best!.relevance).toBeGreaterThan(other!.relevance)
        expect(await found(query, { threshold: best!.relevance })).toEqual([textOf(best!.memory)])
        expect(await found(query, { threshold: best!.relevance + 1e-9 })).toEqual([])
        expect(await found(query, { threshold: 1 })).toEqual([])
      }
      const unembedded = await append('The bank was closed all day', { createdAt: day(5) })
      const { hits } = await ask('was the bank closed?', { threshold: 0.001 })
      expect(hits.map(({ memory }) => memory.kind === 'TURN' && memory.turn.id)).toContain(unembedded.id)
    })

    it('one conversation, the conversations of its owner, or the tenant', async () => {
      const viewer = tenant.as('ann')
      const sister = (await createConversation(world.deps, viewer, { owner: 'owner' })).conversation.id
      const stranger = (await createConversation(world.deps, viewer, { owner: 'someone' })).conversation.id
      await append('plum here')
      await append('plum there', {}, 'ann', sister)
      await append('plum elsewhere', {}, 'ann', stranger)
      const sorted = async (more: Partial<RecallInput>, actor?: string) => (await found('plum', more, actor)).sort()
      expect(await sorted({})).toEqual(['plum here'])
      expect(await sorted({ scope: 'OWNER' })).toEqual(['plum here', 'plum there'])
      expect(await sorted({ scope: 'OWNER', conversationId: stranger })).toEqual(['plum elsewhere'])
      expect(await sorted({ scope: 'OWNER', conversationId: null }, 'someone')).toEqual(['plum elsewhere'])
      expect(await sorted({ scope: 'TENANT', conversationId: null })).toEqual([
        'plum elsewhere',
        'plum here',
        'plum there',
      ])
      const other = world.tenant()
      expect((await recall(world.deps, other.as('ann'), { query: 'plum', scope: 'TENANT' })).hits).toEqual([])
    })

    it("the viewer's view", async () => {
      await append('the secret is mango', { audience: ['bob'] })
      await append('everybody knows about mango')
      expect((await found('mango', {}, 'bob')).sort()).toEqual(['everybody knows about mango', 'the secret is mango'])
      expect(await found('mango', {}, 'eve')).toEqual(['everybody knows about mango'])
    })
  })

  it('is not affected by turns that the viewer does not see, in any score', async () => {
    const scores = []
    for (const withPrivate of [false, true]) {
      conversationId = await tenant.newConversation('ann', 'bob', 'eve')
      const turns = []
      for (const [i, text] of [
        'The mango is ripe',
        'Fruit for all',
        'Is it ripe?',
        'Nobody has tasted the fruit',
      ].entries()) {
        turns.push(await append(text, { createdAt: day(i + 1) }))
        if (!withPrivate) continue
        for (const secret of ['The ripe mango is mine', 'A mango, a mango!']) {
          turns.push(await append(secret, { createdAt: day(i + 1), audience: ['bob'] }))
        }
      }
      await waitForTurnVectors(world.deps, turns)
      const { hits } = await ask('Is the mango ripe?', { k: 100 }, 'eve')
      scores.push(hits.map(({ memory, neighbours: _, ...each }) => [textOf(memory), each]))
    }
    expect(scores[0]).toHaveLength(4)
    expect(scores[1]).toEqual(scores[0])
  })

  describe('returns', () => {
    it('the turns around each hit, oldest first, as the viewer sees them', async () => {
      for (const text of ['one', 'two', 'hidden', 'kiwi', 'four', 'five']) {
        await append(text, text === 'hidden' ? { audience: ['bob'] } : {})
      }
      const around = async (neighbours: number, actor: string) =>
        (await ask('kiwi', { k: 1, neighbours }, actor)).hits[0]!.neighbours.map(({ text }) => text)
      expect(await around(0, 'eve')).toEqual([])
      expect(await around(1, 'eve')).toEqual(['two', 'four'])
      expect(await around(10, 'bob')).toEqual(['one', 'two', 'hidden', 'four', 'five'])
    })

    it('the hits that fit into maxTokens, skipping larger ones', async () => {
      await append(`lychee lychee lychee ${'and so on and so forth '.repeat(30)}`, { createdAt: day(1) })
      const small = await append('lychee', { createdAt: day(3) })
      const other = await append('a lychee', { createdAt: day(5) })
      const budget = small.tokenCount + other.tokenCount
      expect((await found('lychee', { maxTokens: budget })).sort()).toEqual(['a lychee', 'lychee'])
      expect(await found('lychee', { maxTokens: 1 })).toEqual([])
    })
  })

  it('searches only by words if the query cannot be embedded, and logs a warning', async () => {
    await waitForTurnVectors(world.deps, [await append('the papaya is ripe')])
    const { deps } = world
    const failing = {
      ...deps.embedding.serving(),
      embed: () => Promise.reject(new CallFailed('the provider is down', true)),
    }
    const warnings: string[] = []
    const depsWithoutEmbedder = {
      ...deps,
      embedding: { ...deps.embedding, serving: () => failing },
      log: { ...deps.log, warn: (_: object, message: string) => void warnings.push(message) },
    } as typeof deps
    const { hits, plan } = await recall(depsWithoutEmbedder, tenant.as('ann'), { query: 'papaya', conversationId })
    expect(hits.map(({ memory, similarity }) => [textOf(memory), similarity])).toEqual([['the papaya is ripe', null]])
    expect(plan.vectorSearch).toBe('NONE')
    expect(warnings).toHaveLength(1)
  })

  it('finds nothing in a deleted conversation', async () => {
    await waitForTurnVectors(world.deps, [await append('a melon')])
    await deleteConversation(world.deps, tenant.as('ann'), conversationId)
    await expect(ask('melon')).rejects.toThrow(NotFound)
    expect(await found('melon', { scope: 'TENANT', conversationId: null })).toEqual([])
  })

  describe('rejects', () => {
    it.each<[string, Partial<RecallInput>, string]>([
      ['an empty query', { query: ' \n' }, 'query: must not be empty'],
      ['1 MB of query', { query: 'x'.repeat(2 ** 20) }, 'query: must be at most 10000 characters'],
      ['10,001 characters of query', { query: '🦑'.repeat(10_001) }, 'query: must be at most 10000 characters'],
      ['a query that cannot be stored', { query: 'a\0b' }, 'query: must not contain U+0000'],
      ['k of 0', { k: 0 }, 'k: must be 1 to 100'],
      ['k above 100', { k: 101 }, 'k: must be 1 to 100'],
      ['a negative threshold', { threshold: -0.1 }, 'threshold: must be 0 to 1'],
      ['a threshold above 1', { threshold: 1.1 }, 'threshold: must be 0 to 1'],
      ['a threshold that is not a number', { threshold: NaN }, 'threshold'],
      ['11 neighbours', { neighbours: 11 }, 'neighbours: must be 0 to 10'],
      ['zero tokens', { maxTokens: 0 }, 'maxTokens: must be at least 1'],
      [
        'one conversation without its id',
        { conversationId: null },
        'conversationId: is required for scope CONVERSATION',
      ],
      ['an invalid conversation id', { conversationId: 'turn_x' }, 'conversationId: is not the id of a conversation'],
    ])('%s', async (_, input, message) => {
      await expect(ask('x', input)).rejects.toThrow(InvalidInput)
      await expect(ask('x', input)).rejects.toThrow(message)
    })

    it('an unknown conversation, or that of another tenant', async () => {
      const unknown = 'conv_01ARZ3NDEKTSV4RRFFQ69G5FAV'
      await expect(ask('x', { conversationId: unknown })).rejects.toThrow(NotFound)
      await expect(ask('x', { conversationId: unknown, scope: 'OWNER' })).rejects.toThrow(NotFound)
      const other = world.tenant()
      await expect(recall(world.deps, other.as('ann'), { query: 'x', conversationId })).rejects.toThrow(NotFound)
    })
  })
})
