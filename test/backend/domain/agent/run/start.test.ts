// runTurn: the turns of the caller, the replies of the agent, tools, failures, cancellation, and the limit of one
// running run for each agent.

import { beforeEach, describe, expect, it } from 'vitest'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { cancelRun } from '../../../../../src/domain/agent/run/cancel.ts'
import { getProviderCalls, getRuns } from '../../../../../src/domain/agent/run/run.ts'
import { runTurn, type RunTurnInput } from '../../../../../src/domain/agent/run/start.ts'
import type { Tool } from '../../../../../src/domain/agent/run/tools/tools.ts'
import { partsOf } from '../../../../../src/domain/turn/content.ts'
import { getTurns, type Turn } from '../../../../../src/domain/turn/turn.ts'
import { history } from '../../../../../src/domain/turn/history.ts'
import { ProviderCallFailed } from '../../../../../src/providers/ports/provider-adapter.ts'
import { backends } from '../../../../support/backend.ts'
import { createScriptedProvider, forever, gate, type ScriptedProvider } from '../../../../support/scripted-provider.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const provider = createScriptedProvider()
const silent = createScriptedProvider(null)

const executed: unknown[] = []
const add: Tool = {
  name: 'add',
  description: 'Adds two numbers.',
  schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute(args) {
    executed.push(args)
    const { a, b } = args as { a: number; b: number }
    return { sum: a + b }
  },
}
const broken: Tool = {
  name: 'broken',
  execute() {
    throw new Error('secret')
  },
}

const call = (id: string, name: string, args: unknown) => ({ id, name, arguments: args })
const lookUp = { name: 'look_up', description: 'Looks something up.', schema: { type: 'object' } }

