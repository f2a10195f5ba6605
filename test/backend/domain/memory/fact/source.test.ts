// The sources of a fact: listed in the order in which they were stored, to viewers who see them, and marked as imported
// if a client gave their time.

import type { Paging } from '../../../../../src/domain/kernel/page.ts'
import { describe, expect, it } from 'vitest'
import { addParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { extractFacts } from '../../../../../src/domain/memory/fact/extract/extract.ts'
import { getFacts } from '../../../../../src/domain/memory/fact/fact.ts'
import { reconcileFacts } from '../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { factSourceCursor, getFactSourcePages } from '../../../../../src/domain/memory/fact/source.ts'
import { InvalidInput } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const rome = { subject: 'Ada', predicate: 'lives in', object: 'Rome' }
const OLD = new Date('2023-05-08T13:56:00Z')

describe.each(backends)('the sources of a fact on $name', (backend) => {
  const world = useWorld(backend)

  const sourcesOf = async (tenant: Tenant, actor: string, factId: string, args: Paging = {}) =>
    (await getFactSourcePages(world.deps, tenant.as(actor), [factId], args)).get(factId)!

  it('are all turns and recordings that assert it, in the order in which they were stored', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [here, there] = [await tenant.newConversation('ada'), await tenant.newConversation('ada', 'bob')]
    const turn = await tenant.append(here, 'ada', 'I live in Rome')
    const record = (actor: string, facts: object[], conversationId?: string) =>
      recordFacts(deps, tenant.as(actor), { userId: 'ada', conversationId, facts: facts as [typeof rome] })
    const {
      facts: [fact],
    } = await record('ada', [{ ...rome, sourceTurnId: turn.id, confidence: 0.9 }], here)
    await record('bob', [{ ...rome, confidence: 0.5 }], there)
    await record('bob', [rome])

    const { items, hasNextPage } = await sourcesOf(tenant, 'ada', fact!.id)
    expect(items).toMatchObject([
      { conversationId: here, turnId: turn.id, assertedBy: 'ada', confidence: 0.9, observedAt: turn.createdAt },
      { conversationId: there, turnId: null, assertedBy: 'bob', confidence: 0.5, saidBy: 'HUMAN' },
      { conversationId: null, turnId: null, assertedBy: 'bob', confidence: 1 },
    ])
    expect(hasNextPage).toBe(false)
  })

  it('are listed page by page, without repetition', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const turns = []
    for (let n = 0; n < 5; n++) turns.push(await tenant.append(conversationId, 'ada', `I live in Rome ${n}`))
    // One statement stores all of them, some within one millisecond.
    const {
      facts: [fact],
    } = await recordFacts(deps, tenant.as('ada'), { facts: turns.map(({ id }) => ({ ...rome, sourceTurnId: id })) })
    const seen: (string | null)[] = []
    let after: string | null = null
    for (;;) {
      const page = await sourcesOf(tenant, 'ada', fact!.id, { first: 2, after })
      seen.push(...page.items.map(({ turnId }) => turnId))
      if (!page.hasNextPage) break
      after = factSourceCursor(page.items.at(-1)!)
    }
    expect(seen).toHaveLength(5)
    expect(new Set(seen)).toEqual(new Set(turns.map(({ id }) => id)))
    await expect(sourcesOf(tenant, 'ada', fact!.id, { after: 'x' })).rejects.toThrow(InvalidInput)
    await expect(sourcesOf(tenant, 'ada', fact!.id, { first: 201 })).rejects.toThrow(InvalidInput)
  })

  it('are omitted if the viewer does not see them, and then take no space on a page', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const early = await tenant.append(conversationId, 'ada', 'I live in Rome')
    await addParticipant(deps, tenant.as('ada'), {
      conversationId,
      participant: { actor: 'late', historyVisibility: 'SINCE_JOINED' },
    })
    const later = await tenant.append(conversationId, 'ada', 'I still live in Rome')
    const ids: string[] = []
    for (const { id } of [early, later]) {
      const { facts } = await recordFacts(deps, tenant.as('ada'), { facts: [{ ...rome, sourceTurnId: id }] })
      ids.push(...facts.map((fact) => fact.id))
    }
    const [factId] = ids
    const turnsOf = async (actor: string, args?: Paging) =>
      (await sourcesOf(tenant, actor, factId!, args)).items.map(({ turnId }) => turnId)
    expect(await turnsOf('ada')).toEqual([early.id, later.id])
    expect(await turnsOf('late')).toEqual([later.id])
    expect(await sourcesOf(tenant, 'late', factId!, { first: 1 })).toMatchObject({
      items: [{ turnId: later.id }],
      hasNextPage: false,
    })
    const other = world.tenant()
    expect((await sourcesOf(other, 'ada', factId!)).items).toEqual([])
  })

  it('are marked as imported if a client gave their time, and so is the fact', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation({ actor: 'ada', displayName: 'Ada' })
    const imported = await tenant.append(conversationId, 'ada', 'I live in Oslo', { createdAt: OLD })
    const live = await tenant.append(conversationId, 'ada', 'I live in Lima')
    const { facts } = await recordFacts(deps, tenant.as('ada'), {
      conversationId,
      facts: [
        { ...rome, object: 'Oslo', sourceTurnId: imported.id },
        { ...rome, object: 'Lima', sourceTurnId: live.id },
        { ...rome, observedAt: OLD },
        { ...rome, object: 'Bonn' },
      ],
    })
    const marks = async (id: string) => [
      (await getFacts(deps, tenant.as('ada'), [id])).get(id)!.importedAt,
      ...(await sourcesOf(tenant, 'ada', id)).items.map(({ importedAt }) => importedAt),
    ]
    const [oslo, lima, claimed, bonn] = facts.map(({ id }) => id)
    expect(await marks(oslo!)).toEqual([imported.importedAt, imported.importedAt])
    expect(await marks(claimed!)).toEqual([expect.any(Date), expect.any(Date)])
    expect([await marks(lima!), await marks(bonn!)]).toEqual([
      [null, null],
      [null, null],
    ])

    // A repetition with the server's time replaces the client's time; the source with the client's time stays marked.
    await recordFacts(deps, tenant.as('ada'), { userId: 'ada', facts: [rome] })
    expect(await marks(claimed!)).toEqual([null, expect.any(Date), null])
    await recordFacts(deps, tenant.as('ada'), { userId: 'ada', facts: [{ ...rome, observedAt: OLD }] })
    expect(await marks(claimed!)).toEqual([null, expect.any(Date), null])
  })

  it('are marked as imported if they are extracted from an imported turn, even after a reconciliation', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation({ actor: 'ada', displayName: 'Ada' })
    const turn = await tenant.append(conversationId, 'ada', 'I live in Oslo.', { createdAt: OLD })
    const {
      facts: [fact],
    } = await extractFacts(deps, tenant.as('ada'), { conversationId })
    expect(fact).toMatchObject({ observedAt: OLD, importedAt: turn.importedAt })
    const same = { subject: 'Ada', predicate: 'lives in', object: 'the city of Oslo' }
    await recordFacts(deps, tenant.as('ada'), { userId: 'ada', conversationId, facts: [{ ...same, observedAt: OLD }] })
    const { merged } = await reconcileFacts(deps, tenant.as('ada'), { userId: 'ada' })
    const { supersededBy } = (await getFacts(deps, tenant.as('ada'), [fact!.id])).get(fact!.id)!
    expect([merged, supersededBy]).toEqual([1, expect.any(String)])
    const replacement = (await getFacts(deps, tenant.as('ada'), [supersededBy!])).get(supersededBy!)!
    expect(replacement).toMatchObject({ observedAt: OLD, importedAt: expect.any(Date) })
  })
})
