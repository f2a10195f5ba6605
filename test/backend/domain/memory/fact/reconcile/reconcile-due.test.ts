// Reconciliation in the background: every change of a fact makes it due, passes compare the due facts with all others of
// their set, and after them no contradictory facts are active, whatever happened before.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Deps } from '../../../../../../src/domain/deps.ts'
import { deleteConversation } from '../../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { auditMemory } from '../../../../../../src/domain/memory/fact/audit.ts'
import { extractFacts } from '../../../../../../src/domain/memory/fact/extract/extract.ts'
import { getFactPage } from '../../../../../../src/domain/memory/fact/fact.ts'
import { reconcileAllDue, reconcileNext } from '../../../../../../src/domain/memory/fact/reconcile/reconcile-due.ts'
import { reconcileFacts } from '../../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { recordFacts, retractFact } from '../../../../../../src/domain/memory/fact/record.ts'
import { undoReconciliation } from '../../../../../../src/domain/memory/fact/reconcile/undo-reconciliation.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import { updateConversation } from '../../../../../../src/domain/conversation/conversation.ts'
import type { Viewer } from '../../../../../../src/domain/kernel/view.ts'
import { Conflict, InvalidInput } from '../../../../../../src/errors.ts'
import type { FactPair } from '../../../../../../src/providers/ports/fact-judge.ts'
import { readDueSubjects, readDueSubjectsAmong } from '../../../../../../src/store/sql/memory/fact/due-facts.ts'
import { backends } from '../../../../../support/backend.ts'
import { isLong } from '../../../../../support/long.ts'
import { useWorld } from '../../../../../support/world.ts'

const day = (n: number) => new Date(Date.UTC(2026, 4, n))
const CITIES = ['Rome', 'Oslo', 'Bern']

