// Automatic compaction on real databases: after an append, on a sweep, and after a failure.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { compactDue } from '../../../../src/domain/memory/summary/compact.ts'
import { startJobs } from '../../../../src/domain/background/jobs.ts'
import { appendTurns } from '../../../../src/domain/turn/append/append.ts'
import { backends } from '../../../support/backend.ts'
import { createFakeSummarizer, expectCovering, withSummarizer } from '../../../support/covering.ts'
import { read } from '../../../support/reading.ts'
import { useWorld } from '../../../support/world.ts'

describe.each(backends)('automatic compaction on $name', (backend) => {
  const world = useWorld(backend)
  let stop = async () => {}
  afterEach(() => stop())

  const fill = async (count: number) => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const append = (more: number) =>
      appendTurns(world.deps, tenant.as('ada'), {
        conversationId,
        turns: Array.from({ length: more }, (_, n) => ({ role: 'USER' as const, content: `turn ${n}` })),
      })
    await append(count)
    return { tenant, conversationId, append }
  }
  const untilCovered = (conversationId: string, turns: number) =>
    vi.waitFor(
      async () => {
        expect((await expectCovering(world.deps, conversationId)).covered).toHaveLength(turns)
      },
      { interval: 50 },
    )

  it('compacts a conversation when the jobs start or when a turn is appended, and notifies subscribers', async () => {
    const existing = await fill(60)
    const growing = await fill(50)
    const reading = await read(world.deps, growing.tenant.as('ada'), { conversationId: growing.conversationId })
    stop = await startJobs(withSummarizer(world.deps, createFakeSummarizer()))
    await untilCovered(existing.conversationId, 30)
    await growing.append(1)
    await untilCovered(growing.conversationId, 25)
    await reading.until('the summary', ({ events }) => events.some(({ type }) => type === 'SummaryWritten'))
    expect((await expectCovering(world.deps, existing.conversationId)).covered).toHaveLength(30)
    await reading.stop()
  })

  it('writes nothing if the summarizer fails, and leaves the work to the next process', async () => {
    const { tenant, conversationId } = await fill(60)
    const model = createFakeSummarizer()
    let resolveCalled = () => {}
    const called = new Promise<void>((resolve) => (resolveCalled = resolve))
    model.before = async () => {
      resolveCalled()
      throw new Error('crash')
    }
    stop = await startJobs(withSummarizer({ ...world.deps, log: { ...world.deps.log, warn: () => {} } }, model))
    await called
    await stop()
    expect((await expectCovering(world.deps, conversationId)).covered).toEqual([])
    expect(await compactDue(withSummarizer(world.deps, createFakeSummarizer()), tenant.name, conversationId)).toBe(1)
    await untilCovered(conversationId, 30)
  })
})
