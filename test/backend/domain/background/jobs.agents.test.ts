// Agents that the server runs in the background answer each other's turns until the loop guard stops them.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { startJobs } from '../../../../src/domain/background/jobs.ts'
import { updateConversation } from '../../../../src/domain/conversation/conversation.ts'
import { GATHER_MS } from '../../../../src/domain/background/job/find-work.ts'
import { getJobs } from '../../../../src/domain/background/job/job.ts'
import { backends } from '../../../support/backend.ts'
import { fakeClock } from '../../../support/fake-clock.ts'
import { read } from '../../../support/reading.ts'
import { createScriptedProvider } from '../../../support/scripted-provider.ts'
import { useWorld } from '../../../support/world.ts'

const provider = createScriptedProvider()

describe.each(backends)('agents in the background on $name', (backend) => {
  const clock = fakeClock()
  const world = useWorld(backend, { providers: { scripted: provider } }, { clock })
  const stops: (() => Promise<void>)[] = []
  afterEach(async () => void (await Promise.all(stops.splice(0).map((stop) => stop()))))

  it('answer each other until the loop guard stops them, in two processes', async () => {
    const tenant = world.tenant()
    const settings = { respond: 'ADDRESSED' as const, agent: { provider: 'scripted' } }
    const conversationId = await tenant.newConversation('ann', { actor: 'a', ...settings }, { actor: 'b', ...settings })
    await updateConversation(world.deps, tenant.as('ann'), { conversationId, maxAgentTurns: 3 })
    const reading = await read(world.deps, tenant.as('ann'), { conversationId, afterSeq: 0 })
    provider.asked.length = 0
    provider.next(['@b, what next?'], ['Ask @a.'], ['No, you, @b.'], ['After you, @a.'])
    stops.push(await startJobs(world.deps), await startJobs(world.deps))
    await tenant.append(conversationId, 'ann', '@a go')
    await vi.waitFor(async () => {
      await clock.advance(GATHER_MS)
      expect(reading.events.map(({ type }) => type)).toContain('WakeUpsStopped')
    })
    const committed = reading.events.flatMap((event) =>
      event.type === 'TurnCommitted' ? [`${event.turn.actor}: ${event.turn.text}`] : [],
    )
    expect(committed).toEqual(['a: @b, what next?', 'b: Ask @a.', 'a: No, you, @b.', 'b: After you, @a.'])
    expect(provider.asked).toHaveLength(4)
    const jobs = await getJobs(world.deps, tenant.as('ann'), { first: 20 })
    expect(jobs.items.filter(({ name }) => name === 'RUN_AGENT').map((job) => job.conversationId)).toContain(
      conversationId,
    )
    const others = await getJobs(world.deps, world.tenant().as('ann'), { first: 20 })
    expect(others.items).toEqual([])
    await reading.stop()
  })
})
