// The byte budget that clients share: which requests are granted immediately, which wait or are refused, and the order in
// which waiting requests are granted.

import { describe, expect, it } from 'vitest'
import { createByteBudget, type ByteShare } from '../../../../../src/domain/kernel/limits/byte-budget.ts'

const viewer = (actor: string, tenant = 'acme') => ({ tenant, actor })

/** Records the names of granted requests, in the order of the grants. */
function recorder() {
  const granted: string[] = []
  return {
    granted,
    watch(name: string, share: ByteShare): ByteShare {
      void share.granted.then(() => granted.push(name))
      return share
    },
    settled: () => new Promise((resolve) => setImmediate(resolve)),
  }
}

describe('a byte budget', () => {
  it('grants at most an eighth to a viewer, half to a tenant, and the whole to all tenants', async () => {
    const budget = createByteBudget(800)
    const { granted, watch, settled } = recorder()
    for (const tenant of ['a', 'b', 'c']) {
      for (let actor = 0; actor < 6; actor++) {
        for (const half of [1, 2, 3]) watch(`${tenant}${actor}.${half}`, budget.take(viewer(`${actor}`, tenant), 50))
      }
    }
    await settled()
    expect(budget.used).toBe(800)
    const ofTenant = (tenant: string) => granted.filter((name) => name.startsWith(tenant))
    expect(ofTenant('a')).toEqual(['a0.1', 'a0.2', 'a1.1', 'a1.2', 'a2.1', 'a2.2', 'a3.1', 'a3.2'])
    expect(ofTenant('b')).toHaveLength(8)
    expect(budget.waiting).toBe(3 * 6 * 3 - 16)
  })

  it('grants a request larger than the total if no bytes are in use, and no other until its release', async () => {
    const budget = createByteBudget(100)
    const large = budget.take(viewer('ada'), 1_000)
    await large.granted
    expect(budget.used).toBe(1_000)
    const { granted, watch, settled } = recorder()
    watch('bob', budget.take(viewer('bob'), 1))
    await settled()
    expect(granted).toEqual([])
    large.release()
    await settled()
    expect(granted).toEqual(['bob'])
  })

  it('serves waiting viewers in turn, regardless of the number of their requests', async () => {
    const budget = createByteBudget(100)
    const { granted, watch, settled } = recorder()
    const held = [budget.take(viewer('eve', 'other'), 100)]
    for (const n of [1, 2, 3]) held.push(watch(`ada${n}`, budget.take(viewer('ada'), 100)))
    held.push(watch('bob1', budget.take(viewer('bob'), 100)))
    for (const name of ['ada1', 'bob1', 'ada2', 'ada3']) {
      held.find((_, index) => index === [0, 1, 4, 2][granted.length])!.release()
      await settled()
      expect(granted.at(-1)).toBe(name)
    }
  })

  it('serves waiting tenants in turn, regardless of the number of their viewers', async () => {
    const budget = createByteBudget(100)
    const { granted, watch, settled } = recorder()
    const first = budget.take(viewer('eve', 'other'), 100)
    const waiting = ['ada', 'bob', 'cy'].map((actor) => watch(actor, budget.take(viewer(actor), 100)))
    waiting.push(watch('neighbour', budget.take(viewer('nina', 'neighbour'), 100)))
    first.release()
    for (const index of [0, 3, 1, 2]) {
      await settled()
      waiting[index]!.release()
    }
    expect(granted).toEqual(['ada', 'neighbour', 'bob', 'cy'])
  })

  it('grants waiting requests once a granted request is reduced', async () => {
    const budget = createByteBudget(800)
    const { granted, watch, settled } = recorder()
    const first = budget.take(viewer('ada'), 100)
    watch('next', budget.take(viewer('ada'), 60))
    await settled()
    expect(granted).toEqual([])
    first.resize(40)
    await settled()
    expect(granted).toEqual(['next'])
    expect(budget.used).toBe(100)
  })

  it('withdraws a waiting request on release, and uses no bytes after all releases', async () => {
    const budget = createByteBudget(100)
    const shares = Array.from({ length: 50 }, (_, n) => budget.take(viewer(`${n % 5}`), 30))
    expect(budget.waiting).toBeGreaterThan(40)
    for (const share of shares.toReversed()) {
      share.release()
      share.release()
      await share.granted
      share.resize(1)
    }
    expect(budget).toMatchObject({ used: 0, waiting: 0 })
  })

  it('grants a waiting request once it is reduced', async () => {
    const budget = createByteBudget(800)
    budget.take(viewer('ada'), 60)
    const next = budget.take(viewer('ada'), 60)
    next.resize(40)
    await next.granted
    expect(budget).toMatchObject({ used: 100, waiting: 0 })
  })

  it('refuses requests beyond the maximum of a viewer, and beyond that of all viewers', () => {
    const budget = createByteBudget(100, { perViewer: 2, total: 3 })
    const held = budget.take(viewer('eve', 'other'), 100)
    for (const actor of ['ada', 'ada', 'bob']) budget.take(viewer(actor), 10)
    expect(() => budget.take(viewer('ada'), 10)).toThrow('2 requests of your viewer are already waiting')
    expect(() => budget.take(viewer('cy'), 10)).toThrow('3 requests of all viewers are already waiting')
    held.release()
    expect(budget.waiting).toBe(1)
  })

  it('withdraws the newest request of the tenant with most of them for a tenant with fewer', async () => {
    const budget = createByteBudget(100, { perViewer: 3, total: 4 })
    const held = budget.take(viewer('eve', 'held'), 100)
    const [, , second, first] = ['ada', 'bob', 'bob', 'ada'].map((actor) => budget.take(viewer(actor), 10))
    const other = budget.take(viewer('eve', 'other'), 10)
    await expect(first!.granted).rejects.toThrow('4 requests of all viewers are already waiting')
    budget.take(viewer('eve', 'other'), 10)
    await expect(second!.granted).rejects.toThrow('4 requests of all viewers are already waiting')
    // Both tenants have two waiting requests now.
    expect(() => budget.take(viewer('eve', 'other'), 10)).toThrow('4 requests of all viewers are already waiting')
    for (const each of [first!, second!, held]) each.release()
    await other.granted
    expect(budget).toMatchObject({ used: 30, waiting: 1 })
  })

  describe('is blocked by', () => {
    const blockers = (budget: ReturnType<typeof createByteBudget>) =>
      [viewer('ada'), viewer('bob'), viewer('eve', 'other')]
        .filter((each) => budget.isBlockedBy(each))
        .map(({ actor }) => actor)

    it('nobody while no request waits', () => {
      const budget = createByteBudget(800)
      budget.take(viewer('ada'), 800)
      expect(blockers(budget)).toEqual([])
    })

    it('the viewer whose own share is used up', () => {
      const budget = createByteBudget(800)
      budget.take(viewer('bob'), 100)
      for (const _ of [1, 2]) budget.take(viewer('ada'), 100)
      expect(blockers(budget)).toEqual(['ada'])
    })

    it('the viewers of the tenant whose share is used up', () => {
      const budget = createByteBudget(800)
      budget.take(viewer('eve', 'other'), 100)
      budget.take(viewer('bob'), 400)
      budget.take(viewer('ada'), 100)
      expect(blockers(budget)).toEqual(['ada', 'bob'])
    })

    it('every viewer if the budget is used up', () => {
      const budget = createByteBudget(800)
      budget.take(viewer('eve', 'other'), 800)
      budget.take(viewer('ada'), 100)
      expect(blockers(budget)).toEqual(['ada', 'bob', 'eve'])
    })
  })
})
