// What turns that wake up an agent while it runs do: the model gets them as what to answer, each turn is answered once,
// and every mode is tested while the model writes, while a tool is executed, and while an approval is pending.

import { beforeEach, describe, expect, it } from 'vitest'
import { answerNext } from '../../../../../../src/domain/agent/run/answer/answer.ts'
import { cancelRun } from '../../../../../../src/domain/agent/run/cancel.ts'
import type { STEERING } from '../../../../../../src/domain/agent/definition/agent-settings.ts'
import { getRunPages } from '../../../../../../src/domain/agent/run/run.ts'
import { resolveApproval } from '../../../../../../src/domain/agent/run/approval/resolve-approval.ts'
import { continueDecidedRuns } from '../../../../../../src/domain/agent/run/approval/continue-decided.ts'
import { history } from '../../../../../../src/domain/turn/history.ts'
import { readDueAgentsAmong } from '../../../../../../src/store/sql/agent/wake-up/due-wake-ups.ts'
import { backends } from '../../../../../support/backend.ts'
import { createScriptedProvider, gate } from '../../../../../support/scripted-provider.ts'
import { sql } from '../../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'

type Steering = (typeof STEERING)[number]

const provider = createScriptedProvider()
/** The text of a part of a prompt. */
function textOf(part: Record<string, any>): string {
  if (part.type === 'text') return part.text
  if (part.type === 'tool-call') return `calls ${part.name}`
  return part.type === 'tool-result' ? part.result : ''
}

/** Holds the tool `look` until it is opened; replaced before each test. */
let looking = gate()
const look = { id: 'c1', name: 'look', arguments: {} }
const pay = { id: 'p1', name: 'pay', arguments: {} }

