// The importance of facts: how often they were stated and recalled, and how recently they were stated.

import { describe, expect, it, vi } from 'vitest'
import { getFactPage, getFacts } from '../../../../../src/domain/memory/fact/fact.ts'
import { reconcileFacts } from '../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { createRecalledFacts } from '../../../../../src/domain/memory/fact/index/recalled.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { IMPORTANCE } from '../../../../../src/store/sql/memory/fact/fact-columns.ts'
import { recall } from '../../../../../src/domain/memory/recall/recall.ts'
import type { Scope } from '../../../../../src/store/db/scope.ts'
import { backends } from '../../../../support/backend.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const DAY_MS = 24 * 3600 * 1000
const ago = (days: number) => new Date(Date.now() - days * DAY_MS)

describe.each(backends)('the importance of a fact, on $name', (backend) => {
  const world = useWorld(backend)

  /** Records each object in a conversation of its own, unless one is given, and returns the ids of the facts. */
  async function record(tenant: Tenant, objects: readonly string[], observedAt: Date, inside?: string) {
    const conversationId = inside ?? (await tenant.newConversation('ada'))
    const facts = objects.map((object) => ({ subject: 'Ada', predicate: 'likes', object, observedAt }))
    await recordFacts(world.deps, tenant.as('ada'), { conversationId, userId: 'ada', facts })
    const page = await getFactPage(world.deps, tenant.as('ada'), { filter: { userId: 'ada' } })
    return objects.map((object) => page.items.find((fact) => fact.object === object)!.id)
  }
  const importanceOf = async (tenant: Tenant, id: string) =>
    (await getFacts(world.deps, tenant.as('ada'), [id])).get(id)!.importance

  it('is 0.3 when it is new, and half of that after 90 days', async () => {
    const tenant = world.tenant()
    const [fresh] = await record(tenant, ['tea'], new Date())
    const [old] = await record(tenant, ['skating'], ago(90))
    expect(await importanceOf(tenant, fresh!)).toBeCloseTo(0.3, 9)
    expect(await importanceOf(tenant, old!)).toBeCloseTo(0.15, 9)
  })

  it('grows by 0.2 with a second source, and those of merged duplicates count', async () => {
    const tenant = world.tenant()
    const day = ago(1000)
    const [tea] = await record(tenant, ['tea'], day)
    await record(tenant, ['tea'], day)
    expect(await importanceOf(tenant, tea!)).toBeCloseTo(0.2, 3)
    await record(tenant, ['the tea'], day)
    await reconcileFacts(world.deps, tenant.as('ada'), { userId: 'ada' })
    const page = await getFactPage(world.deps, tenant.as('ada'), { filter: { userId: 'ada' } })
    expect(page.items).toHaveLength(1)
    expect(page.items[0]!.importance).toBeCloseTo(0.4 * (2 / 3), 3)
  })

  it('grows with each day on which it was recalled before today, not with each recall', async () => {
    const tenant = world.tenant()
    const [tea] = await record(tenant, ['tea'], ago(1000))
    const recalled = createRecalledFacts(world.deps)
    const recalledDays = async () => {
      const { rows } = await sql(world.deps.pool).query('SELECT recall_days AS days FROM fact WHERE id = $1', [tea])
      return (rows as { days: number }[])[0]!.days
    }
    for (const day of [1, 2, 3]) {
      recalled.add([tea!])
      await vi.waitFor(async () => expect(await recalledDays()).toBe(day))
      recalled.add([tea!])
      expect(await importanceOf(tenant, tea!)).toBeCloseTo(0.3 * (1 - 1 / day), 3)
      await sql(world.deps.pool).query('UPDATE fact SET recalled_on = recalled_on - 1 WHERE id = $1', [tea])
      expect(await importanceOf(tenant, tea!)).toBeCloseTo(0.3 * (1 - 1 / (1 + day)), 3)
    }
    await recalled.stop()
  })

  it('is a filter', async () => {
    const tenant = world.tenant()
    await record(tenant, ['tea'], new Date())
    await record(tenant, ['skating'], ago(90))
    const listed = async (minImportance: number) =>
      (await getFactPage(world.deps, tenant.as('ada'), { filter: { minImportance } })).items.map(({ object }) => object)
    expect([await listed(0), await listed(0.2), await listed(0.5)]).toEqual([['skating', 'tea'], ['tea'], []])
    await expect(listed(1.5)).rejects.toThrow('minImportance')
  })

  it('decides between facts that match a query alike', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    await record(tenant, ['red tulips', 'blue tulips'], ago(10), conversationId)
    const search = async () => {
      const { hits } = await recall(world.deps, tenant.as('ada'), { scope: 'TENANT', query: 'tulips', kinds: ['FACT'] })
      return hits.map(({ memory }) => (memory.kind === 'FACT' ? memory.fact.object : null))
    }
    for (const favourite of ['red tulips', 'blue tulips']) {
      await sql(world.deps.pool).query(
        'UPDATE fact SET recall_days = CASE WHEN object = $2 THEN 9 ELSE 0 END WHERE tenant = $1',
        [tenant.name, favourite],
      )
      expect((await search())[0]).toBe(favourite)
    }
  })

  it('reads only the sources of the fact, in the present and in the past', async () => {
    const tenant = world.tenant()
    const inside = await tenant.newConversation('ada')
    const addFacts = (batch: number) =>
      record(
        tenant,
        Array.from({ length: 50 }, (_, n) => `tea ${batch} ${n}`),
        new Date(),
        inside,
      )
    /** The number of blocks that are read for each of the facts. */
    const blocksOf = async (scope: Scope, facts: number) => {
      const plan = await world.deps.pool.query<{ 'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number } }] }>({
        text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT ${IMPORTANCE.sql} FROM public.fact f`,
        scope,
      })
      return plan.rows[0]!['QUERY PLAN'][0].Plan['Shared Hit Blocks'] / facts
    }
    await addFacts(1)
    const scopes = [tenant.name, { tenant: tenant.name, moment: { at: new Date(), entry: null } }]
    await sql(world.deps.pool).query('ANALYZE')
    const before = [await blocksOf(scopes[0]!, 50), await blocksOf(scopes[1]!, 50)]
    for (let batch = 2; batch <= 20; batch++) await addFacts(batch)
    await sql(world.deps.pool).query('ANALYZE')
    for (const [i, scope] of scopes.entries()) expect(await blocksOf(scope, 1_000)).toBeLessThan(3 * before[i]!)
  })
})
