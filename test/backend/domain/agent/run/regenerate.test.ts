// Runs that regenerate a reply: the version that supersedes it, the prompt, which ends before it, and the totals.

import { beforeEach, describe, expect, it } from 'vitest'
import { cancelRun } from '../../../../../src/domain/agent/run/cancel.ts'
import { getProviderCalls, getRuns } from '../../../../../src/domain/agent/run/run.ts'
import { runTurn, type RunTurnInput } from '../../../../../src/domain/agent/run/start.ts'
import { getConversations } from '../../../../../src/domain/conversation/conversation.ts'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { getContexts } from '../../../../../src/domain/memory/context/stored.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { compact } from '../../../../../src/domain/memory/summary/compact.ts'
import { partsOf } from '../../../../../src/domain/turn/content.ts'
import { history, pageOfTurns } from '../../../../../src/domain/turn/history.ts'
import { pinTurn } from '../../../../../src/domain/turn/pin.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { getTurns, type Turn } from '../../../../../src/domain/turn/turn.ts'
import { backends } from '../../../../support/backend.ts'
import { createScriptedProvider, forever, gate } from '../../../../support/scripted-provider.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const provider = createScriptedProvider()
const call = (id: string, name: string, args: unknown = {}) => ({ id, name, arguments: args })
const lookUp = { name: 'look_up', description: 'Looks something up.', schema: { type: 'object' } }

