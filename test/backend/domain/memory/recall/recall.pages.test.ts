// Pages of recall: together they return each hit once, even if the conversation changes between two pages, and a cursor
// continues only the recall that returned it.

import { beforeEach, describe, expect, it } from 'vitest'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { recall, type Recall, type RecallInput } from '../../../../../src/domain/memory/recall/recall.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import type { Turn } from '../../../../../src/domain/turn/turn.ts'
import { InvalidInput } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { textOf, waitForTurnVectors } from '../../../../support/recall.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { isLong } from '../../../../support/long.ts'

const THINGS = `harbour lantern meadow violin glacier pepper saddle thunder walnut compass orchard candle river falcon
  marble anchor basket copper desert engine feather garden hammer island jacket`.split(/\s+/)

describe.each(backends)('pages of recall, on $name', (backend) => {
  const world = useWorld(backend)
  let tenant: Tenant
  let conversationId: string
  let turns: Turn[]

  /** A turn about each thing, in a session of its own, so that only words decide the order at first. */
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation('ann', 'bob')
    ;({ turns } = await appendTurns(world.deps, tenant.as('ann'), {
      conversationId,
      turns: THINGS.map((thing, i) => ({
        role: 'USER',
        content: `The parcel with the ${thing}${' and so on'.repeat(i % 7)}`,
        createdAt: new Date(Date.UTC(2024, 0, i + 1)),
      })),
    }))
  })

  const page = (more: Partial<RecallInput> = {}, actor = 'ann') =>
    recall(world.deps, tenant.as(actor), { query: 'the parcel', conversationId, ...more })
  const textsOf = ({ hits }: Recall) => hits.map(({ memory }) => textOf(memory))
  const edit = async (turn: Turn, content: string) =>
    (await supersedeTurn(world.deps, tenant.as('ann'), { turnId: turn.id, turn: { role: 'USER', content } })).turn

  /** Reads all pages; calls `between` after the first one. */
  async function readAll(more: Partial<RecallInput>, between: (first: Recall) => Promise<unknown> = async () => {}) {
    const pages = [await page(more)]
    await between(pages[0]!)
    while (pages.at(-1)!.hasNextPage) pages.push(await page({ ...more, after: pages.at(-1)!.endCursor }))
    return pages
  }

  it('return the hits of one large page, in the same order', async () => {
    await waitForTurnVectors(world.deps, turns)
    const all = await page({ k: 100 })
    expect(all.hits).toHaveLength(THINGS.length)
    expect([all.hasPreviousPage, all.hasNextPage]).toEqual([false, false])
    const pages = await readAll({ k: 7 })
    expect(pages.map(({ hits }) => hits.length)).toEqual([7, 7, 7, 4])
    expect(pages.flatMap(textsOf)).toEqual(textsOf(all))
    expect(pages.map(({ hasPreviousPage }) => hasPreviousPage)).toEqual([false, true, true, true])
  })

  it('continue after the first hit of a page with its start cursor', async () => {
    await waitForTurnVectors(world.deps, turns)
    const first = await page({ k: 5 })
    expect(textsOf(await page({ k: 4, after: first.startCursor }))).toEqual(textsOf(first).slice(1))
  })

  it.each(['CONVERSATION', 'TENANT'] as const)(
    'repeat and skip no hit of scope %s if turns are appended, edited and embedded between two pages',
    async (scope) => {
      const pages = await readAll({ k: 6, scope, kinds: ['TURN', 'FACT', 'SUMMARY'] }, async (first) => {
        const read = new Set(first.hits.map(({ memory }) => (memory.kind === 'TURN' ? memory.turn.id : '')))
        const unread = turns.filter(({ id }) => !read.has(id))
        await edit(
          turns.find(({ id }) => read.has(id))!,
          'The parcel, the parcel, the parcel!',
        )
        await edit(unread[0]!, 'The parcel, edited')
        await edit(await edit(unread.at(-1)!, 'The parcel, edited twice'), 'The parcel, edited three times')
        const later = ['The parcel', 'The parcel?', 'Parcel, parcel, the parcel']
        const { turns: added } = await appendTurns(world.deps, tenant.as('bob'), {
          conversationId,
          turns: later.map((content) => ({ role: 'USER', content, createdAt: new Date(Date.UTC(2024, 0, 3)) })),
        })
        await recordFacts(world.deps, tenant.as('bob'), {
          conversationId,
          facts: [{ subject: 'Bob', predicate: 'expects', object: 'the parcel' }],
        })
        const elsewhere = await tenant.newConversation('ann')
        added.push(await tenant.append(elsewhere, 'ann', 'The parcel'))
        await waitForTurnVectors(world.deps, added)
      })
      const hits = pages.flatMap(({ hits }) => hits)
      const positions = hits.map(({ memory }) => (memory.kind === 'TURN' ? memory.turn.position : memory.kind))
      expect(positions.sort()).toEqual(turns.map(({ position }) => position).sort())
      const texts = pages.flatMap(textsOf)
      expect(texts).toEqual(expect.arrayContaining(['The parcel, edited', 'The parcel, edited three times']))
      expect(texts).not.toContain('The parcel, the parcel, the parcel!')
    },
  )

  it('include facts, each once', async () => {
    await recordFacts(world.deps, tenant.as('bob'), {
      conversationId,
      facts: THINGS.slice(0, 9).map((thing) => ({ subject: 'Bob', predicate: 'expects a parcel with', object: thing })),
    })
    const hits = (await readAll({ k: 4 })).flatMap(({ hits }) => hits)
    const factIds = hits.flatMap(({ memory }) => (memory.kind === 'FACT' ? [memory.fact.id] : []))
    expect([hits.length, new Set(factIds).size]).toEqual([THINGS.length + 9, 9])
  })

  it('put hits that exceed maxTokens on later pages, and omit hits that fit on none', async () => {
    const [small, large] = [turns[0]!.tokenCount, turns[6]!.tokenCount]
    expect(large).toBeGreaterThan(2 * small)
    for (const maxTokens of [large, large - 1]) {
      const pages = await readAll({ k: 10, maxTokens })
      const fitting = turns.filter(({ tokenCount }) => tokenCount <= maxTokens)
      expect(pages.flatMap(textsOf).sort()).toEqual(fitting.map(({ text }) => text).sort())
      for (const { hits } of pages) expect(hits.length).toBeGreaterThan(0)
    }
  })

  it('end if the remaining hits are deleted', async () => {
    const pages = await readAll({ k: 10, scope: 'TENANT', conversationId: null }, () =>
      deleteConversation(world.deps, tenant.as('ann'), conversationId),
    )
    expect(pages.map(({ hits, endCursor }) => [hits.length, endCursor === null])).toEqual([
      [10, false],
      [0, true],
    ])
  })

  it.runIf(isLong)('end after 1,000 hits, and the last cursor is refused with the limit', async () => {
    const id = await tenant.newConversation('ann')
    for (const count of [600, 405]) {
      await appendTurns(world.deps, tenant.as('ann'), {
        conversationId: id,
        turns: Array.from({ length: count }, (_, i) => ({ role: 'USER', content: `Letter ${i}` })),
      })
    }
    const pages = await readAll({ query: 'letters', conversationId: id, k: 97 })
    const found = new Set(pages.flatMap(textsOf))
    expect([pages.length, pages.at(-1)!.hits.length]).toEqual([11, 30])
    expect(pages.reduce((sum, { hits }) => sum + hits.length, 0)).toBe(1_000)
    // Both batches contain the first 405 texts.
    expect(found.size).toBeGreaterThanOrEqual(595)
    const { endCursor } = pages.at(-1)!
    expect(endCursor!.length).toBeLessThan(8_100)
    await expect(page({ query: 'letters', conversationId: id, after: endCursor })).rejects.toThrow(
      'after: follows 1,000 hits, and one recall returns no more',
    )
  })

  describe('are refused', () => {
    it.each<[string, Partial<RecallInput>, string?]>([
      ['another query', { query: 'a parcel' }],
      ['another viewer', {}, 'bob'],
      ['other kinds', { kinds: ['TURN'] }],
      ['another scope', { scope: 'OWNER' }],
      ['another threshold', { threshold: 0.1 }],
      ['another filter', { actors: ['ann'] }],
      ['another time', { createdAfter: new Date(0) }],
    ])('with the cursor of %s', async (_, more, actor) => {
      const { endCursor } = await page({ k: 3 })
      const other = page({ after: endCursor, ...more }, actor)
      await expect(other).rejects.toThrow(InvalidInput)
      await expect(other).rejects.toThrow('after: is a cursor of another recall')
    })

    it('with the cursor of another tenant', async () => {
      const input = { query: 'the parcel', scope: 'TENANT' as const, k: 3 }
      const { endCursor } = await recall(world.deps, tenant.as('ann'), input)
      const other = recall(world.deps, world.tenant().as('ann'), { ...input, after: endCursor })
      await expect(other).rejects.toThrow('after: is a cursor of another recall')
    })

    it('with text that is no cursor', async () => {
      const { endCursor } = await page({ k: 3 })
      for (const after of [
        '',
        'x',
        '🦑',
        endCursor!.slice(1),
        `${endCursor} `,
        `${endCursor}AAAA`,
        'A'.repeat(10_000),
      ]) {
        await expect(page({ after })).rejects.toThrow('after: is ')
      }
    })

    it('except if k, neighbours and maxTokens differ, or defaults are named', async () => {
      const { endCursor } = await page({ k: 3 })
      const given = { scope: 'CONVERSATION', kinds: ['FACT', 'TURN'], threshold: 0, actors: null } as const
      const next = await page({
        after: endCursor,
        k: 5,
        neighbours: 1,
        maxTokens: 1_000,
        ...given,
        kinds: [...given.kinds],
      })
      expect(next.hits).toHaveLength(5)
    })
  })
})