describe.each(backends)('runTurn on $name', (backend) => {
  const world = useWorld(backend, { providers: { scripted: provider, silent }, tools: [add, broken] })
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation({ actor: 'ada', kind: 'HUMAN' }, { actor: 'bot', kind: 'AGENT' })
    executed.length = 0
    provider.reset()
  })
  const ask = (more: Partial<RunTurnInput> = {}, actor = 'ada') =>
    runTurn(world.deps, tenant.as(actor), {
      conversationId,
      actor: 'bot',
      provider: 'scripted',
      turns: [{ role: 'USER', content: 'What is it?' }],
      ...more,
    })
  const turns = async (actor = 'ada'): Promise<Turn[]> =>
    (await history(world.deps, tenant.as(actor), [conversationId], {})).get(conversationId)!
  const callsOf = async (runId: string) => (await getProviderCalls(world.deps, tenant.as('ada'), [runId])).get(runId)!
  const script = (...scripts: Parameters<ScriptedProvider['next']>) => provider.next(...scripts)

  it('appends the turns, then the reply, with the usage of the provider', async () => {
    script(['It is ', 'a test. 🙂'])
    const { run, turns: appended } = await ask()
    expect(run).toMatchObject({
      state: 'COMPLETED',
      actor: 'bot',
      viewer: 'ada',
      promptTokens: 10,
      completionTokens: 5,
    })
    const all = await turns()
    expect(all.map(({ actor, text, status }) => [actor, text, status])).toEqual([
      ['ada', 'What is it?', 'COMMITTED'],
      ['bot', 'It is a test. 🙂', 'COMMITTED'],
    ])
    expect(appended.map(({ id }) => id)).toEqual([all[0]!.id])
    expect(all[1]).toMatchObject({ replyToId: all[0]!.id, promptTokens: 10, completionTokens: 5, adapter: 'scripted' })
    expect(await callsOf(run.id)).toMatchObject([{ round: 1, turnId: all[1]!.id, attempts: 1, finishReason: 'stop' }])
  })

  it('sends the model the instructions, the conversation and the tools', async () => {
    await ask({ instructions: 'Be brief.', tools: [lookUp] })
    const [{ messages, tools, metadata }] = provider.asked as [(typeof provider.asked)[0]]
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(messages[0]!.content).toEqual([{ type: 'text', text: 'Be brief.' }])
    expect(tools).toEqual([lookUp])
    expect(metadata).toEqual({ provider: 'scripted', model: 'default' })
  })

  it('counts the tokens if the provider reports none', async () => {
    const { run } = await ask({ provider: 'silent' })
    expect(run.promptTokens).toBeGreaterThan(0)
    expect(run.completionTokens).toBeGreaterThan(0)
    expect(await callsOf(run.id)).toMatchObject([{ isEstimated: true }])
  })

  it('keeps the answer to a private turn private', async () => {
    await ask({ turns: [{ role: 'USER', content: 'Between us?', audience: ['bot'] }] })
    expect((await turns())[1]).toMatchObject({ actor: 'bot', audience: ['bot', 'ada'] })
    expect(await turns('owner')).toEqual([])
    expect(await callsOf((await ask()).run.id)).toHaveLength(1)
  })

  it('sends the model no private turn that a reader of the answer does not see', async () => {
    const canary = 'zanzibar7f3a9'
    await tenant.append(conversationId, 'ada', `The code is ${canary}.`, { audience: ['bot'] })
    await ask({ context: { semanticRecall: {} }, turns: [{ role: 'USER', content: 'What is the code?' }] })
    expect(JSON.stringify(provider.asked[0]!.messages)).not.toContain(canary)
    await ask({ turns: [{ role: 'USER', content: 'And now?', audience: ['bot'] }] })
    expect(JSON.stringify(provider.asked[1]!.messages)).toContain(canary)
  })

  it('executes the tools of the server, in parallel, and lets the model answer', async () => {
    script([call('c1', 'add', { a: 1, b: 2 }), call('c2', 'add', { a: 3, b: 4 })], ['Three and seven.'])
    const { run } = await ask()
    expect(run.state).toBe('COMPLETED')
    expect(executed).toEqual([
      { a: 1, b: 2 },
      { a: 3, b: 4 },
    ])
    const [, calls, results, answer] = await turns()
    expect(partsOf(calls!).map(({ type }) => type)).toEqual(['toolCall', 'toolCall'])
    expect(partsOf(results!)).toMatchObject([
      { type: 'toolResult', callId: 'c1', result: { sum: 3 }, callTurnId: calls!.id },
      { type: 'toolResult', callId: 'c2', result: { sum: 7 } },
    ])
    expect(answer).toMatchObject({ text: 'Three and seven.', actor: 'bot' })
    expect(provider.asked[1]!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(run).toMatchObject({ promptTokens: 20, completionTokens: 10, round: 2 })
  })

  it('answers the call of a tool that failed without the text of the error', async () => {
    script([call('c1', 'broken', {})], ['Sorry.'])
    await ask()
    expect(partsOf((await turns())[2]!)).toMatchObject([{ result: { error: 'The tool failed.' } }])
  })

  it('returns a first invalid call to the model with its problem, and fails after the second', async () => {
    script([call('c1', 'add', { a: 'x' }), call('c2', 'add', { a: 1, b: 1 })], [call('c3', 'add', '{"a":')])
    const { run } = await ask()
    expect(run).toMatchObject({ state: 'FAILED', errorCode: 'INVALID_TOOL_CALL' })
    expect(executed).toEqual([])
    const results = partsOf((await turns())[2]!)
    expect(results).toMatchObject([{ callId: 'c1', result: { error: expect.stringContaining('/') } }, { callId: 'c2' }])
    expect((await turns()).at(-1)).toMatchObject({ status: 'COMMITTED' })
  })

  it('continues after a corrected call', async () => {
    script([call('c1', 'unknown', {})], [call('c2', 'add', { a: 1, b: 1 })], ['Two.'])
    const { run } = await ask()
    expect(run).toMatchObject({ state: 'COMPLETED', round: 3 })
  })

  it('waits for the results of the tools of the caller, and continues with them', async () => {
    script([call('c1', 'look_up', { q: 'x' }), call('c2', 'add', { a: 1, b: 1 })], ['Found.'])
    const { run } = await ask({ tools: [lookUp, { name: 'add' }] })
    expect(run).toMatchObject({ state: 'WAITING_FOR_TOOLS', endedAt: null })
    await expect(ask({ runId: run.id, turns: null })).rejects.toThrow(/still waits for results of the calls c1\./)
    const [, calls] = await turns()
    const answer = { toolResult: { callId: 'c1', name: 'look_up', result: 'y', callTurnId: calls!.id } }
    const { run: ended } = await ask({ runId: run.id, turns: [{ role: 'TOOL', parts: [answer] }] })
    expect(ended).toMatchObject({ id: run.id, state: 'COMPLETED', round: 2 })
    await expect(ask({ runId: run.id, turns: null })).rejects.toThrow(Conflict)
  })

  it('shows the model a turn that was written while a tool ran after the call and its result', async () => {
    script([call('c1', 'look_up', { q: 'x' })], ['Found.'])
    const { run } = await ask({ tools: [lookUp] })
    await tenant.append(conversationId, 'ada', 'I mean y.')
    const calls = (await turns())[1]!
    const answer = { toolResult: { callId: 'c1', name: 'look_up', result: 'y', callTurnId: calls.id } }
    await ask({ runId: run.id, turns: [{ role: 'TOOL', parts: [answer] }] })
    const { messages } = provider.asked[1]!
    expect(messages.slice(0, 4).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(messages[3]!.content[0]).toEqual({ type: 'text', text: 'I mean y.' })
  })

  it('rejects a result without a call, and still waits', async () => {
    script([call('c1', 'look_up', {})])
    const { run } = await ask({ tools: [lookUp] })
    const wrong = { toolResult: { callId: 'c9', name: 'look_up', result: 'y' } }
    await expect(ask({ runId: run.id, turns: [{ role: 'TOOL', parts: [wrong] }] })).rejects.toThrow(InvalidInput)
    expect((await cancelRun(world.deps, tenant.as('ada'), { runId: run.id })).state).toBe('CANCELLED')
  })

  it('can start while another run of the agent waits for results', async () => {
    script([call('c1', 'look_up', {})], ['Meanwhile.'])
    const { run } = await ask({ tools: [lookUp] })
    expect((await ask()).run.state).toBe('COMPLETED')
    expect((await cancelRun(world.deps, tenant.as('ada'), { runId: run.id })).state).toBe('CANCELLED')
  })

  it('fails after the maximum number of rounds', async () => {
    script(...[1, 2, 3].map((n) => [call(`c${n}`, 'add', { a: 1, b: 1 })]))
    const { run } = await ask({ maxRounds: 2 })
    expect(run).toMatchObject({ state: 'FAILED', errorCode: 'TOO_MANY_ROUNDS', round: 2 })
  })

  it('rejects a second run of the agent, writes nothing, and names the first run', async () => {
    const { pause, open } = gate()
    script([pause, 'one'])
    const { run } = await ask({ wait: false })
    const before = await tenant.lastSeq(conversationId)
    await expect(ask()).rejects.toThrow(run.id)
    expect((await turns()).filter(({ role }) => role === 'USER')).toHaveLength(1)
    expect(await tenant.lastSeq(conversationId)).toBeGreaterThanOrEqual(before!)
    open()
    const last = async () => (await turns()).at(-1)
    await expect.poll(last).toMatchObject({ role: 'ASSISTANT', status: 'COMMITTED' })
  })

  it('repeats a failed call only before the first delta', async () => {
    const busy = new ProviderCallFailed('RATE_LIMITED', 'Busy.', true, { status: 429, retryAfterMs: 0 })
    script([busy], ['Now.'])
    const { run } = await ask()
    expect(run.state).toBe('COMPLETED')
    expect(await callsOf(run.id)).toMatchObject([{ attempts: 2 }])
    script(['Half', busy])
    const { run: failed } = await ask()
    expect(failed).toMatchObject({ state: 'FAILED', errorCode: 'PROVIDER_FAILED', errorMessage: 'Busy.' })
    expect((await turns()).at(-1)).toMatchObject({ text: 'Half', status: 'ABORTED', abortReason: 'Busy.' })
  })

  it('aborts a reply that is longer than a turn', async () => {
    script(Array.from({ length: 160 }, () => 'x'.repeat(65_536)))
    const { run } = await ask()
    expect(run).toMatchObject({ state: 'FAILED', errorCode: 'REPLY_TOO_LONG' })
    const last = (await turns()).at(-1)!
    expect(last.status).toBe('ABORTED')
    expect(last.text.length).toBeLessThanOrEqual(262_144)
  })

  it('fails for an empty reply', async () => {
    script([' \n'])
    const { run } = await ask()
    expect(run).toMatchObject({ state: 'FAILED', errorCode: 'INVALID_REPLY' })
    expect((await turns()).at(-1)!.status).toBe('ABORTED')
  })

  it('replaces characters that a turn cannot store', async () => {
    script(['a\0b\ud83d', '\ude42\udc00', 'c\ud83d'])
    await ask()
    expect((await turns()).at(-1)!.text).toBe('a\ufffdb🙂\ufffdc\ufffd')
  })

  it('cancels a run, and keeps its text', async () => {
    script(['Half of it', forever])
    const { run } = await ask({ wait: false })
    await expect.poll(async () => (await turns()).at(-1)!.text).toBe('Half of it')
    const cancelled = await cancelRun(world.deps, tenant.as('ada'), { runId: run.id })
    expect(cancelled).toMatchObject({ state: 'CANCELLED', errorCode: null })
    expect((await turns()).at(-1)).toMatchObject({ text: 'Half of it', status: 'ABORTED' })
    expect(await cancelRun(world.deps, tenant.as('ada'), { runId: run.id })).toEqual(cancelled)
    expect(world.deps.runs.size).toBe(0)
  })

  it('is cancelled by the author of the turn that it answers, and by no other participant', async () => {
    const turn = await tenant.append(conversationId, 'bob', 'Well?')
    await tenant.append(conversationId, 'eve', 'Well, well.')
    script([forever])
    const { run } = await ask({ wait: false, turns: null, replyTo: turn.id })
    const rights = new Set(['read', 'write'])
    const withKey = (actor: string) => ({
      ...tenant.as(actor),
      principal: { ...tenant.as(actor), kind: 'HUMAN', rights, conversations: null, credential: 'test' } as never,
    })
    await expect(cancelRun(world.deps, withKey('eve'), { runId: run.id })).rejects.toThrow(NotAllowed)
    expect((await cancelRun(world.deps, withKey('bob'), { runId: run.id })).state).toBe('CANCELLED')
  })

  it('ends when the agent is removed, and closes its turn', async () => {
    const { pause, open } = gate()
    script(['Half', pause, ' more'])
    const { run } = await ask({ wait: false })
    await expect.poll(async () => (await turns()).at(-1)!.text).toBe('Half')
    await removeParticipant(world.deps, tenant.as('ada'), { conversationId, actor: 'bot' })
    open()
    const state = async () => (await getRuns(world.deps, tenant.as('ada'), [run.id])).get(run.id)
    await expect.poll(state).toMatchObject({ state: 'FAILED', errorCode: 'AGENT_LEFT' })
    expect((await turns()).at(-1)).toMatchObject({ text: 'Half', status: 'ABORTED' })
  })

  it('stops when its conversation is deleted', async () => {
    script(['Half', forever])
    const { run } = await ask({ wait: false })
    await expect.poll(async () => (await turns()).at(-1)!.text).toBe('Half')
    await deleteConversation(world.deps, tenant.as('owner'), conversationId)
    expect((await getRuns(world.deps, tenant.as('ada'), [run.id])).size).toBe(0)
    await world.deps.runs.stop(run.id, 'SHUTDOWN')
    expect(world.deps.runs.size).toBe(0)
  })

  it('does not let a completed run be cancelled', async () => {
    const { run } = await ask()
    await expect(cancelRun(world.deps, tenant.as('ada'), { runId: run.id })).rejects.toThrow(/is COMPLETED/)
  })

  it('returns the first run and its turns for a repeated clientId', async () => {
    const first = await ask({ clientId: 'k' })
    const second = await ask({ clientId: 'k' })
    expect(second.run).toEqual(first.run)
    expect(second.turns.map(({ id }) => id)).toEqual(first.turns.map(({ id }) => id))
    expect(await turns()).toHaveLength(2)
    await expect(ask({ clientId: 'k', instructions: 'Other.' })).rejects.toThrow(Conflict)
  })

  it.each([
    ['agent', { actor: 'nobody' }],
    ['provider', { provider: 'nothing' }],
    ['conversation', { conversationId: `conv_${'0'.repeat(26)}` }],
    ['run', { runId: `run_${'0'.repeat(26)}` }],
  ])('fails with NotFound for an unknown %s, and writes nothing', async (_, input) => {
    const before = await tenant.lastSeq(conversationId)
    await expect(ask(input)).rejects.toThrow(NotFound)
    expect(await tenant.lastSeq(conversationId)).toBe(before)
  })

  it('fails with InvalidInput for a query without a recall that searches for it', async () => {
    await expect(ask({ context: { query: 'tulips' } })).rejects.toThrow(/context\.query: requires semanticRecall/)
  })

  it('fails with InvalidInput for a turn that the agent does not see', async () => {
    const hidden = await tenant.append(conversationId, 'ada', 'hidden', { audience: ['owner'] }).catch(() => null)
    const { id } = hidden ?? (await tenant.append(conversationId, 'ada', 'hidden', { audience: ['ada'] }))
    await expect(ask({ turns: null, replyTo: id })).rejects.toThrow(InvalidInput)
    expect((await getTurns(world.deps, tenant.as('bot'), [id])).size).toBe(0)
  })

  it('repeats the turn to answer at the end of the context if later turns follow', async () => {
    const asked = await tenant.append(conversationId, 'ada', 'The old question')
    await tenant.append(conversationId, 'ada', 'Something else')
    await ask({ turns: null, replyTo: asked.id })
    const last = provider.asked[0]!.messages.at(-1)!
    expect(JSON.stringify(last.content)).toContain('The old question')
  })

  it("repeats the turn to answer after the agent's own answer to another turn", async () => {
    const other = await tenant.append(conversationId, 'ada', 'Something else')
    const asked = await tenant.append(conversationId, 'ada', 'The question')
    await ask({ turns: null, replyTo: other.id })
    await ask({ turns: null, replyTo: asked.id })
    const last = provider.asked[1]!.messages.at(-1)!
    expect(last.role).toBe('user')
    expect(JSON.stringify(last.content)).toContain('You are answering this message of ada')
    expect(JSON.stringify(last.content)).toContain('The question')
  })
})
