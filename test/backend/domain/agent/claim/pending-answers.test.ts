// The answers that a conversation waits for, from the turn that asks for them until they are committed or given up.

import { beforeEach, describe, expect, it } from 'vitest'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { updateParticipant } from '../../../../../src/domain/conversation/participant/update-participant.ts'
import { answerNext } from '../../../../../src/domain/agent/run/answer/answer.ts'
import { cancelRun } from '../../../../../src/domain/agent/run/cancel.ts'
import { getPendingAnswers } from '../../../../../src/domain/agent/claim/pending-answers.ts'
import { claimTurn, releaseClaim } from '../../../../../src/domain/agent/claim/claim.ts'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import { backends } from '../../../../support/backend.ts'
import { createScriptedProvider, gate } from '../../../../support/scripted-provider.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const provider = createScriptedProvider()
/** Holds the tool `look` until it is opened; replaced before each test. */
let looking = gate()

describe.each(backends)('the answers that a conversation waits for on $name', (backend) => {
  const world = useWorld(backend, {
    providers: { scripted: provider },
    tools: [
      { name: 'look', description: 'Looks.', execute: async () => (await looking.pause(), 'seen') },
      { name: 'pay', description: 'Pays.', requiresApproval: true, execute: () => 'paid' },
    ],
  })
  let tenant: Tenant
  let conversationId: string
  const settings = { respond: 'ALWAYS' as const, agent: { provider: 'scripted' } }
  beforeEach(async () => {
    provider.reset()
    looking = gate()
    tenant = world.tenant()
    conversationId = await tenant.newConversation(
      { actor: 'ann', kind: 'HUMAN' },
      { actor: 'bob', kind: 'HUMAN', respond: 'MENTIONED' },
      { actor: 'bot', ...settings },
    )
  })
  const say = (text: string, more: object = {}) => tenant.append(conversationId, 'ann', text, more)
  const answer = () =>
    answerNext(world.deps, { tenant: tenant.name, conversationId, actor: 'bot' }, new AbortController().signal)
  const pending = async (actor = 'ann') =>
    (await getPendingAnswers(world.deps, tenant.as(actor), [conversationId])).get(conversationId)!
  const actorsOf = async (actor?: string) => (await pending(actor)).map((each) => each.actor)

  it('are those of the participants that a turn woke up, until they have answered', async () => {
    expect(await pending()).toEqual([])
    const turn = await say('@bob and bot, what now?')
    expect(await pending()).toEqual([
      { conversationId, actor: 'bob', turnId: turn.id, runId: null },
      { conversationId, actor: 'bot', turnId: turn.id, runId: null },
    ])
    const { pause, open } = gate()
    provider.next(['Wait', pause, ' here.'])
    const running = answer()
    await expect
      .poll(async () => (await pending())[1])
      .toMatchObject({ turnId: turn.id, runId: expect.stringMatching(/^run_/) })
    open()
    await running
    expect(await actorsOf()).toEqual(['bob'])
    await tenant.append(conversationId, 'bob', 'Go.', { replyToId: turn.id })
    // The answer of bob wakes up the bot.
    expect(await actorsOf()).toEqual(['bot'])
  })

  it('include runs that no turn has caused, and that wait for a decision, until they are cancelled', async () => {
    await updateParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'bot', respond: 'NEVER' })
    provider.next([{ id: 'p1', name: 'pay', arguments: {} }])
    const input = { conversationId, actor: 'bot', turns: [{ role: 'USER' as const, content: 'Pay.' }] }
    const { run, turns } = await runTurn(world.deps, tenant.as('ann'), input)
    expect(run.state).toBe('WAITING_FOR_APPROVAL')
    expect(await pending()).toEqual([{ conversationId, actor: 'bot', turnId: turns[0]!.id, runId: run.id }])
    await cancelRun(world.deps, tenant.as('ann'), { runId: run.id })
    expect(await pending()).toEqual([])
  })

  it('name the run that has taken up a turn, too', async () => {
    const { pause, open } = gate()
    const first = await say('Go to Hull.')
    provider.next([{ id: 'l1', name: 'look', arguments: {} }], ['York', pause, '.'])
    const running = answer()
    await expect.poll(() => provider.asked.length).toBe(1)
    const second = await say('No, to York.')
    looking.open()
    await expect.poll(() => provider.asked.length).toBe(2)
    const [one, other] = await pending()
    expect([one!.turnId, other!.turnId]).toEqual([first.id, second.id])
    expect(one!.runId).toMatch(/^run_/)
    expect(other!.runId).toBe(one!.runId)
    open()
    await running
    expect(await pending()).toEqual([])
  })

  it('end when a participant dismisses the turn or leaves', async () => {
    const turn = await say('@bob?')
    const claimToken = 'token-of-bob-0123456'
    await claimTurn(world.deps, tenant.as('bob'), { turnId: turn.id, claimToken })
    await releaseClaim(world.deps, tenant.as('bob'), { turnId: turn.id, claimToken, dismiss: true })
    expect(await actorsOf()).toEqual(['bot'])
    await removeParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'bot' })
    expect(await pending()).toEqual([])
  })

  it('are hidden with the private turns that ask for them', async () => {
    const turn = await say('Psst', { audience: ['bot'] })
    expect(await actorsOf()).toEqual(['bot'])
    expect(await actorsOf('bob')).toEqual([])
    provider.next([{ id: 'p1', name: 'pay', arguments: {} }])
    await answer()
    expect(await pending()).toMatchObject([{ actor: 'bot', turnId: turn.id, runId: expect.stringMatching(/^run_/) }])
    expect(await actorsOf('bob')).toEqual([])
  })
})
