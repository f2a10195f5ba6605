// Recall with a reranker: the first hits are ordered by its scores, pages repeat and skip no hit, the reranker gets only
// texts that the viewer sees, and its failures change nothing but the order.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { compact } from '../../../../../src/domain/memory/summary/compact.ts'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { recall, type Recall, type RecallInput } from '../../../../../src/domain/memory/recall/recall.ts'
import { appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import type { Turn } from '../../../../../src/domain/turn/turn.ts'
import { readTurnTexts } from '../../../../../src/store/sql/memory/recall/read-turn-texts.ts'
import { CallFailed } from '../../../../../src/providers/ports/call-failed.ts'
import { backends } from '../../../../support/backend.ts'
import { fakeReranker, rerankingBy, type FakeReranker } from '../../../../support/fake-reranker.ts'
import { textOf, waitForTurnVectors } from '../../../../support/recall.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const THINGS = 'harbour lantern meadow violin glacier pepper saddle thunder walnut compass orchard candle'.split(' ')

/** The number of a parcel: turns with a higher one are more relevant, to the reranker only. */
const numberOf = (text: string) => Number(/\d+/.exec(text)?.[0] ?? -1)

describe.each(backends)('recall with a reranker, on $name', (backend) => {
  const world = useWorld(backend)
  let tenant: Tenant
  let conversationId: string
  let turns: Turn[]
  let reranker: FakeReranker

  /** Turns in sessions of their own. Their numbers are in another order than their relevance by words. */
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation({ actor: 'ann', displayName: 'Ann Lee' }, 'bob')
    ;({ turns } = await appendTurns(world.deps, tenant.as('ann'), {
      conversationId,
      turns: THINGS.map((thing, i) => ({
        role: 'USER',
        content: `The parcel with the ${thing}${' and so on'.repeat(i % 5)}, number ${10 + ((i * 7) % 12)}`,
        createdAt: new Date(Date.UTC(2024, 0, i + 1)),
      })),
    }))
    await waitForTurnVectors(world.deps, turns)
    reranker = fakeReranker()
    reranker.scoreOf = numberOf
    world.deps.reranking = rerankingBy(reranker)
  })
  afterEach(() => {
    world.deps.reranking = null
    vi.restoreAllMocks()
  })

  const page = (more: Partial<RecallInput> = {}, actor = 'ann') =>
    recall(world.deps, tenant.as(actor), { query: 'the parcel', conversationId, ...more })
  /** Recalls without the reranker. */
  async function plain(more: Partial<RecallInput> = {}) {
    const { reranking } = world.deps
    world.deps.reranking = null
    const found = await page(more)
    world.deps.reranking = reranking
    return found
  }
  const textsOf = ({ hits }: Pick<Recall, 'hits'>) => hits.map(({ memory }) => textOf(memory))
  const byNumber = (texts: readonly string[]) => texts.toSorted((a, b) => numberOf(b) - numberOf(a))

  it('orders the hits by its scores, and leaves score and relevance as they are', async () => {
    const before = await plain({ k: 100 })
    const after = await page({ k: 100 })
    expect(textsOf(after)).toEqual(byNumber(textsOf(before)))
    expect(textsOf(after)).not.toEqual(textsOf(before))
    expect(after.hits.map(({ rerankScore }) => rerankScore)).toEqual(textsOf(after).map(numberOf))
    expect(after.plan).toEqual({ ...before.plan, reranked: THINGS.length })
    const scores = ({ hits }: Recall) =>
      new Map(hits.map(({ memory, score, relevance }) => [textOf(memory), { score, relevance }]))
    expect(scores(after)).toEqual(scores(before))
    expect([before.plan.reranked, ...before.hits.map(({ rerankScore }) => rerankScore)]).toEqual([
      0,
      ...THINGS.map(() => null),
    ])
  })

  it('finds a turn beyond the page that it would be on without the reranker', async () => {
    const last = textsOf(await plain({ k: 100 })).at(-1)!
    reranker.scoreOf = (text) => Number(text.endsWith(last))
    expect(textsOf(await page({ k: 1 }))).toEqual([last])
  })

  it('keeps the order of the search at equal scores, and after the candidates', async () => {
    const before = textsOf(await plain({ k: 100 }))
    reranker.scoreOf = () => 1
    expect(textsOf(await page({ k: 100 }))).toEqual(before)
    reranker.scoreOf = numberOf
    world.deps.reranking = rerankingBy(reranker, 4)
    const found = await page({ k: 100 })
    expect(textsOf(found)).toEqual([...byNumber(before.slice(0, 4)), ...before.slice(4)])
    expect(found.plan.reranked).toBe(4)
    expect(found.hits.map(({ rerankScore }) => rerankScore === null)).toEqual(before.map((_, i) => i >= 4))
  })

  it('gets the query, turns with the names of their authors, facts as sentences, and summaries', async () => {
    await recordFacts(world.deps, tenant.as('bob'), {
      conversationId,
      facts: [{ subject: 'Bob', predicate: 'expects', object: 'the parcel' }],
    })
    await tenant.append(conversationId, 'bob', 'I have no parcel')
    const policy = { triggerTurns: 2 }
    const { summaries } = await compact(world.deps, tenant.as('ann'), { conversationId, policy })
    await page({ query: ' the parcel ', kinds: ['TURN', 'FACT', 'SUMMARY'] })
    const [{ query, texts }] = reranker.calls as [FakeReranker['calls'][number]]
    expect(query).toBe('the parcel')
    expect(texts).toContain('Bob expects the parcel')
    expect(texts).toContain('bob: I have no parcel')
    expect(texts).toContain(summaries[0]!.content)
    expect(texts.filter((text) => text.startsWith('Ann Lee: The parcel with the '))).toHaveLength(THINGS.length)
    expect(texts).toHaveLength(THINGS.length + 3)
  })

  it('gets only the beginning of a long turn', async () => {
    await tenant.append(conversationId, 'bob', `The parcel ${'😀'.repeat(20_000)}`)
    await page()
    const long = reranker.calls[0]!.texts.find((text) => text.startsWith('bob: '))!
    expect([...long]).toHaveLength('bob: '.length + 4_096)
  })

  it('gets only hits that reach the threshold', async () => {
    const relevances = (await plain({ k: 100 })).hits.map(({ relevance }) => relevance).sort()
    const threshold = relevances[6]!
    const found = await page({ k: 100, threshold })
    expect(reranker.calls[0]!.texts).toHaveLength(relevances.filter((each) => each >= threshold).length)
    expect(found.hits.every(({ relevance }) => relevance >= threshold)).toBe(true)
  })

  it('gets no turn that the viewer does not see', async () => {
    await tenant.append(conversationId, 'ann', 'The secret parcel', { audience: ['ann'] })
    await tenant.append(await tenant.newConversation('ann'), 'ann', 'The parcel elsewhere')
    await page({}, 'bob')
    expect(reranker.calls[0]!.texts).toHaveLength(THINGS.length)
    await page({ scope: 'TENANT', conversationId: null })
    expect(reranker.calls[1]!.texts).toEqual(
      expect.arrayContaining(['Ann Lee: The secret parcel', 'ann: The parcel elsewhere']),
    )
  })

  it('gets its texts by a statement that applies the view itself', async () => {
    const secret = await tenant.append(conversationId, 'ann', 'The secret parcel', { audience: ['ann'] })
    const read = async (actor: string) =>
      (await readTurnTexts(world.deps.pool, tenant.as(actor), [secret, turns[0]!], 10)).map(({ text }) => text)
    expect((await read('ann')).toSorted()).toEqual(['The parcel', 'The secret'])
    expect(await read('bob')).toEqual(['The parcel'])
    const other = world.tenant()
    expect(await readTurnTexts(world.deps.pool, other.as('ann'), [secret, turns[0]!], 10)).toEqual([])
  })

  it('is not called if nothing is found', async () => {
    expect((await page({ actors: [] })).hits).toEqual([])
    expect(reranker.calls).toEqual([])
  })

  it('orders the turns that a context recalls', async () => {
    const last = textsOf(await plain({ k: 100 })).at(-1)!
    await tenant.append(conversationId, 'bob', 'Where is the parcel?')
    const quoted = async () => {
      const { messages } = await buildContext(world.deps, tenant.as('bob'), {
        conversationId,
        tokenBudget: 2_000,
        recentTurns: 1,
        strategy: 'SIMPLE',
        semanticRecall: { k: 1 },
      })
      return messages.map(({ content }) => String(content)).join('\n')
    }
    reranker.scoreOf = (text) => Number(text.endsWith(last))
    expect(await quoted()).toContain(last)
    world.deps.reranking = null
    expect(await quoted()).not.toContain(last)
  })

  describe('pages', () => {
    /** Reads all pages; calls `between` after each one. */
    async function readPages(more: Partial<RecallInput>, between: (pages: Recall[]) => unknown = () => {}) {
      const pages = [await page(more)]
      while (pages.at(-1)!.hasNextPage) {
        await between(pages)
        pages.push(await page({ ...more, after: pages.at(-1)!.endCursor }))
      }
      return pages
    }

    it.each([3, 5, 50])('of %i candidates have the order of one large page', async (candidates) => {
      world.deps.reranking = rerankingBy(reranker, candidates)
      const all = textsOf(await page({ k: 100 }))
      expect(all).toHaveLength(THINGS.length)
      const pages = await readPages({ k: 5 })
      expect(pages.map(({ hits }) => hits.length)).toEqual([5, 5, 2])
      expect(pages.flatMap(textsOf)).toEqual(all)
    })

    it('do not call the reranker after all of its candidates', async () => {
      world.deps.reranking = rerankingBy(reranker, 5)
      const pages = await readPages({ k: 5 })
      expect(pages.map(({ plan }) => plan.reranked)).toEqual([5, 0, 0])
      expect(reranker.calls).toHaveLength(1)
    })

    it('repeat and skip no hit if the reranker changes its scores, or fails, between two pages', async () => {
      world.deps.reranking = rerankingBy(reranker, 8)
      const pages = await readPages({ k: 2 }, ({ length }) => {
        reranker.scoreOf = (text) => numberOf(text) * (length % 2 ? -1 : 1)
        reranker.before = () => {
          if (length === 2) throw new CallFailed('no', true)
        }
      })
      expect(pages.map(({ plan }) => plan.reranked)).toEqual([8, 8, 0, 8, 0, 0])
      expect(pages.flatMap(textsOf).sort()).toEqual(turns.map(({ text }) => text).sort())
    })

    it('repeat and skip no hit if turns are appended and edited between two pages', async () => {
      const pages = await readPages({ k: 4 }, async ([first, second]) => {
        if (second) return
        const read = new Set(textsOf(first!))
        const unread = turns.find(({ text }) => !read.has(text))!
        const edit = (turn: Turn, content: string) =>
          supersedeTurn(world.deps, tenant.as('ann'), { turnId: turn.id, turn: { role: 'USER', content } })
        await edit(
          turns.find(({ text }) => read.has(text))!,
          'The parcel, number 99',
        )
        await edit(unread, 'The parcel, number 98')
        await tenant.append(conversationId, 'bob', 'The parcel, number 97')
      })
      const positions = pages.flatMap(({ hits }) =>
        hits.map(({ memory }) => (memory.kind === 'TURN' ? memory.turn.position : null)),
      )
      expect(positions.toSorted()).toEqual(turns.map(({ position }) => position).sort())
      const numbers = pages.flatMap(textsOf).map(numberOf)
      expect(numbers).toContain(98)
      expect(numbers.filter((number) => number === 97 || number === 99)).toEqual([])
    })
  })

  describe('that fails', () => {
    it.each([
      ['cannot be reached', () => new CallFailed('openai:m cannot be reached.', true)],
      ['rejects the key', () => new CallFailed('openai:m answered with status 401.', false)],
      ['has a defect', () => new TypeError('undefined is not a function')],
    ])('because it %s leaves the order of the search, and logs a warning', async (_, error) => {
      const before = await plain()
      const warn = vi.spyOn(world.deps.log, 'warn')
      const err = error()
      reranker.before = () => {
        throw err
      }
      const found = await page()
      expect(found.hits).toEqual(before.hits)
      expect(found.plan.reranked).toBe(0)
      expect(warn.mock.calls).toEqual([
        [{ err, reranker: 'fake' }, 'could not score the hits of a recall; returning them in their own order'],
      ])
    })

    it('to answer in time leaves the order of the search', async () => {
      const before = await plain()
      const timeout = vi.spyOn(AbortSignal, 'timeout')
      const limit = new AbortController()
      reranker.before = () => {
        limit.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
        return new Promise(() => {})
      }
      // The query is embedded in the process, so only the reranker's time limit expires.
      timeout.mockImplementation((ms) => (expect(ms).toBe(3_000), limit.signal))
      expect((await page()).hits).toEqual(before.hits)
      expect(timeout).toHaveBeenCalledTimes(2)
    })
  })

  it('omits a turn that was deleted after the search', async () => {
    const elsewhere = await tenant.newConversation('ann')
    await tenant.append(elsewhere, 'ann', 'The parcel elsewhere, number 99')
    const { pool } = world.deps
    const query = pool.query.bind(pool)
    vi.spyOn(pool, 'query').mockImplementation((async (statement: { name?: string }, ...rest: []) => {
      if (statement.name?.startsWith('read-turn-texts')) {
        await deleteConversation(world.deps, tenant.as('owner'), elsewhere)
      }
      return query(statement as never, ...rest)
    }) as never)
    const found = await page({ scope: 'TENANT', conversationId: null, k: 100 })
    expect(textsOf(found)).toHaveLength(THINGS.length)
    expect(reranker.calls[0]!.texts.map(numberOf)).not.toContain(99)
  })
})
