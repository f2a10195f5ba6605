// Facts that say when they are true: stored, compared, listed by a time, and quoted in contexts and profiles.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import { getFactPage } from '../../../../../src/domain/memory/fact/fact.ts'
import { reconcileFacts } from '../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { recordFacts, type RecordFactsInput } from '../../../../../src/domain/memory/fact/record.ts'
import { undoReconciliation } from '../../../../../src/domain/memory/fact/reconcile/undo-reconciliation.ts'
import { refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const year = (n: number) => new Date(Date.UTC(n, 0, 1))
type Given = Omit<RecordFactsInput['facts'][number], 'subject' | 'predicate'>

describe.each(backends)('facts with periods, on $name', (backend) => {
  const world = useWorld(backend)

  const record = (tenant: Tenant, predicate: string, ...given: Given[]) =>
    recordFacts(world.deps, tenant.as('ada'), {
      userId: 'ada',
      facts: given.map((each) => ({ subject: 'Ada', predicate, ...each })),
    })
  async function list(tenant: Tenant, filter: Record<string, unknown> = {}) {
    const page = await getFactPage(world.deps, tenant.as('ada'), { filter: { userId: 'ada', ...filter } })
    return page.items.toReversed()
  }
  const objects = async (tenant: Tenant, validAt: Date) => (await list(tenant, { validAt })).map(({ object }) => object)
  const reconcile = (tenant: Tenant) => reconcileFacts(world.deps, tenant.as('ada'), { userId: 'ada' })

  it('are equal if the period is, too', async () => {
    const tenant = world.tenant()
    const [past, present] = [
      { object: 'Rome', validFrom: year(2015), validTo: year(2019) },
      { object: 'Rome', validFrom: year(2023) },
    ]
    expect((await record(tenant, 'lives in', past, present)).facts).toMatchObject([past, present])
    expect(await record(tenant, 'lives in', past, present)).toMatchObject({ facts: [], exactDuplicatesSkipped: 2 })
    expect(await reconcile(tenant)).toEqual({ kept: 2, merged: 0, contradicted: 0 })
  })

  it('are refused if they end before they begin', async () => {
    const tenant = world.tenant()
    const given = { object: 'Rome', validFrom: year(2019), validTo: year(2019) }
    await expect(record(tenant, 'lives in', { object: 'Oslo' }, given)).rejects.toThrow(
      'facts.1.validTo: must be after validFrom',
    )
    expect(await list(tenant)).toEqual([])
  })

  it('are listed at the times at which they were true', async () => {
    const tenant = world.tenant()
    const career = [
      { object: 'Acme', validFrom: year(2015), validTo: year(2019) },
      { object: 'Globex', validFrom: year(2019) },
    ]
    await record(tenant, 'works at', ...career)
    expect(await reconcile(tenant)).toMatchObject({ contradicted: 0 })
    const at = async (n: number) => objects(tenant, year(n))
    expect([await at(2014), await at(2015), await at(2018), await at(2019), await at(2025)]).toEqual([
      [],
      ['Acme'],
      ['Acme'],
      ['Globex'],
      ['Globex'],
    ])
  })

  it('end when a fact contradicts them, until that is undone', async () => {
    const tenant = world.tenant()
    const { facts } = await record(tenant, 'lives in', { object: 'Rome', observedAt: year(2020) })
    await record(tenant, 'lives in', { object: 'Oslo', observedAt: year(2024), validFrom: year(2023) })
    expect(await reconcile(tenant)).toMatchObject({ contradicted: 1 })
    const [rome] = await list(tenant, { includeSuperseded: true })
    expect(rome).toMatchObject({ supersedeReason: 'CONTRADICTED', validTo: null, contradictedFrom: year(2023) })
    // A fact without validFrom counts as true before it was observed.
    expect(await objects(tenant, year(2018))).toEqual(['Rome'])
    expect(await objects(tenant, year(2022))).toEqual(['Rome'])
    expect(await objects(tenant, year(2023))).toEqual(['Oslo'])
    await undoReconciliation(world.deps, tenant.as('ada'), { factId: facts[0]!.id })
    expect(await list(tenant)).toMatchObject([{ object: 'Rome', contradictedFrom: null }, { object: 'Oslo' }])
    expect(await objects(tenant, year(2023))).toEqual(['Rome', 'Oslo'])
  })

  it('that contradicted a fact without a period count from then, not before', async () => {
    const tenant = world.tenant()
    await record(tenant, 'lives in', { object: 'Rome', observedAt: year(2020) })
    await record(tenant, 'lives in', { object: 'Oslo', observedAt: year(2024) })
    await reconcile(tenant)
    expect([await objects(tenant, year(2022)), await objects(tenant, year(2024))]).toEqual([['Rome'], ['Oslo']])
  })

  it('state the same about connected times as one fact with the whole period, which can be undone', async () => {
    const tenant = world.tenant()
    await record(tenant, 'lives in', { object: 'Rome', observedAt: year(2020), validFrom: year(2018) })
    const closed = { object: 'Rome', observedAt: year(2024), validTo: year(2023), validFrom: year(2019) }
    const { facts } = await record(tenant, 'lives in', closed)
    expect(await reconcile(tenant)).toMatchObject({ merged: 1 })
    const whole = { object: 'Rome', validFrom: year(2018), validTo: year(2023), observedAt: year(2024) }
    expect(await list(tenant)).toMatchObject([whole])
    expect(await record(tenant, 'lives in', whole)).toMatchObject({ exactDuplicatesSkipped: 1 })
    await undoReconciliation(world.deps, tenant.as('ada'), { factId: facts[0]!.id })
    expect((await list(tenant)).map(({ validFrom, validTo }) => [validFrom, validTo])).toEqual([
      [year(2018), null],
      [year(2019), year(2023)],
    ])
  })

  it('are quoted with their periods; those that have ended only among the relevant facts, and not in profiles', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', 'bot')
    await record(
      tenant,
      'works at',
      { object: 'Acme', observedAt: year(2026), validFrom: year(2015), validTo: year(2019) },
      { object: 'Globex', observedAt: year(2026), validFrom: year(2019) },
    )
    await tenant.append(conversationId, 'ada', 'What was it like at Acme?')
    const { messages } = await buildContext(world.deps, tenant.as('ada'), { conversationId, includeFacts: true })
    const quoted = messages.filter(({ kind }) => kind === 'FACT').map(({ content }) => content.match(/^- .*$/gm))
    expect(quoted).toEqual([
      ['- Ada works at Globex (2026-01-01, true since 2019-01-01)'],
      ['- Ada works at Acme (2026-01-01, true from 2015-01-01 until 2019-01-01)'],
    ])
    const profile = await refreshUserProfile(world.deps, tenant.as('ada'), { userId: 'ada' })
    expect(profile.content).toContain('Globex')
    expect(profile.content).not.toContain('Acme')
  })
})
