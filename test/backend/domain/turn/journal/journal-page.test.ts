// A journal page is limited by the number of its entries and by their total size.

import { describe, expect, it } from 'vitest'
import { readEvents } from '../../../../../src/domain/turn/journal/journal-page.ts'
import { appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { JOURNAL_PAGE_BYTES } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../../support/backend.ts'
import { range } from '../../../../support/reading.ts'
import { useWorld } from '../../../../support/world.ts'

/** About a quarter of a page. */
const LARGE = 'word '.repeat(JOURNAL_PAGE_BYTES / 20)

describe.each(backends)('a page of the journal, on $name,', (backend) => {
  const world = useWorld(backend)

  /** Reads all pages from the start, and returns the seqs of each. */
  async function pages(tenant: string, conversationId: string, limit: number): Promise<number[][]> {
    const seqs: number[][] = []
    for (let after = 0; ;) {
      const page = await readEvents(world.deps, tenant, conversationId, { after, limit })
      seqs.push(page.events.map(({ seq }) => seq))
      expect(page.bytes).toBeLessThan(JOURNAL_PAGE_BYTES * 1.6)
      if (page.reachesEnd) return seqs
      expect(page.last).toBeGreaterThan(after)
      after = page.last
    }
  }

  it('ends with the entry that reaches the byte limit', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const turns = Array.from({ length: 10 }, () => ({ role: 'USER' as const, content: LARGE }))
    await appendTurns(world.deps, tenant.as('ada'), { conversationId, turns })
    expect(await pages(tenant.name, conversationId, 200)).toEqual([range(1, 5), range(6, 9), [10, 11]])
    expect((await pages(tenant.name, conversationId, 3)).map(({ length }) => length)).toEqual([3, 3, 3, 2])
    expect((await pages(tenant.name, conversationId, 6)).map(({ length }) => length)).toEqual([5, 4, 2])
  })

  it('counts parts that Postgres stores compressed, and both versions of an edit', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const parts = [{ data: { value: 'x'.repeat(LARGE.length) } }]
    const turn = { role: 'ASSISTANT' as const, parts }
    const turns = Array.from({ length: 8 }, () => turn)
    const { turns: written } = await appendTurns(world.deps, tenant.as('ada'), { conversationId, turns })
    let turnId = written[0]!.id
    for (let n = 0; n < 2; n++) {
      const edit = { turnId, turn: { role: 'ASSISTANT' as const, content: LARGE } }
      turnId = (await supersedeTurn(world.deps, tenant.as('ada'), edit)).turn.id
    }
    const [first, ...rest] = await pages(tenant.name, conversationId, 200)
    expect(first!.length).toBeLessThanOrEqual(6)
    expect([first, ...rest].flat()).toEqual(range(1, 11))
  })

  it('reaches the end if it has fewer entries than the limit', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const { events, reachesEnd } = await readEvents(world.deps, tenant.name, conversationId, { after: 0, limit: 1 })
    expect(events).toHaveLength(1)
    expect(reachesEnd).toBe(false)
    expect(await readEvents(world.deps, tenant.name, conversationId, { after: 1, limit: 5 })).toEqual({
      events: [],
      last: 1,
      reachesEnd: true,
      bytes: 0,
    })
  })
})