describe.each(backends)('turns that wake up a running agent on $name', (backend) => {
  const world = useWorld(backend, {
    providers: { scripted: provider },
    tools: [
      { name: 'look', description: 'Looks.', execute: async () => (await looking.pause(), 'seen') },
      { name: 'pay', description: 'Pays.', requiresApproval: true, execute: () => 'paid' },
    ],
  })
  let tenant: Tenant
  let conversationId: string
  const signal = new AbortController().signal
  beforeEach(() => {
    provider.reset()
    looking = gate()
  })

  async function start(steering?: Steering) {
    tenant = world.tenant()
    const bot = { actor: 'bot', respond: 'ALWAYS' as const, agent: { provider: 'scripted', steering } }
    conversationId = await tenant.newConversation({ actor: 'ann', kind: 'HUMAN' }, { actor: 'bob', kind: 'HUMAN' }, bot)
    return tenant.append(conversationId, 'ann', 'Go to Hull.')
  }
  const say = (text: string, more: object = {}, actor = 'ann') => tenant.append(conversationId, actor, text, more)
  const answer = () => answerNext(world.deps, { tenant: tenant.name, conversationId, actor: 'bot' }, signal)
  async function asked(count: number) {
    await expect.poll(() => provider.asked.length).toBe(count)
  }
  /** The messages of a call of the provider, as role and text. */
  const prompt = (index: number) =>
    provider.asked[index]!.messages.filter(({ role }) => role !== 'system').map(
      ({ role, content }) => `${role}: ${content.map(textOf).join('')}`,
    )
  const turns = async () => (await history(world.deps, tenant.as('ann'), [conversationId], {})).get(conversationId)!
  const texts = async () =>
    (await turns()).map(({ actor, text, status }) => `${actor}: ${text}${status === 'ABORTED' ? ' (aborted)' : ''}`)
  const unanswered = async () => {
    const { rows } = await sql(world.deps.pool).query<{ text: string }>(
      `SELECT t.text FROM wake_up w JOIN turn t ON t.id = w.turn_id
       WHERE w.conversation_id = $1 AND w.answered_at IS NULL AND w.dropped_reason IS NULL ORDER BY w.position`,
      [conversationId],
    )
    return rows.map(({ text }) => text)
  }
  const runs = async () =>
    (await getRunPages(world.deps, tenant.as('ann'), [conversationId], {})).get(conversationId)!.items
  const due = () => readDueAgentsAmong(world.deps.db, [conversationId])

  it('are what the next round answers by default, and are answered by its reply', async () => {
    await start()
    provider.next([look], ['Going to York.'])
    const running = answer()
    await asked(1)
    await say('No, to York.')
    looking.open()
    await running
    expect(prompt(1)).toEqual(['user: Go to Hull.', 'assistant: calls look', 'tool: seen', 'user: No, to York.'])
    expect(await unanswered()).toEqual([])
    expect(await due()).toEqual([])
    expect((await texts()).at(-1)).toBe('bot: Going to York.')
    expect((await turns()).map(({ text }) => text)).toEqual(['Go to Hull.', '', 'No, to York.', '', 'Going to York.'])
  })

  it('that arrive during the last reply are answered after it', async () => {
    await start()
    const { pause, open } = gate()
    provider.next(['Going ', pause, 'to Hull.'], ['Going to York.'])
    const running = answer()
    await asked(1)
    await say('No, to York.')
    open()
    await running
    expect(await unanswered()).toEqual(['No, to York.'])
    await answer()
    expect(await texts()).toEqual([
      'ann: Go to Hull.',
      'bot: Going to Hull.',
      'ann: No, to York.',
      'bot: Going to York.',
    ])
    expect(await unanswered()).toEqual([])
  })

  it('wait until the run has ended in the mode QUEUE, and the prompt does not tell the model to ignore them', async () => {
    await start('QUEUE')
    provider.next([look], ['Going to Hull.'], ['Going to York.'])
    const running = answer()
    await asked(1)
    await say('No, to York.')
    looking.open()
    await running
    expect(prompt(1).at(-1)).toBe('user: You are answering this message of ann:\n\nGo to Hull.')
    expect(prompt(1)).toContain('user: No, to York.')
    expect(await unanswered()).toEqual(['No, to York.'])
    await answer()
    expect((await texts()).at(-1)).toBe('bot: Going to York.')
    expect(await unanswered()).toEqual([])
  })

  it('interrupt the reply in the mode INTERRUPT, which keeps its text; the same run then answers both', async () => {
    const first = await start('INTERRUPT')
    const never = gate()
    provider.next(['Going to H', never.pause], ['Going to York.'])
    const running = answer()
    await expect.poll(async () => (await texts()).at(-1)).toBe('bot: Going to H')
    await say('No, to York.')
    await running
    expect(await texts()).toEqual([
      'ann: Go to Hull.',
      'bot: Going to H (aborted)',
      'ann: No, to York.',
      'bot: Going to York.',
    ])
    expect((await turns())[1]).toMatchObject({ abortReason: 'A newer message interrupted the answer.' })
    expect((await turns())[3]).toMatchObject({ replyToId: first.id })
    expect(prompt(1).at(-1)).toBe('user: No, to York.')
    expect(await unanswered()).toEqual([])
    expect((await runs()).map(({ state, round }) => [state, round])).toEqual([['COMPLETED', 2]])
  })

  it('do not interrupt a tool in the mode INTERRUPT: its result is kept, and the next round answers both', async () => {
    await start('INTERRUPT')
    provider.next([look], ['Going to York.'])
    const running = answer()
    await asked(1)
    await expect.poll(async () => (await turns()).at(-1)).toMatchObject({ actor: 'bot', status: 'COMMITTED' })
    await say('No, to York.')
    looking.open()
    await running
    expect(prompt(1)).toEqual(['user: Go to Hull.', 'assistant: calls look', 'tool: seen', 'user: No, to York.'])
    expect(await unanswered()).toEqual([])
  })

  it('interrupt as often as they arrive', async () => {
    await start('INTERRUPT')
    const never = gate()
    provider.next(['One', never.pause], ['Two', never.pause], ['Three.'])
    const running = answer()
    await expect.poll(async () => (await texts()).at(-1)).toBe('bot: One')
    await say('No, to York.')
    await expect.poll(async () => (await texts()).at(-1)).toBe('bot: Two')
    await say('Stop, to Leeds.', {}, 'bob')
    await running
    expect((await texts()).slice(-2)).toEqual(['bob: Stop, to Leeds.', 'bot: Three.'])
    expect(await unanswered()).toEqual([])
  })

  it.each<Steering>(['NEXT_ROUND', 'INTERRUPT'])(
    'in private are answered in private, after the run (%s)',
    async (steering) => {
      await start(steering)
      provider.next([look], ['Going to Hull.'], ['Hush.'])
      const running = answer()
      await asked(1)
      await say('Between us: to York.', { audience: ['bot'] })
      looking.open()
      await running
      expect(JSON.stringify(provider.asked[1])).not.toContain('Between us')
      await answer()
      expect((await turns()).at(-1)).toMatchObject({ text: 'Hush.', audience: ['bot', 'ann'] })
      expect(await unanswered()).toEqual([])
    },
  )

  it('that a run has taken up are taken up by the next one after a restart', async () => {
    await start()
    const { pause } = gate()
    provider.next([look], [pause], ['Going to York.'])
    const running = answer().catch(() => {})
    await asked(1)
    await say('No, to York.')
    looking.open()
    await asked(2)
    await world.deps.runs.stop((await runs())[0]!.id, 'SHUTDOWN')
    await running
    await answer()
    // The aborted reply of the first run is newer than the turn.
    expect(prompt(2).at(-1)).toBe('user: You are answering this message of ann:\n\nNo, to York.')
    expect((await texts()).at(-1)).toBe('bot: Going to York.')
    expect(await unanswered()).toEqual([])
  })

  it('that a run has taken up wait for its approval, and are answered by the reply after the decision', async () => {
    await start()
    provider.next([look], [pay], ['Paid for York.'])
    const running = answer()
    await asked(1)
    await say('No, to York.')
    looking.open()
    await running
    expect(await unanswered()).toEqual(['Go to Hull.', 'No, to York.'])
    expect(await due()).toEqual([])
    const where = { conversationId }
    const { id: approvalId } = (await world.deps.db.of(tenant.name).approval.findFirst({ where }))!
    await resolveApproval(world.deps, tenant.as('owner'), { approvalId, decision: 'APPROVE' })
    await continueDecidedRuns(world.deps, tenant.name, conversationId)
    await expect.poll(async () => (await texts()).at(-1)).toBe('bot: Paid for York.')
    await expect.poll(unanswered).toEqual([])
  })

  it('that arrive while an approval is pending are answered at once', async () => {
    await start()
    provider.next([pay], ['It waits.'])
    await answer()
    await say('What are you waiting for?')
    await answer()
    expect((await texts()).at(-1)).toBe('bot: It waits.')
    expect(await unanswered()).toEqual(['Go to Hull.'])
  })

  it('end with the run if it is cancelled', async () => {
    await start()
    const { pause } = gate()
    provider.next([look], [pause])
    const running = answer()
    await asked(1)
    await say('No, to York.')
    looking.open()
    await asked(2)
    const [run] = await runs()
    await cancelRun(world.deps, tenant.as('ann'), { runId: run!.id })
    await running
    expect((await unanswered()).filter((text) => text === 'No, to York.')).toEqual([])
  })
})
