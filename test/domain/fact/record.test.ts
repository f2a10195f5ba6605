// Facts that somebody supplies: written once, seen by those who see where they come from, and taken back with a reason.

import { describe, expect, it } from 'vitest'
import { getFactPage } from '../../../src/domain/fact/fact.ts'
import { recordFacts, retractFact } from '../../../src/domain/fact/record.ts'
import { supersedeTurn } from '../../../src/domain/turn/supersede.ts'
import { backends } from '../../support/backend.ts'
import { useWorld } from '../../support/world.ts'

const rome = { subject: 'Ada', predicate: 'lives in', object: 'Rome' }

describe.each(backends)('facts on $name', (backend) => {
  const world = useWorld(backend)

  it('are kept once, however they are spelt', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const room = await tenant.room({ actor: 'ada', displayName: 'Ada' })
    const first = await recordFacts(deps, tenant.as('ada'), { conversationId: room, facts: [rome] })
    expect(first.exactDuplicatesSkipped).toBe(0)
    expect(first.facts).toMatchObject([{ ...rome, userId: 'ada', confidence: 1, saidBy: 'HUMAN', conversationId: room }])
    const again = await recordFacts(deps, tenant.as('ada'), {
      conversationId: room, facts: [{ ...rome, object: ' ROME ' }, rome, { ...rome, object: 'Oslo' }],
    })
    expect(again).toMatchObject({ exactDuplicatesSkipped: 2, facts: [{ object: 'Oslo' }] })
    const page = await getFactPage(deps, tenant.as('ada'), { filter: { userId: 'ada' } })
    expect(page.items.map(({ object }) => object)).toEqual(['Oslo', 'Rome'])
  })

  it('of a private turn are seen by its audience alone', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const room = await tenant.room('ada', 'bob', 'carl')
    const turn = await tenant.say(room, 'ada', 'psst', { audience: ['bob'] })
    const fact = { subject: 'ada', predicate: 'fears', object: 'spiders', sourceTurnId: turn.id }
    const { facts } = await recordFacts(deps, tenant.as('bob'), { facts: [fact] })
    expect(facts).toHaveLength(1)
    const seenBy = async (actor: string) => (await getFactPage(deps, tenant.as(actor), {})).items.length
    expect([await seenBy('ada'), await seenBy('bob'), await seenBy('carl'), await seenBy('dora')]).toEqual([1, 1, 0, 0])
    await expect(retractFact(deps, tenant.as('carl'), { factId: facts[0]!.id })).rejects.toThrow('There is no fact')
  })

  it('that are taken back stay, with the reason', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const { facts: [fact] } = await recordFacts(deps, tenant.as('ada'), { facts: [rome] })
    const retracted = await retractFact(deps, tenant.as('ada'), { factId: fact!.id, reason: 'a slip' })
    expect(retracted).toMatchObject({ supersedeReason: 'RETRACTED', supersedeNote: 'a slip', supersededBy: null })
    expect((await getFactPage(deps, tenant.as('ada'), {})).items).toEqual([])
    const all = await getFactPage(deps, tenant.as('ada'), { filter: { includeSuperseded: true } })
    expect(all.items).toMatchObject([{ id: fact!.id }])
    expect((await recordFacts(deps, tenant.as('ada'), { facts: [rome] })).facts).toHaveLength(1)
  })

  it('do not outlive the version of the turn that they were taken from', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const room = await tenant.room('ada')
    const turn = await tenant.say(room, 'ada', 'I live in Rome')
    const { facts: [fact] } = await recordFacts(deps, tenant.as('ada'), { facts: [{ ...rome, sourceTurnId: turn.id }] })
    await supersedeTurn(deps, tenant.as('ada'), { turnId: turn.id, turn: { content: 'I live in Oslo', role: 'USER' } })
    const all = await getFactPage(deps, tenant.as('ada'), { filter: { includeSuperseded: true } })
    expect(all.items).toMatchObject([{ id: fact!.id, supersedeReason: 'UPDATE' }])
  })
})
