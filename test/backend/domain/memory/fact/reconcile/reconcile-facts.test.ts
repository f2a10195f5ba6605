// Reconciliation of stored facts: duplicates are merged, and of two contradictory facts, one stays active and the other
// is superseded, with the reason. Facts with different viewers are never compared; each run is one transaction.

import { describe, expect, it } from 'vitest'
import { deleteConversation } from '../../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { getFactPage } from '../../../../../../src/domain/memory/fact/fact.ts'
import { recordFacts, retractFact } from '../../../../../../src/domain/memory/fact/record.ts'
import { reconcileFacts } from '../../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { readEvents } from '../../../../../../src/domain/turn/journal/journal-page.ts'
import type { Deps } from '../../../../../../src/domain/deps.ts'
import { CallFailed } from '../../../../../../src/providers/ports/call-failed.ts'
import { type FactJudge } from '../../../../../../src/providers/ports/fact-judge.ts'
import type { Viewer } from '../../../../../../src/domain/kernel/view.ts'
import { backends } from '../../../../../support/backend.ts'
import { useWorld } from '../../../../../support/world.ts'

const DAY = 86_400_000
const day = (n: number) => new Date(Date.UTC(2026, 4, n))

/** Parses a fact from a text of the form "Ada | lives in | Rome". */
const factOf = (text: string, observedAt: Date, confidence = 0.9) => {
  const [subject, predicate, object] = text.split(' | ') as [string, string, string]
  return { subject, predicate, object, observedAt, confidence }
}

