// The memory audit, compared with figures that were counted by hand.

import { describe, expect, it } from 'vitest'
import { auditMemory } from '../../../../../src/domain/memory/fact/audit.ts'
import { recordFacts, retractFact } from '../../../../../src/domain/memory/fact/record.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

const at = (day: number) => new Date(Date.UTC(2026, 0, day))
const fact = (subject: string, predicate: string, object: string, day = 1) => ({
  subject,
  predicate,
  object,
  observedAt: at(day),
})

describe.each(backends)('the memory audit on $name', (backend) => {
  const world = useWorld(backend)

  it('has null rates if there are no facts', async () => {
    expect(await auditMemory(world.deps, world.tenant().as('ada'))).toEqual({
      activeFacts: 0,
      supersededFacts: 0,
      exactDuplicatesSkipped: 0,
      exactDuplicateRate: null,
      nearDuplicateRate: null,
      openContradictions: 0,
      neverRecalledRate: null,
      waitingJobs: 0,
      queueAgeSeconds: null,
    })
  })

  it('counts duplicates, contradictions, and facts that recall never returned', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob', 'carl', { actor: 'bot', kind: 'AGENT' })
    const record = (actor: string, facts: object[]) =>
      recordFacts(deps, tenant.as(actor), { conversationId, facts: facts as never })

    // Two near duplicates and a third fact that contradicts both; none is reconciled yet.
    await record('ada', [
      fact('ada', 'lives in', 'Oslo', 3),
      fact('ada', 'lives in', 'Oslo, Norway', 4),
      fact('ada', 'lives in', 'Rome', 2),
      fact('ada', 'has', 'a boat'),
    ])
    // A dispute: the agent's fact is newer, but the person's is more trusted.
    await record('bob', [fact('bob', 'works at', 'Globex', 1), fact('bob', 'likes', 'tea', 1)])
    await record('bot', [fact('bob', 'works at', 'Acme', 5)])
    // A statement about another user is a different fact.
    await record('carl', [fact('carl', 'lives in', 'Oslo', 3)])
    // These three facts are exact duplicates.
    await record('ada', [fact('ada', 'has', 'a boat'), fact('ada', 'has', 'a boat'), fact('bob', 'likes', 'TEA')])
    // Facts about no user are counted, but not compared.
    const {
      facts: [retracted, recalled],
    } = await record('ada', [fact('the door', 'is', 'open'), fact('the door', 'is', 'red')])
    await retractFact(deps, tenant.as('ada'), { factId: retracted!.id })
    await deps.db.of(SYSTEM).fact.update({ where: { id: recalled!.id }, data: { recalledAt: at(9) } })

    const expected = {
      activeFacts: 9,
      supersededFacts: 1,
      exactDuplicatesSkipped: 3,
      exactDuplicateRate: 3 / 13,
      nearDuplicateRate: 2 / 8,
      openContradictions: 2,
      neverRecalledRate: 8 / 9,
      waitingJobs: 0,
      queueAgeSeconds: null,
    }
    expect(await auditMemory(deps, tenant.as('ada'))).toEqual(expected)

    // Private facts change the figures of their audience only.
    const { id } = await tenant.append(conversationId, 'bob', 'psst', { audience: ['carl'] })
    const secret = { ...fact('bob', 'fears', 'spiders'), sourceTurnId: id }
    for (let n = 0; n < 3; n++) await record('bob', [secret])
    await record('bob', [{ ...secret, object: 'the spiders' }])
    expect(await auditMemory(deps, tenant.as('ada'))).toEqual(expected)
    expect(await auditMemory(deps, tenant.as('carl'))).toEqual({
      ...expected,
      activeFacts: 11,
      exactDuplicatesSkipped: 5,
      exactDuplicateRate: 5 / 17,
      nearDuplicateRate: 4 / 10,
      neverRecalledRate: 10 / 11,
    })
  })
})
