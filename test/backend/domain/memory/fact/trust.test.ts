// A person's statement about themselves outranks other actors' statements about that person, in facts, profiles and
// contexts.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import { extractFacts } from '../../../../../src/domain/memory/fact/extract/extract.ts'
import { getFactPage } from '../../../../../src/domain/memory/fact/fact.ts'
import { reconcileFacts } from '../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { retractFact } from '../../../../../src/domain/memory/fact/record.ts'
import { isStated, trustOf, type Assertion } from '../../../../../src/domain/memory/fact/trust.ts'
import { refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import { NotAllowed } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'

const assertion = (more: Partial<Assertion> = {}): Assertion => ({
  userId: 'ada',
  saidBy: 'HUMAN',
  assertedBy: 'ada',
  ...more,
})

describe('the trust of a fact', () => {
  it('is greatest for a person about themselves, then for people, agents and tools', () => {
    const order = [
      assertion({ saidBy: 'TOOL' }),
      assertion({ saidBy: 'AGENT', assertedBy: 'bot' }),
      assertion({ assertedBy: 'eve' }),
      assertion(),
    ].map(trustOf)
    expect(order).toEqual([...order].sort((a, b) => a - b))
    expect(new Set(order).size).toBe(4)
    expect(trustOf(assertion({ assertedBy: null }))).toBe(trustOf(assertion({ assertedBy: 'eve' })))
  })

  it('lets a fact be stated as true only if its user asserts it, or a person if it has no user', () => {
    expect(isStated(assertion())).toBe(true)
    expect(isStated(assertion({ userId: null, assertedBy: 'eve' }))).toBe(true)
    expect(isStated(assertion({ assertedBy: 'eve' }))).toBe(false)
    expect(isStated(assertion({ userId: null, saidBy: 'AGENT' }))).toBe(false)
  })
})

describe.each(backends)('a claim by a stranger on $name', (backend) => {
  const world = useWorld(backend)

  it("neither supersedes nor hides the person's own statement, and names its author", async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ada = { actor: 'ada', displayName: 'Ada' }
    const own = await tenant.newConversation(ada)
    await tenant.append(own, 'ada', 'I live in Oslo.')
    await extractFacts(deps, tenant.as('ada'), { conversationId: own })

    // The stranger opens a conversation, lists Ada as a participant, and appends later, repeated turns about her.
    const trap = await tenant.newConversation('eve', ada)
    for (const text of ['Ada lives in Moscow.', 'Ada does not live in Oslo.', 'Ada lives in Moscow.']) {
      await tenant.append(trap, 'eve', text)
    }
    await extractFacts(deps, tenant.as('eve'), { conversationId: trap })
    for (const actor of ['eve', 'ada']) {
      expect(await reconcileFacts(deps, tenant.as(actor), { userId: 'ada' })).toMatchObject({ contradicted: 0 })
    }

    const { items } = await getFactPage(deps, tenant.as('ada'), { filter: { userId: 'ada', includeSuperseded: true } })
    const ofOslo = items.find(({ object, assertedBy }) => object === 'Oslo' && assertedBy === 'ada')
    expect(ofOslo).toMatchObject({ predicate: 'lives in', supersedeReason: null })
    expect(items.find(({ object }) => object === 'Moscow')).toMatchObject({
      userId: 'ada',
      assertedBy: 'eve',
      supersedeReason: null,
    })
    await expect(retractFact(deps, tenant.as('eve'), { factId: ofOslo!.id })).rejects.toThrow(NotAllowed)

    const { content } = await refreshUserProfile(deps, tenant.as('ada'), { userId: 'ada' })
    const lines = content.split('\n')
    expect(lines).toContain('- lives in Oslo')
    expect(lines).toContain('- Claimed by "eve": "lives in Moscow"')
    expect(lines.filter((line) => line.includes('Moscow'))).toHaveLength(1)

    await tenant.append(own, 'ada', 'Where do I live?')
    for (const conversationId of [own, trap]) {
      const context = await buildContext(deps, tenant.as('ada'), {
        conversationId,
        tokenBudget: 4_000,
        includeFacts: true,
      })
      const facts = context.messages.flatMap(({ kind, content }) => (kind === 'FACT' ? content.split('\n') : []))
      // A fact is not repeated if its source turn is in the context.
      expect(facts.filter((line) => line.startsWith('- Ada lives in Oslo ('))).toHaveLength(
        conversationId === own ? 0 : 1,
      )
      expect(facts.filter((line) => line.includes('Moscow'))).toEqual(
        conversationId === trap
          ? []
          : [expect.stringMatching(/^- claimed by "eve", not confirmed: "Ada lives in Moscow" \(/)],
      )
    }
  })
})