describe.each(backends)('reconciling on $name', (backend) => {
  const world = useWorld(backend)

  const all = async (viewer: Viewer, includeSuperseded = true) =>
    (await getFactPage(world.deps, viewer, { filter: { includeSuperseded } })).items
  const activeFacts = async (viewer: Viewer) =>
    (await all(viewer, false)).map(({ subject, predicate, object }) => `${subject} ${predicate} ${object}`).sort()

  it('merges duplicates, and keeps the later of two contradictory facts', async () => {
    const { deps } = world
    const ada = world.tenant().as('ada')
    await recordFacts(deps, ada, {
      userId: 'ada',
      facts: [
        factOf('Ada | lives in | Rome', day(1)),
        factOf('Ada | resides in | Oslo', day(3)),
        factOf('ada | moved to | Oslo, Norway', day(4)),
        factOf('Ada | likes | tea', day(1)),
      ],
    })
    expect(await reconcileFacts(deps, ada, { userId: 'ada' })).toEqual({ kept: 1, merged: 1, contradicted: 1 })
    expect(await activeFacts(ada)).toEqual(['Ada likes tea', 'ada moved to Oslo, Norway'])
    const merged = (await all(ada, false)).find(({ object }) => object === 'Oslo, Norway')!
    expect(merged).toMatchObject({ observedAt: day(4), userId: 'ada' })
    const losers = (await all(ada)).filter(({ supersededAt }) => supersededAt)
    expect(losers.map(({ object, supersedeReason }) => `${object}: ${supersedeReason}`).sort()).toEqual([
      'Oslo, Norway: DUPLICATED',
      'Oslo: DUPLICATED',
      'Rome: CONTRADICTED',
    ])
    expect(new Set(losers.map(({ supersededBy }) => supersededBy))).toEqual(new Set([merged.id]))
    expect(await reconcileFacts(deps, ada, { userId: 'ada' })).toEqual({ kept: 2, merged: 0, contradicted: 0 })
  })

  it('compares the facts of a user over all conversations under any actor name, and notifies each conversation', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [home, work] = [
      await tenant.newConversation({ actor: 'u1', displayName: 'Ada Lovelace' }),
      await tenant.newConversation({ actor: 'u1', displayName: 'Countess' }),
    ]
    const u1 = tenant.as('u1')
    await recordFacts(deps, u1, { conversationId: home, facts: [factOf('Ada | works at | Initech', day(1))] })
    await recordFacts(deps, u1, { conversationId: work, facts: [factOf('Countess | works for | Globex', day(2))] })
    const before = await tenant.lastSeq(home)
    expect(await reconcileFacts(deps, u1, { userId: 'u1' })).toMatchObject({ contradicted: 1 })
    expect(await activeFacts(u1)).toEqual(['Countess works for Globex'])
    const { events } = await readEvents(deps, u1.tenant, home, { after: before!, limit: 10 })
    expect(events).toMatchObject([{ type: 'FactsChanged', facts: [{ id: expect.stringMatching(/^fact_/) }] }])
  })

  it('never compares facts with different viewers', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob')
    const secret = await tenant.append(conversationId, 'ada', 'psst: Oslo', { audience: ['ada'] })
    await recordFacts(deps, tenant.as('ada'), {
      conversationId,
      facts: [
        factOf('ada | lives in | Rome', day(1)),
        { ...factOf('ada | lives in | Oslo', day(2)), sourceTurnId: secret.id },
      ],
    })
    const counts = { kept: 1, merged: 0, contradicted: 0 }
    expect(await reconcileFacts(deps, tenant.as('bob'), { userId: 'ada' })).toEqual(counts)
    expect(await reconcileFacts(deps, tenant.as('ada'), { userId: 'ada' })).toEqual({ ...counts, kept: 2 })
    expect(await activeFacts(tenant.as('bob'))).toEqual(['ada lives in Rome'])
  })

  it('considers the newest n facts, of one conversation if given', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const ada = tenant.as('ada')
    await recordFacts(deps, ada, { userId: 'ada', facts: [factOf('ada | is aged | 30', day(1))] })
    await recordFacts(deps, ada, {
      conversationId,
      facts: [factOf('ada | is aged | 31', day(2)), factOf('ada | likes | tea', day(2))],
    })
    expect(await reconcileFacts(deps, ada, { conversationId })).toEqual({ kept: 2, merged: 0, contradicted: 0 })
    expect(await reconcileFacts(deps, ada, { userId: 'ada', n: 2 })).toEqual({ kept: 2, merged: 0, contradicted: 0 })
    expect(await reconcileFacts(deps, ada, { userId: 'ada', n: 3 })).toEqual({ kept: 2, merged: 0, contradicted: 1 })
  })

  it('has the same result while other calls reconcile, record and retract', async () => {
    const { deps } = world
    const ada = world.tenant().as('ada')
    const cities = ['Rome', 'Oslo', 'Bern', 'Riga', 'Lima', 'Cork', 'Graz', 'Lyon']
    const {
      facts: [first],
    } = await recordFacts(deps, ada, { userId: 'ada', facts: [factOf('ada | likes | tea', day(1))] })
    await Promise.all([
      ...cities.map((city, i) =>
        recordFacts(deps, ada, {
          userId: 'ada',
          facts: [factOf(`ada | lives in | ${city}`, new Date(day(1).getTime() + i * DAY))],
        }),
      ),
      ...cities.map(() => reconcileFacts(deps, ada, { userId: 'ada' })),
      retractFact(deps, ada, { factId: first!.id }),
    ])
    await reconcileFacts(deps, ada, { userId: 'ada' })
    expect(await activeFacts(ada)).toEqual(['ada lives in Lyon'])
    const losers = (await all(ada)).filter(({ supersededAt }) => supersededAt)
    expect(losers).toHaveLength(cities.length)
    const byId = new Map((await all(ada)).map((fact) => [fact.id, fact]))
    for (let loser of losers.filter(({ supersedeReason }) => supersedeReason === 'CONTRADICTED')) {
      for (let steps = 0; loser.supersededBy; steps++) {
        expect(steps).toBeLessThan(cities.length)
        loser = byId.get(loser.supersededBy)!
      }
      expect(loser).toMatchObject({ object: 'Lyon', supersededAt: null })
    }
  })

  it('is undone when the winning fact is deleted with its conversation: the superseded fact is active again', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [ada, kept, gone] = [
      tenant.as('ada'),
      await tenant.newConversation('ada'),
      await tenant.newConversation('ada'),
    ]
    const record = (conversationId: string, ...facts: string[]) =>
      recordFacts(deps, ada, {
        conversationId,
        userId: 'ada',
        facts: facts.map((text) => factOf(text, day(conversationId === kept ? 1 : 2))),
      })
    await record(kept, 'ada | lives in | Rome', 'ada | likes | tea', 'ada | is aged | 30', 'ada | age | 30')
    await record(gone, 'ada | lives in | Oslo', 'ada | likes | the tea', 'ada | age | 31')
    await reconcileFacts(deps, ada, { userId: 'ada' })
    expect(await activeFacts(ada)).toEqual(['ada age 31', 'ada likes tea', 'ada lives in Oslo'])
    // A fact that is recorded again in a remaining conversation is active beside the winner.
    await record(kept, 'ada | lives in | Rome')
    const before = (await tenant.lastSeq(kept))!
    expect(await deleteConversation(deps, ada, gone)).toMatchObject({ facts: 3 })
    expect(await activeFacts(ada)).toEqual(['ada age 30', 'ada is aged 30', 'ada likes tea', 'ada lives in Rome'])
    const ids = new Set((await all(ada)).map((fact) => fact.id))
    for (const { supersededBy } of await all(ada)) if (supersededBy) expect(ids).toContain(supersededBy)
    const { events } = await readEvents(deps, ada.tenant, kept, { after: before, limit: 10 })
    expect(events).toMatchObject([{ type: 'FactsChanged' }])
  })

  describe('with a model as judge', () => {
    const withJudge = (judge: FactJudge['judge']): Deps => ({
      ...world.deps,
      factServices: { ...world.deps.factServices, judge: { name: 'test', judge, close: async () => {} } },
    })
    const facts = [
      factOf('ada | lives in | Rome', day(1)),
      factOf('ada | lives in | Oslo', day(2)),
      factOf('ada | keeps bees on | the roof', day(1)),
      factOf('ada | keeps bees on | top of the house', day(2)),
    ]

    it('applies its verdicts on pairs that the rules leave undecided, and ignores all others', async () => {
      const ada = world.tenant().as('ada')
      await recordFacts(world.deps, ada, { userId: 'ada', facts })
      const deps = withJudge(async (pairs) => [
        ...pairs.map(({ a, b }) => ({ a: a.id, b: b.id, relation: 'SAME' as const })),
        { a: 'fact_unknown', b: pairs[0]!.a.id, relation: 'CONTRADICTORY' },
      ])
      expect(await reconcileFacts(deps, ada, { userId: 'ada' })).toEqual({ kept: 1, merged: 1, contradicted: 1 })
      expect(await activeFacts(ada)).toEqual(['ada keeps bees on top of the house', 'ada lives in Oslo'])
    })

    it('starts again if facts change while the model runs', async () => {
      const ada = world.tenant().as('ada')
      const recorded = await recordFacts(world.deps, ada, { userId: 'ada', facts })
      const oslo = recorded.facts.find(({ object }) => object === 'Oslo')!
      const deps = withJudge(async () => {
        await retractFact(world.deps, ada, { factId: oslo.id })
        return []
      })
      expect(await reconcileFacts(deps, ada, { userId: 'ada' })).toMatchObject({ contradicted: 0 })
      expect(await activeFacts(ada)).toContain('ada lives in Rome')
    })

    it('starts again if a fact is recorded again while the model runs, and uses the latest observation', async () => {
      const tenant = world.tenant()
      const [ada, here, there] = [
        tenant.as('ada'),
        await tenant.newConversation('ada'),
        await tenant.newConversation('ada'),
      ]
      await recordFacts(world.deps, ada, { userId: 'ada', conversationId: here, facts })
      let calls = 0
      const deps = withJudge(async (pairs) => {
        if (calls++ === 0) {
          await recordFacts(world.deps, ada, {
            userId: 'ada',
            conversationId: there,
            facts: [factOf('ada | lives in | Rome', day(5)), factOf('ada | keeps bees on | top of the house', day(5))],
          })
          await deleteConversation(world.deps, ada, here)
        }
        return pairs.map(({ a, b }) => ({ a: a.id, b: b.id, relation: 'SAME' as const }))
      })
      await reconcileFacts(deps, ada, { userId: 'ada' })
      expect(await activeFacts(ada)).toEqual(['ada keeps bees on top of the house', 'ada lives in Rome'])
    })

    it('starts again if the conversation of a fact is deleted while the model runs and another one keeps the fact', async () => {
      const tenant = world.tenant()
      const [ada, here, there] = [
        tenant.as('ada'),
        await tenant.newConversation('ada'),
        await tenant.newConversation('ada'),
      ]
      for (const conversationId of [here, there]) {
        await recordFacts(world.deps, ada, { userId: 'ada', conversationId, facts })
      }
      let calls = 0
      const deps = withJudge(async (pairs) => {
        if (calls++ === 0) await deleteConversation(world.deps, ada, here)
        return pairs.map(({ a, b }) => ({ a: a.id, b: b.id, relation: 'SAME' as const }))
      })
      expect(await reconcileFacts(deps, ada, { userId: 'ada' })).toEqual({ kept: 1, merged: 1, contradicted: 1 })
      expect(calls).toBe(2)
      expect(new Set((await all(ada)).map(({ conversationId }) => conversationId))).toEqual(new Set([there]))
    })

    it('changes nothing if the model fails', async () => {
      const ada = world.tenant().as('ada')
      await recordFacts(world.deps, ada, { userId: 'ada', facts })
      const deps = withJudge(() => Promise.reject(new CallFailed('It is down.', true)))
      await expect(reconcileFacts(deps, ada, { userId: 'ada' })).rejects.toMatchObject({
        code: 'PROVIDER_FAILED',
        retryable: true,
      })
      expect(await activeFacts(ada)).toHaveLength(facts.length)
    })
  })

  it.each([
    [{}, 'userId: is required if conversationId is omitted'],
    [{ userId: 'ada', n: 0 }, 'n: must be 1 to 500'],
    [{ userId: 'ada', n: 501 }, 'n: must be 1 to 500'],
    [{ conversationId: 'conv_0123456789ABCDEFGHJKMNPQRS' }, 'There is no conversation'],
  ])('rejects %j', async (input, message) => {
    await expect(reconcileFacts(world.deps, world.tenant().as('ada'), input)).rejects.toThrow(message)
  })
})