describe.each(backends)('regenerating a reply on $name', (backend) => {
  const world = useWorld(backend, {
    providers: { scripted: provider },
    tools: [{ name: 'now', description: 'Tells the time.', execute: () => 'noon' }],
  })
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    tenant = world.tenant()
    const bot = { actor: 'bot', agent: { provider: 'scripted' } }
    conversationId = await tenant.newConversation({ actor: 'ada', kind: 'HUMAN' }, bot)
    provider.reset()
  })

  const run = (more: Partial<RunTurnInput>) => runTurn(world.deps, tenant.as('ada'), { conversationId, ...more })
  /** Asks the agent, and returns its reply. */
  async function ask(content: string, ...reply: Parameters<typeof provider.next>) {
    provider.next(...reply)
    const { run: asked } = await run({ actor: 'bot', turns: [{ role: 'USER', content }] })
    return turnOf((await callsOf(asked.id))[0]!.turnId)
  }
  const regenerate = async (turn: Turn, more: Partial<RunTurnInput> = {}) =>
    (await run({ supersedes: turn.id, ...more })).run
  const callsOf = async (id: string) => (await getProviderCalls(world.deps, tenant.as('ada'), [id])).get(id)!
  const turnOf = async (id: string) => (await getTurns(world.deps, tenant.as('ada'), [id])).get(id)!
  const turns = async () => (await history(world.deps, tenant.as('ada'), [conversationId], {})).get(conversationId)!
  const texts = async () => (await turns()).map(({ text }) => text)
  const versions = async () =>
    (await pageOfTurns(world.deps, tenant.as('ada'), [conversationId], { first: 50, includeSuperseded: true })).get(
      conversationId,
    )!.items
  /** The messages of a call of the provider, the last one by default, as role and text. */
  const prompt = (index = -1) =>
    provider.asked.at(index)!.messages.map(({ role, content }) => {
      const parts = content.filter(({ type }) => type !== 'sources')
      return `${role}: ${parts.map((part) => ('text' in part ? part.text : part.type)).join('')}`
    })
  /** Checks the totals of the conversation against a count of its newest versions. */
  async function expectCounted(turnCount: number) {
    const { rows } = await sql(world.deps.pool).query(
      `SELECT count(*)::integer AS "turnCount", coalesce(sum(t.token_count), 0)::integer AS "tokenCount" FROM turn t
       WHERE t.conversation_id = $1 AND t.superseded_by IS NULL AND t.status = 'COMMITTED' AND t.audience IS NULL`,
      [conversationId],
    )
    const found = (await getConversations(world.deps, tenant.as('ada'), [conversationId])).get(conversationId)!
    expect(found.counts).toEqual(rows[0])
    expect(found.counts!.turnCount).toBe(turnCount)
  }

  it('supersedes the reply at its position, answers the same turn, and keeps the older version', async () => {
    const older = await ask('Where is it?', ['In Hull.'])
    await ask('Thanks.', ['Welcome.'])
    provider.next(['In ', 'York.'])
    const { id, replyToId, state } = await regenerate(older)
    expect([state, replyToId]).toEqual(['COMPLETED', older.replyToId])
    expect(await texts()).toEqual(['Where is it?', 'In York.', 'Thanks.', 'Welcome.'])
    expect((await versions()).map(({ text }) => text)).toEqual([
      'Where is it?',
      'In Hull.',
      'In York.',
      'Thanks.',
      'Welcome.',
    ])
    const newer = (await turns())[1]!
    expect(newer).toMatchObject({ position: older.position, actor: 'bot', role: 'ASSISTANT', status: 'COMMITTED' })
    expect(newer).toMatchObject({ replyToId: older.replyToId, adapter: 'scripted', traceId: id, supersededBy: null })
    expect(await turnOf(older.id)).toMatchObject({ text: 'In Hull.', supersededBy: newer.id })
    expect(await callsOf(id)).toMatchObject([{ turnId: newer.id, finishReason: 'stop' }])
  })

  it('sends exactly what stood before the reply, whatever followed it', async () => {
    await ask('One?', ['1.'])
    const older = await ask('Two?', ['2.'])
    const before = prompt()
    const three = await ask('Three?', ['3.'])
    await pinTurn(world.deps, tenant.as('ada'), { turnId: three.id })
    await tenant.append(conversationId, 'owner', 'Be brief.', { role: 'SYSTEM' })
    await regenerate(older, { context: { semanticRecall: { k: 5 }, query: 'Three Two' } })
    expect(prompt()).toEqual(before)
    expect(before).toEqual(['user: One?', 'assistant: 1.', 'user: Two?'])
  })

  it('sends the newest versions of the turns before the reply', async () => {
    const older = await ask('Where is it?', ['In Hull.'])
    const question = (await turns())[0]!
    await supersedeTurn(world.deps, tenant.as('ada'), { turnId: question.id, turn: { role: 'USER', content: 'Who?' } })
    await regenerate(older)
    expect(prompt()).toEqual(['user: Who?'])
  })

  it('stores a context without the reply and the turns after it', async () => {
    await ask('One?', ['1.'])
    const older = await ask('Two?', ['2.'])
    await ask('Three?', ['3.'])
    const { id } = await regenerate(older, { context: { store: true } })
    const { contextId } = await turnOf((await callsOf(id))[0]!.turnId)
    const context = (await getContexts(world.deps, tenant.as('bot'), [contextId!])).get(contextId!)!
    expect(context.messages.map(({ content }) => content)).toEqual(['One?', '1.', 'Two?'])
    const [one, first, two] = await turns()
    expect(context.items.flatMap(({ sourceIds }) => sourceIds)).toEqual([one!.id, first!.id, two!.id])
  })

  it('recalls turns from before the reply only', async () => {
    await ask('The harbour is in Hull.', ['Noted the harbour.'])
    for (let n = 0; n < 3; n++) await ask(`Something else ${n}`, ['ok'])
    const older = await ask('Where is the harbour?', ['The harbour is old.'])
    await ask('The harbour is new.', ['Noted the new harbour.'])
    await regenerate(older, { context: { semanticRecall: { k: 3 }, recentTurns: 1 } })
    const sent = JSON.stringify(provider.asked.at(-1)!.messages)
    expect(sent).toContain('The harbour is in Hull.')
    expect(sent).not.toContain('The harbour is old.')
    expect(sent).not.toContain('new')
  })

  it('sends no fact from the reply or from later turns', async () => {
    const first = await ask('Ada likes figs.', ['ok'])
    const older = await ask('What do I like?', ['You like dates.'])
    const later = await ask('And plums.', ['ok'])
    for (const [object, sourceTurnId] of [
      ['figs', first.id],
      ['dates', older.id],
      ['plums', later.id],
    ] as const) {
      await recordFacts(world.deps, tenant.as('ada'), {
        userId: 'ada',
        facts: [{ subject: 'Ada', predicate: 'likes', object, sourceTurnId }],
      })
    }
    await regenerate(older, { context: { includeFacts: true, tokenBudget: 2_000 } })
    const sent = JSON.stringify(provider.asked.at(-1)!.messages)
    expect(sent).toContain('likes figs')
    expect(sent).not.toContain('dates')
    expect(sent).not.toContain('plums')
  })

  it('sends no summary of the reply or of later turns', async () => {
    for (let n = 0; n < 6; n++) await ask(`Question ${n}`, [`Answer ${n} is about the harbour. `.repeat(20)])
    const [, , , older] = await turns()
    await compact(world.deps, tenant.as('ada'), { conversationId, policy: { triggerTurns: 1 } })
    await regenerate(older!, { context: { strategy: 'SUMMARIZATION', tokenBudget: 600 } })
    expect(prompt()).toEqual([
      'user: Question 0',
      `assistant: ${'Answer 0 is about the harbour. '.repeat(20)}`,
      'user: Question 1',
    ])
  })

  it('sends its own tool calls and results in later rounds, and appends them at the end', async () => {
    const older = await ask('What time is it?', ['No idea.'])
    await ask('Never mind.', ['ok'])
    provider.next([call('c1', 'now')], ['Noon.'])
    const { state } = await regenerate(older)
    expect(state).toBe('COMPLETED')
    expect(prompt()).toEqual(['user: What time is it?', 'assistant: tool-call', 'tool: tool-result'])
    expect((await turns()).map(({ text, parts }) => text || partsOf({ text, parts })[0]!.type)).toEqual([
      'What time is it?',
      'toolCall',
      'Never mind.',
      'ok',
      'toolResult',
      'Noon.',
    ])
  })

  it('waits for the results of the caller, and continues with them and without later turns', async () => {
    const older = await ask('What time is it?', ['No idea.'])
    await ask('Never mind.', ['ok'])
    provider.next([call('c1', 'look_up')], ['Noon.'])
    const { id, state } = await regenerate(older, { tools: [lookUp] })
    expect(state).toBe('WAITING_FOR_TOOLS')
    await tenant.append(conversationId, 'ada', 'Hello?')
    const callTurnId = (await turns())[1]!.id
    const result = { toolResult: { callId: 'c1', name: 'look_up', result: 'noon', callTurnId } }
    const { run: ended } = await run({ runId: id, turns: [{ role: 'TOOL', parts: [result] }] })
    expect(ended.state).toBe('COMPLETED')
    expect(prompt()).toEqual(['user: What time is it?', 'assistant: tool-call', 'tool: tool-result'])
    expect((await texts()).at(-1)).toBe('Noon.')
  })

  it('takes a call with the id of a call of the older version as a new one', async () => {
    const first = await ask('What time is it?', [call('c1', 'now')], ['Noon.'])
    provider.next([call('c1', 'look_up', { zone: 'UTC' })], ['One.'])
    const older = (await turns())[2]!
    const { id, state } = await regenerate(first, { tools: [lookUp], context: { store: true } })
    expect(state).toBe('WAITING_FOR_TOOLS')
    await expect(run({ runId: id })).rejects.toThrow('still waits for results of the calls c1')
    const callTurnId = (await turns())[1]!.id
    const result = { toolResult: { callId: 'c1', name: 'look_up', result: 'one', callTurnId } }
    await run({ runId: id, turns: [{ role: 'TOOL', parts: [result] }] })
    const { messages } = provider.asked.at(-1)!
    expect(JSON.stringify(messages)).toContain('"one"')
    expect(JSON.stringify(messages)).not.toContain('noon')
    const { contextId } = (await turns()).at(-1)!
    const context = (await getContexts(world.deps, tenant.as('bot'), [contextId!])).get(contextId!)!
    expect(context.items.flatMap(({ sourceIds }) => sourceIds)).not.toContain(older.id)
    await ask('Sure?', ['Yes.'])
    const later = provider.asked.at(-1)!.messages
    expect(later.filter(({ role }) => role === 'tool').map(({ content }) => content[0])).toMatchObject([
      { result: 'one' },
    ])
  })

  it('does not take up turns that arrive meanwhile', async () => {
    await sql(world.deps.pool).query(
      `UPDATE participant SET respond = 'ALWAYS' WHERE conversation_id = $1 AND actor = 'bot'`,
      [conversationId],
    )
    await sql(world.deps.pool).query(`UPDATE journal SET responding = true WHERE conversation_id = $1`, [
      conversationId,
    ])
    const older = await ask('What time is it?', ['No idea.'])
    const { pause, open } = gate()
    provider.next([pause, call('c1', 'now')], ['Noon.'])
    const running = regenerate(older, { steering: 'INTERRUPT' })
    await expect.poll(() => provider.asked.length).toBe(2)
    await tenant.append(conversationId, 'ada', 'Hello?')
    open()
    expect((await running).state).toBe('COMPLETED')
    expect(prompt().join()).not.toContain('Hello?')
    const { rows } = await sql(world.deps.pool).query(
      `SELECT t.text FROM wake_up w JOIN turn t ON t.id = w.turn_id
       WHERE w.conversation_id = $1 AND w.answered_at IS NULL AND w.dropped_reason IS NULL`,
      [conversationId],
    )
    expect(rows).toEqual([{ text: 'Hello?' }])
  })

  it('counts the newer version instead of the older one, whatever either becomes', async () => {
    const older = await ask('Where is it?', ['In the city of Hull, on the river.'])
    await expectCounted(2)
    provider.next(['In York.'])
    await regenerate(older)
    await expectCounted(2)
    provider.next(['In L', new Error('broken')])
    expect((await regenerate((await turns())[1]!)).state).toBe('FAILED')
    expect((await turns())[1]).toMatchObject({ text: 'In L', status: 'ABORTED' })
    await expectCounted(1)
    provider.next(['In Le', new Error('broken')])
    await regenerate((await turns())[1]!)
    await expectCounted(1)
    provider.next(['In Leeds.'])
    await regenerate((await turns())[1]!)
    await expectCounted(2)
    expect(await texts()).toEqual(['Where is it?', 'In Leeds.'])
  })

  it('keeps the text so far of a cancelled run as the newest version, which can be regenerated', async () => {
    const older = await ask('Where is it?', ['In Hull.'])
    provider.next(['In Y', forever])
    const { id } = await regenerate(older, { wait: false })
    await expect.poll(texts).toEqual(['Where is it?', 'In Y'])
    await expectCounted(1)
    await cancelRun(world.deps, tenant.as('ada'), { runId: id })
    const aborted = (await turns())[1]!
    expect(aborted).toMatchObject({ text: 'In Y', status: 'ABORTED', abortReason: 'The run was cancelled.' })
    expect(await turnOf(older.id)).toMatchObject({ text: 'In Hull.', status: 'COMMITTED', supersededBy: aborted.id })
    provider.next(['In York.'])
    expect((await regenerate(aborted)).state).toBe('COMPLETED')
    expect(await texts()).toEqual(['Where is it?', 'In York.'])
  })

  it('keeps a private reply private', async () => {
    provider.next(['In Hull.'], ['In York.'])
    const { run: asked } = await run({
      actor: 'bot',
      turns: [{ role: 'USER', content: 'Between us?', audience: ['bot'] }],
    })
    const older = await turnOf((await callsOf(asked.id))[0]!.turnId)
    const { id } = await regenerate(older)
    expect((await turns())[1]).toMatchObject({ text: 'In York.', audience: ['bot', 'ada'] })
    expect(await getRuns(world.deps, tenant.as('owner'), [id])).toEqual(new Map())
    expect(prompt()).toEqual(['user: Between us?'])
  })

  it('sends nothing that an actor of the audience who has left may not see, because it may come back', async () => {
    await tenant.append(conversationId, 'eve', 'Hello.')
    provider.next(['In Hull.'], ['In York.'])
    const asking = { role: 'USER' as const, content: 'Between us?', audience: ['bot', 'eve'] }
    await tenant.append(conversationId, 'ada', 'Not for eve.', { audience: ['bot'] })
    const { run: asked } = await run({ actor: 'bot', turns: [asking] })
    const older = await turnOf((await callsOf(asked.id))[0]!.turnId)
    await removeParticipant(world.deps, tenant.as('owner'), { conversationId, actor: 'eve' })
    await regenerate(older)
    expect(prompt().join()).toContain('Between us?')
    expect(prompt().join()).not.toContain('Not for eve.')
  })

  it('regenerates a reply that the conversation has imported', async () => {
    await tenant.append(conversationId, 'ada', 'Where is it?')
    const older = await tenant.append(conversationId, 'bot', 'In Hull.', {
      role: 'ASSISTANT',
      createdAt: new Date('2023-01-01'),
      metadata: { rating: -1 },
    })
    provider.next(['In York.'])
    await regenerate(older)
    expect((await turns())[1]).toMatchObject({ text: 'In York.', importedAt: null, metadata: null })
    expect(prompt()).toEqual(['user: Where is it?'])
  })

  it('returns the run of an earlier call with the same clientId', async () => {
    const older = await ask('Where is it?', ['In Hull.'])
    const { id } = await regenerate(older, { clientId: 'again' })
    expect((await regenerate(older, { clientId: 'again' })).id).toBe(id)
    expect(await versions()).toHaveLength(3)
    await expect(run({ clientId: 'again', actor: 'bot' })).rejects.toThrow('already used with other input')
  })
})
