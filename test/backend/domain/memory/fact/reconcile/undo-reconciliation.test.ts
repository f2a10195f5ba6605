// Undoing a reconciliation: the superseded fact is active again, with the reason, and stays so until a new source asserts
// it or the fact that had replaced it.

import { describe, expect, it } from 'vitest'
import { readEvents } from '../../../../../../src/domain/turn/journal/journal-page.ts'
import { getFactPage, getFacts } from '../../../../../../src/domain/memory/fact/fact.ts'
import { auditMemory } from '../../../../../../src/domain/memory/fact/audit.ts'
import { reconcileAllDue } from '../../../../../../src/domain/memory/fact/reconcile/reconcile-due.ts'
import { reconcileFacts } from '../../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { recordFacts, retractFact } from '../../../../../../src/domain/memory/fact/record.ts'
import { getFactSourcePages } from '../../../../../../src/domain/memory/fact/source.ts'
import { undoReconciliation } from '../../../../../../src/domain/memory/fact/reconcile/undo-reconciliation.ts'
import type { Viewer } from '../../../../../../src/domain/kernel/view.ts'
import { backends } from '../../../../../support/backend.ts'
import { useWorld } from '../../../../../support/world.ts'

const day = (n: number) => new Date(Date.UTC(2026, 4, n))

describe.each(backends)('undoing a reconciliation on $name', (backend) => {
  const world = useWorld(backend)
  const all = async (viewer: Viewer) =>
    (await getFactPage(world.deps, viewer, { filter: { includeSuperseded: true } })).items
  const active = async (viewer: Viewer) =>
    (await getFactPage(world.deps, viewer, {})).items.map(({ predicate, object }) => `${predicate} ${object}`).sort()
  const record = async (viewer: Viewer, text: string, n: number, conversationId?: string) => {
    const [predicate, object] = text.split(' | ') as [string, string]
    const fact = { subject: 'ada', predicate, object, observedAt: day(n) }
    return (await recordFacts(world.deps, viewer, { conversationId, userId: 'ada', facts: [fact] })).facts[0]!
  }
  const reconcile = (viewer: Viewer) => reconcileAllDue(world.deps, { tenant: viewer.tenant, key: 'ada' })

  it('makes a contradicted fact active beside the other one, until a new source asserts the other one', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ada = tenant.as('ada')
    const conversationId = await tenant.newConversation('ada')
    const lisbon = await record(ada, 'lives in | Lisbon', 1, conversationId)
    const rome = await record(ada, 'lives in | Rome', 2, conversationId)
    await reconcile(ada)
    expect(await active(ada)).toEqual(['lives in Rome'])
    const before = (await tenant.lastSeq(conversationId))!
    const { fact, otherFacts } = await undoReconciliation(deps, ada, { factId: lisbon.id, reason: 'two homes' })
    expect(fact).toMatchObject({ id: lisbon.id, supersededAt: null, supersedeReason: null, restoreNote: 'two homes' })
    expect(fact.restoredAt).toEqual(expect.any(Date))
    expect(otherFacts).toEqual([])
    const { events } = await readEvents(deps, tenant.name, conversationId, { after: before, limit: 10 })
    expect(events).toMatchObject([{ type: 'FactsChanged', facts: [{ id: lisbon.id }] }])

    await reconcile(ada)
    expect(await reconcileFacts(deps, ada, { userId: 'ada' })).toEqual({ kept: 2, merged: 0, contradicted: 0 })
    expect(await active(ada)).toEqual(['lives in Lisbon', 'lives in Rome'])
    expect(await auditMemory(deps, ada)).toMatchObject({ openContradictions: 0 })
    expect(await undoReconciliation(deps, ada, { factId: lisbon.id })).toEqual({ fact, otherFacts: [] })

    await record(ada, 'lives in | Rome', 3, conversationId)
    await reconcile(ada)
    expect(await active(ada)).toEqual(['lives in Rome'])
    expect((await getFacts(deps, ada, [lisbon.id])).get(lisbon.id)).toMatchObject({
      supersededBy: rome.id,
      supersedeReason: 'CONTRADICTED',
    })
  })

  it('lets a new fact supersede the restored one and the other one', async () => {
    const ada = world.tenant().as('ada')
    const lisbon = await record(ada, 'lives in | Lisbon', 1)
    await record(ada, 'lives in | Rome', 2)
    await reconcile(ada)
    await undoReconciliation(world.deps, ada, { factId: lisbon.id })
    await record(ada, 'lives in | Oslo', 3)
    await reconcile(ada)
    expect(await active(ada)).toEqual(['lives in Oslo'])
  })

  it('undoes a merge: all duplicates are active again, and keep the sources that the merged fact got', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ada = tenant.as('ada')
    const [here, there] = [await tenant.newConversation('ada'), await tenant.newConversation('ada')]
    const oslo = await record(ada, 'lives in | Oslo', 1, here)
    const norway = await record(ada, 'resides in | Oslo, Norway', 2, here)
    await reconcile(ada)
    expect(await active(ada)).toEqual(['resides in Oslo, Norway'])
    await record(ada, 'resides in | Oslo, Norway', 3, there)
    await reconcile(ada)
    const merged = (await all(ada)).find(({ supersededAt }) => supersededAt === null)!
    const undone = await undoReconciliation(deps, ada, { factId: oslo.id, reason: 'another Oslo' })
    expect([undone.fact.id, undone.otherFacts.map(({ id }) => id)]).toEqual([oslo.id, [norway.id]])
    expect((await getFacts(deps, ada, [merged.id])).get(merged.id)).toMatchObject({
      supersedeReason: 'UNDONE',
      supersededBy: norway.id,
      supersedeNote: 'another Oslo',
    })
    const sources = await getFactSourcePages(deps, ada, [norway.id], {})
    expect(sources.get(norway.id)!.items.map(({ conversationId }) => conversationId)).toEqual([here, there])
    await reconcile(ada)
    expect(await reconcileFacts(deps, ada, { userId: 'ada' })).toMatchObject({ merged: 0, contradicted: 0 })
    expect(await active(ada)).toEqual(['lives in Oslo', 'resides in Oslo, Norway'])
    await expect(undoReconciliation(deps, ada, { factId: merged.id })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('fails if an equal fact is active, or if the fact was superseded for another reason, and for strangers', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ada = tenant.as('ada')
    const lisbon = await record(ada, 'lives in | Lisbon', 1)
    await record(ada, 'lives in | Rome', 2)
    await reconcile(ada)
    await record(ada, 'lives in | Lisbon', 1)
    const undo = (factId: string, viewer = ada) => undoReconciliation(deps, viewer, { factId })
    await expect(undo(lisbon.id)).rejects.toMatchObject({ code: 'CONFLICT' })
    const tea = await record(ada, 'likes | tea', 1)
    await retractFact(deps, ada, { factId: tea.id })
    await expect(undo(tea.id)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(undo('fact_unknown')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const conversationId = await tenant.newConversation('ada', 'bob')
    const secret = await tenant.append(conversationId, 'ada', 'psst', { audience: ['ada'] })
    const { facts } = await recordFacts(deps, ada, {
      facts: [{ subject: 'ada', predicate: 'fears', object: 'spiders', sourceTurnId: secret.id }],
    })
    await expect(undo(facts[0]!.id, tenant.as('bob'))).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
