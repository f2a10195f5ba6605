// Summaries of a fixed number of turns of any length, written before the conversation's policy applies.

import { beforeEach, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../../../../src/domain/deps.ts'
import { compactDue } from '../../../../../src/domain/memory/summary/compact.ts'
import { appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import { backends } from '../../../../support/backend.ts'
import { createFakeSummarizer, expectCovering, withSummarizer } from '../../../../support/covering.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

describe.each(backends)('fixed-size summaries on $name', (backend) => {
  const world = useWorld(backend)

  let tenant: Tenant
  beforeEach(() => {
    tenant = world.tenant()
  })

  const withThreshold = (threadSummaryEvery: number): Deps => ({
    ...withSummarizer(world.deps, createFakeSummarizer()),
    automatic: { ...world.deps.automatic, threadSummaryEvery },
  })
  const newConversation = async (compaction: object = {}) => {
    const viewer = tenant.as('ada')
    const {
      conversation: { id },
    } = await createConversation(world.deps, viewer, { compaction })
    const append = (...turns: (string | object[])[]) =>
      appendTurns(world.deps, viewer, {
        conversationId: id,
        turns: turns.map((content) =>
          typeof content === 'string'
            ? { role: 'USER' as const, content }
            : { role: 'ASSISTANT' as const, parts: content },
        ),
      })
    return { id, append }
  }
  const many = (count: number, text = 'a turn') => Array.from({ length: count }, (_, n) => `${text} ${n}`)
  /** The number of turns in each summary, in order; and the number of turns that no summary covers. */
  const outcome = async (conversationId: string) => {
    const all = await world.deps.db
      .of(SYSTEM)
      .summary.findMany({ where: { conversationId, level: 0 }, orderBy: { seq: 'asc' } })
    return {
      turnsPerSummary: all.map(({ turns }) => turns),
      uncovered: (await expectCovering(world.deps, conversationId)).uncovered.length,
    }
  }

  it('each add the configured number of turns, including the newest, before the policy applies', async () => {
    const { id, append } = await newConversation()
    await append(...many(9))
    expect(await compactDue(withThreshold(10), tenant.name, id)).toBe(0)
    await append(...many(54))
    expect(await compactDue(withThreshold(10), tenant.name, id)).toBe(6)
    expect(await outcome(id)).toEqual({ turnsPerSummary: [10, 20, 30, 40, 50, 60], uncovered: 3 })
  })

  it('add that number of turns, regardless of their length', async () => {
    const { id, append } = await newConversation({ triggerTokens: 10_000_000 })
    await append(...many(10, 'word '.repeat(4_000)))
    expect(await compactDue(withThreshold(10), tenant.name, id)).toBe(1)
    expect(await outcome(id)).toEqual({ turnsPerSummary: [10], uncovered: 0 })
  })

  it('extend to the result of a tool call, and wait for a pending result', async () => {
    const { id, append } = await newConversation()
    const call = { toolCall: { callId: 'c1', name: 'look', arguments: {} } }
    await append(...many(9), [call])
    expect(await compactDue(withThreshold(10), tenant.name, id)).toBe(0)
    await append([{ toolResult: { callId: 'c1', name: 'look', result: 'found' } }], ...many(3))
    expect(await compactDue(withThreshold(10), tenant.name, id)).toBe(1)
    expect(await outcome(id)).toEqual({ turnsPerSummary: [11], uncovered: 3 })
  })

  it('leave the rest to the policy, and skip conversations that disable summaries', async () => {
    const { id, append } = await newConversation({ triggerTurns: 12 })
    const call = { toolCall: { callId: 'c1', name: 'look', arguments: {} } }
    await append(...many(8), [call], ...many(4))
    expect(await compactDue(withThreshold(10), tenant.name, id)).toBe(1)
    expect(await outcome(id)).toEqual({ turnsPerSummary: [6], uncovered: 7 })
    const quiet = await newConversation({ strategy: 'NEVER' })
    await quiet.append(...many(20))
    expect(await compactDue(withThreshold(10), tenant.name, quiet.id)).toBe(0)
  })

  it('cover only their own turns if the policy is hierarchical', async () => {
    const { id, append } = await newConversation({ strategy: 'HIERARCHICAL' })
    await append(...many(25))
    expect(await compactDue(withThreshold(10), tenant.name, id)).toBe(2)
    expect(await outcome(id)).toEqual({ turnsPerSummary: [10, 10], uncovered: 5 })
  })
})