describe.each(backends)('due reconciliation on $name', (backend) => {
  const world = useWorld(backend)
  const active = async (viewer: Viewer) =>
    (await getFactPage(world.deps, viewer, {})).items
      .map(({ subject, predicate, object }) => `${subject} ${predicate} ${object}`)
      .sort()
  const statement = (text: string, n: number) => {
    const [subject, predicate, object] = text.split(' | ') as [string, string, string]
    return { subject, predicate, object, observedAt: day(n) }
  }

  it('compares a new fact with facts of the set beyond the newest ones that a call reads', async () => {
    const { deps } = world
    const ada = world.tenant().as('ada')
    await recordFacts(deps, ada, { userId: 'ada', facts: [statement('ada | lives in | Lisbon', 1)] })
    const others = Array.from({ length: 60 }, (_, n) => statement(`ada | owns | the book number ${n}`, 2))
    await recordFacts(deps, ada, { userId: 'ada', facts: others })
    await reconcileAllDue(deps, { tenant: ada.tenant, key: 'ada' })
    await recordFacts(deps, ada, { userId: 'ada', facts: [statement('ada | lives in | Rome', 3)] })
    expect(await reconcileNext(deps, { tenant: ada.tenant, key: 'ada' })).toBe(true)
    expect(await reconcileNext(deps, { tenant: ada.tenant, key: 'ada' })).toBe(false)
    const lives = await getFactPage(deps, ada, { filter: { userId: 'ada', predicate: 'lives in' } })
    expect(lives.items.map(({ object }) => object)).toEqual(['Rome'])
  })

  it('finds the facts about a user, about nobody in a conversation, and about nobody at all, in order', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ada = tenant.as('ada')
    const conversationId = await tenant.newConversation('ada')
    await recordFacts(deps, ada, { userId: 'ada', facts: [statement('ada | likes | tea', 1)] })
    await recordFacts(deps, ada, { conversationId, facts: [statement('the harbour | is | closed', 1)] })
    for (const [n, city] of ['Rome', 'Oslo'].entries()) {
      await recordFacts(deps, ada, { facts: [statement(`the office | located in | ${city}`, n + 1)] })
    }
    const keys = async () =>
      (await readDueSubjects(deps.db, { tenant: tenant.name, key: '' }, 10)).flatMap((due) =>
        due.tenant === tenant.name ? [due.key] : [],
      )
    expect(await keys()).toEqual(['ada', conversationId])
    const subject = { tenant: tenant.name, key: '' }
    expect(await readDueSubjectsAmong(deps.db, [subject, { ...subject, key: 'bob' }])).toEqual([subject])
    await reconcileAllDue(deps, subject)
    expect(await active(ada)).toContain('the office located in Oslo')
    expect(await active(ada)).not.toContain('the office located in Rome')
    for (const key of [conversationId, 'ada']) await reconcileAllDue(deps, { tenant: tenant.name, key })
    expect(await keys()).toEqual([])
  })

  it('does not mark a fact that changes while it is compared, and asks a model only about changed facts', async () => {
    const ada = world.tenant().as('ada')
    const subject = { tenant: ada.tenant, key: 'ada' }
    const record = (text: string, n: number) =>
      recordFacts(world.deps, ada, { userId: 'ada', facts: [statement(text, n)] })
    await record('ada | keeps bees on | the roof', 1)
    const asked: FactPair[][] = []
    let change = async () => {}
    const deps: Deps = {
      ...world.deps,
      factServices: {
        ...world.deps.factServices,
        judge: {
          name: 'test',
          close: async () => {},
          async judge(pairs) {
            asked.push([...pairs])
            await change()
            return pairs.map(({ a, b }) => ({ a: a.id, b: b.id, relation: 'SAME' as const }))
          },
        },
      },
    }
    await reconcileAllDue(deps, subject)
    await record('ada | keeps ants on | the desk', 1)
    await reconcileAllDue(deps, subject)
    await record('ada | keeps bees on | top of the house', 2)
    change = async () => {
      change = async () => {}
      await record('ada | keeps bees on | top of the house', 3)
    }
    expect(await reconcileNext(deps, subject)).toBe(true)
    await reconcileAllDue(deps, subject)
    expect(await active(ada)).toEqual(['ada keeps ants on the desk', 'ada keeps bees on top of the house'])
    // The pair whose fact changed is judged twice; the merged fact has no open pair.
    expect(asked.map((pairs) => pairs.length)).toEqual([1, 1])
  })

  const change = fc.record({
    is: fc.constantFrom(
      'record' as const,
      'record' as const,
      'tenant' as const,
      'extract' as const,
      'edit' as const,
      'retract' as const,
      'delete' as const,
      'undo' as const,
      'undo' as const,
      'move' as const,
      'pass' as const,
      'hand' as const,
    ),
    n: fc.nat(1_000),
    city: fc.constantFrom(...CITIES),
    day: fc.integer({ min: 1, max: 5 }),
    by: fc.constantFrom('ada', 'bob'),
  })

  it('leaves no contradictory facts active after any history of calls', { timeout: 300_000 }, async () => {
    const { deps } = world
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 6, maxLength: 14 }), async (history) => {
        const tenant = world.tenant()
        const ada = tenant.as('ada')
        const conversationIds = [await tenant.newConversation('ada', 'bob'), await tenant.newConversation('ada', 'bob')]
        const turns: string[] = []
        const stored = async (includeSuperseded: boolean) =>
          (await getFactPage(deps, ada, { filter: { includeSuperseded }, first: 100 })).items
        const pick = <T>(list: readonly T[], n: number) => list[n % list.length]
        for (const { is, n, city, day: observed, by } of history) {
          const conversationId = pick(conversationIds, n)!
          const viewer = tenant.as(by)
          const facts = [statement(`ada | lives in | ${city}`, observed)]
          if (is === 'record') await recordFacts(deps, viewer, { conversationId, userId: 'ada', facts })
          if (is === 'tenant') await recordFacts(deps, viewer, { userId: 'ada', facts })
          if (is === 'extract') {
            turns.push((await tenant.append(conversationId, 'ada', `I live in ${city}.`)).id)
            await extractFacts(deps, ada, { conversationId })
          }
          const turnId = turns.splice(is === 'edit' ? 0 : turns.length, 1)[0]
          if (turnId !== undefined) {
            const turn = { role: 'USER' as const, content: `I live in ${city}.` }
            turns.push((await supersedeTurn(deps, ada, { turnId, turn })).turn.id)
          }
          const fact = pick(await stored(is === 'undo'), n)
          if (fact && is === 'retract' && fact.assertedBy === 'ada') await retractFact(deps, ada, { factId: fact.id })
          if (fact && is === 'undo') {
            await undoReconciliation(deps, ada, { factId: fact.id }).catch((error) => {
              if (!(error instanceof InvalidInput || error instanceof Conflict)) throw error
            })
          }
          if (is === 'delete') {
            turns.length = 0
            await deleteConversation(deps, ada, conversationId)
            conversationIds[conversationIds.indexOf(conversationId)] = await tenant.newConversation('ada', 'bob')
          }
          if (is === 'move') {
            const visibility = n % 2 === 0 ? ('MEMBERS' as const) : ('OPEN' as const)
            await updateConversation(deps, ada, { conversationId, visibility })
          }
          if (is === 'pass') await reconcileNext(deps, { tenant: tenant.name, key: 'ada' })
          if (is === 'hand') await reconcileFacts(deps, ada, { userId: 'ada' })
        }
        await reconcileAllDue(deps, { tenant: tenant.name, key: 'ada' })
        expect(await readDueSubjectsAmong(deps.db, [{ tenant: tenant.name, key: 'ada' }])).toEqual([])
        expect(await reconcileFacts(deps, ada, { userId: 'ada' })).toMatchObject({ merged: 0, contradicted: 0 })
        // Facts by bob, which are trusted less, may contradict those of ada that were observed earlier.
        if (history.every(({ by }) => by === 'ada')) {
          expect(await auditMemory(deps, ada)).toMatchObject({ openContradictions: 0 })
        }
        for (const { supersedeReason, supersededBy } of await stored(true)) {
          if (supersedeReason === 'CONTRADICTED' || supersedeReason === 'DUPLICATED')
            expect(supersededBy).not.toBeNull()
        }
      }),
      { numRuns: isLong ? 60 : 4 },
    )
  })
})
