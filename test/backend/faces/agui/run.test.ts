// Runs of AG-UI with its stock client, unmodified: messages are sent and answered, tools are approved or executed by the
// page, state is shared, and a page that was away receives what it lacks.

import { HttpAgent, type AgentSubscriber } from '@ag-ui/client'
import type { BaseEvent, Message, RunAgentInput, RunFinishedEvent } from '@ag-ui/core'
import { EventSchemas } from '@ag-ui/core/schemas'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startJobs } from '../../../../src/domain/background/jobs.ts'
import { backends } from '../../../support/backend.ts'
import { clientOf, TRANSPORTS } from '../../../support/client.ts'
import { createScriptedProvider, gate } from '../../../support/scripted-provider.ts'
import { useServer } from '../../../support/server.ts'

const provider = createScriptedProvider()
const AGENT = { agent: { provider: 'scripted' } }

/** The role and the content of a message, and its tools. */
const shown = (message: Message): unknown[] => {
  const { role, content } = message as { role: string; content?: unknown }
  const tools = message.role === 'assistant' ? (message.toolCalls ?? []) : []
  const calls = tools.map(({ function: { name, arguments: given } }) => `${name}(${given})`)
  return [role, ...(content === undefined || content === '' ? [] : [content]), ...calls]
}

describe.each(backends)('a run of AG-UI on $name', (backend) => {
  const paid: unknown[] = []
  const pay = { name: 'pay', requiresApproval: true, execute: async (given: unknown) => (paid.push(given), 'paid') }
  const look = { name: 'look', execute: async () => ({ tide: 6.1 }) }
  const server = useServer(backend, {}, { settings: { providers: { scripted: provider }, tools: [pay, look] } })
  const closing: (() => unknown)[] = []
  let stopJobs = async () => {}
  beforeAll(async () => void (stopJobs = await startJobs(server.deps)))
  afterAll(() => stopJobs())
  beforeEach(() => {
    provider.reset()
    paid.length = 0
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  /** Starts a conversation with ada, bob and the agents. */
  async function start(...agents: { actor: string; [field: string]: unknown }[]) {
    const tenant = server.tenant()
    const ada = clientOf(server.url, tenant.name, 'ada', TRANSPORTS[0])
    closing.push(ada.close)
    const conversation = await ada.createConversation({
      key: 'harbour',
      participants: [{ actor: 'bob', kind: 'HUMAN' }, ...agents] as never,
    })
    /** Opens a page with the stock client. */
    function open({ query = '', actor = 'ada', threadId = 'harbour', ...init }: Record<string, any> = {}) {
      const url = `${server.url}/agui${query}`
      const agent = new HttpAgent({ url, threadId, headers: { 'x-tenant': tenant.name, 'x-actor': actor }, ...init })
      const events: BaseEvent[] = []
      const record: AgentSubscriber = { onEvent: ({ event }) => void events.push(EventSchemas.parse(event)) }
      agent.subscribe(record)
      closing.push(() => agent.abortRun())
      const send = (content: string, input: object = {}) => {
        agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
        return agent.runAgent(input)
      }
      const outcome = () =>
        (events.findLast(({ type }) => type === 'RUN_FINISHED') as RunFinishedEvent | undefined)?.outcome
      return {
        agent,
        events,
        send,
        outcome,
        types: () => events.map(({ type }) => type),
        messages: () => agent.messages.map(shown),
      }
    }
    const turns = async () => {
      const { nodes } = await ada.conversation({ key: 'harbour' }).turns({ first: 200 })
      return nodes.map(({ actor, text, status }) => `${actor}: ${text}${status === 'COMMITTED' ? '' : ` ${status}`}`)
    }
    return { id: conversation.id, tenant, ada, open, turns }
  }

  it('sends a message and streams the answer of the agent', async () => {
    const { open, turns } = await start({ actor: 'bot', ...AGENT })
    const { agent, send, messages, outcome, types } = open({ query: '?agent=bot' })
    const { pause, open: goOn } = gate()
    provider.next(['High tide ', pause, 'is at six.'])
    const sending = send('When is high tide?')
    await vi.waitFor(() =>
      expect(messages()).toEqual([
        ['user', 'When is high tide?'],
        ['assistant', 'High tide '],
      ]),
    )
    expect(agent.isRunning).toBe(true)
    goOn()
    const { newMessages } = await sending
    expect(messages()).toEqual([
      ['user', 'When is high tide?'],
      ['assistant', 'High tide is at six.'],
    ])
    expect(newMessages.map(shown)).toEqual([['assistant', 'High tide is at six.']])
    expect(outcome()).toEqual({ type: 'success' })
    expect(types().slice(0, 3)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'STATE_SNAPSHOT'])
    expect(types()).toContain('STEP_STARTED')
    expect(await turns()).toEqual(['ada: When is high tide?', 'bot: High tide is at six.'])
  })

  it('creates the conversation of a new thread, with the agent', async () => {
    const { open, ada } = await start()
    const { send, messages } = open({ query: '?agent=bot', threadId: 'quay' })
    await send('Hi.')
    // The first provider of the server answers, which is the echo provider.
    expect(messages()).toEqual([
      ['user', 'Hi.'],
      ['assistant', expect.stringContaining('ada said: "Hi."')],
    ])
    const { nodes } = await ada.conversation({ key: 'quay' }).participants()
    expect(nodes.map(({ actor, kind }) => [actor, kind]).toSorted()).toEqual([
      ['ada', 'HUMAN'],
      ['bot', 'AGENT'],
    ])
  })

  it('shows the answers of all agents that a message wakes up, and ends when all have answered', async () => {
    const { open } = await start(
      { actor: 'fern', respond: 'ALWAYS', ...AGENT },
      { actor: 'moss', respond: 'MENTIONED', ...AGENT },
    )
    const { agent, send, messages } = open()
    provider.next(['@moss knows.'], ['At six.'], ['Thanks.'])
    await send('When is high tide?')
    expect(messages()).toEqual([
      ['user', 'When is high tide?'],
      ['assistant', '@moss knows.'],
      ['assistant', 'At six.'],
      ['assistant', 'Thanks.'],
    ])
    expect(agent.messages.map((message) => (message as { name?: string }).name)).toEqual([
      undefined,
      'fern',
      'moss',
      'fern',
    ])
  })

  it('shows the history, and what an agent is writing, to a page that has none of it', async () => {
    const { open, send, tenant, id } = await start({ actor: 'bot', respond: 'ALWAYS', ...AGENT }).then((started) => ({
      ...started,
      send: started.open().send,
    }))
    await tenant.append(id, 'bob', '@nobody: Good morning.')
    const { pause, open: goOn } = gate()
    provider.next(['Well.'], ['High tide ', pause, 'is at six.'])
    const sending = send('When is high tide?')
    const { messages, agent } = open()
    const connected = agent.runAgent()
    await vi.waitFor(() => expect(messages().at(-1)).toEqual(['assistant', 'High tide ']))
    goOn()
    await Promise.all([connected, sending])
    expect(messages().at(-1)).toEqual(['assistant', 'High tide is at six.'])
    expect(messages().slice(0, 2)).toContainEqual(['user', '@nobody: Good morning.'])
  })

  it('sends a message once, also if the page runs again after the stream was cut', async () => {
    const { open, turns } = await start({ actor: 'bot', ...AGENT })
    const { agent, send, messages } = open({ query: '?agent=bot' })
    const { pause, open: goOn } = gate()
    provider.next(['High tide ', pause, 'is at six.'])
    const sending = send('When is high tide?').catch(() => {})
    await vi.waitFor(() => expect(messages().at(-1)).toEqual(['assistant', 'High tide ']))
    agent.abortRun()
    await sending
    goOn()
    await agent.runAgent()
    expect(messages()).toEqual([
      ['user', 'When is high tide?'],
      ['assistant', 'High tide is at six.'],
    ])
    expect(await turns()).toEqual(['ada: When is high tide?', 'bot: High tide is at six.'])
  })

  it('streams reasoning, and calls of tools with their results, in the order of the turn', async () => {
    const { open } = await start({ actor: 'bot', agent: { provider: 'scripted', reasoning: true } })
    const { send, messages, types, agent } = open({ query: '?agent=bot' })
    provider.next(
      [
        { type: 'reasoning', text: 'I look it up.' },
        { id: 'c1', name: 'look', arguments: { at: 'the sea' } },
      ],
      ['At 6.1.'],
    )
    await send('When is high tide?')
    expect(messages()).toEqual([
      ['user', 'When is high tide?'],
      ['reasoning', 'I look it up.'],
      ['assistant', 'look({"at":"the sea"})'],
      ['tool', '{"tide":6.1}'],
      ['assistant', 'At 6.1.'],
    ])
    const tool = agent.messages.find(({ role }) => role === 'tool') as { toolCallId: string }
    const call = agent.messages.find(({ role }) => role === 'assistant') as { toolCalls: { id: string }[] }
    expect(tool.toolCallId).toBe(call.toolCalls[0]!.id)
    expect(types()).toEqual(expect.arrayContaining(['REASONING_START', 'REASONING_MESSAGE_CONTENT', 'REASONING_END']))
    // A page that connects later has the same messages, with the same ids.
    const later = open()
    await later.agent.runAgent()
    expect(later.messages()).toEqual(messages())
    expect(later.agent.messages.map(({ id }) => id)).toEqual(agent.messages.map(({ id }) => id))
  })

  it('lets the page execute a tool, and continues with the result', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const { agent, send, messages, outcome } = open({ query: '?agent=bot' })
    const tools = [{ name: 'confirm', description: 'Asks the person.', parameters: { type: 'object' } }]
    provider.next([{ id: 'c1', name: 'confirm', arguments: { what: 'six' } }], ['Done.'])
    await send('Set the alarm.', { tools })
    expect(messages().at(-1)).toEqual(['assistant', 'confirm({"what":"six"})'])
    const call = (agent.messages.at(-1) as { toolCalls: { id: string }[] }).toolCalls[0]!
    expect(outcome()).toEqual({ type: 'success', pendingToolCallIds: [call.id] })
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content: '{"ok":true}' })
    await agent.runAgent({ tools })
    expect(messages()).toEqual([
      ['user', 'Set the alarm.'],
      ['assistant', 'confirm({"what":"six"})'],
      ['tool', '{"ok":true}'],
      ['assistant', 'Done.'],
    ])
    expect(outcome()).toEqual({ type: 'success' })
  })

  it('gives a call that waits for the page to a page that was reloaded', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const tools = [{ name: 'confirm', description: 'Asks.' }]
    provider.next([{ id: 'c1', name: 'confirm', arguments: {} }], ['Done.'])
    await open({ query: '?agent=bot' }).send('Set the alarm.', { tools })
    const { agent, types, outcome } = open({ query: '?agent=bot' })
    await agent.runAgent({ tools })
    expect(types()).toEqual(expect.arrayContaining(['TOOL_CALL_START', 'TOOL_CALL_END']))
    expect(outcome()).toMatchObject({ pendingToolCallIds: [expect.stringMatching(/:c1$/)] })
  })

  it.each([
    [{ approved: true }, 'resolved' as const, 'Paid.', 1],
    [{ approved: false, reason: 'Too much.' }, 'resolved' as const, 'I did not.', 0],
    [undefined, 'cancelled' as const, 'I did not.', 0],
  ])('ends with an interrupt for a call to approve, and continues after %j', async (payload, status, answer, times) => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const { agent, send, messages, outcome } = open({ query: '?agent=bot' })
    provider.next([{ id: 'c1', name: 'pay', arguments: { sum: 5 } }], [answer])
    await send('Pay.')
    const [interrupt] = agent.pendingInterrupts
    expect(outcome()).toMatchObject({ type: 'interrupt', interrupts: [{ reason: 'tool_call' }] })
    expect(interrupt!.message).toBe('Approve the call of pay?')
    expect(paid).toEqual([])
    await agent.runAgent({ resume: [{ interruptId: interrupt!.id, status, payload }] })
    expect(messages().at(-1)).toEqual(['assistant', answer])
    expect(paid).toHaveLength(times)
    expect(outcome()).toEqual({ type: 'success' })
  })

  it('keeps asking while a decision is pending, and answers a message that was sent meanwhile after it', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const { agent, send } = open({ query: '?agent=bot' })
    provider.next([{ id: 'c1', name: 'pay', arguments: { sum: 5 } }], ['Paid.'], ['At six.'])
    await send('Pay.')
    const other = open({ query: '?agent=bot' })
    await other.send('When is high tide?')
    expect(other.outcome()).toMatchObject({ type: 'interrupt' })
    const interruptId = agent.pendingInterrupts[0]!.id
    await agent.runAgent({ resume: [{ interruptId, status: 'resolved', payload: { approved: true } }] })
    expect(agent.messages.map(shown).slice(-2)).toEqual([
      ['assistant', 'Paid.'],
      ['assistant', 'At six.'],
    ])
  })

  it('adds the instructions and the context of the client to those of the agent', async () => {
    const { open } = await start({ actor: 'bot', agent: { provider: 'scripted', instructions: 'Be brief.' } })
    const system: Message = { id: 'rules', role: 'system', content: 'Speak French.' }
    const { send, messages } = open({ query: '?agent=bot', initialMessages: [system] })
    provider.next(['Bonjour.'])
    await send('Hello.', { context: [{ description: 'The page', value: 'Tides' }] })
    const [request] = provider.asked
    expect(JSON.stringify(request)).toContain('Be brief.\\n\\nSpeak French.\\n\\nThe page: Tides')
    expect(messages()).toEqual([
      ['system', 'Speak French.'],
      ['user', 'Hello.'],
      ['assistant', 'Bonjour.'],
    ])
  })

  it('reports why an answer failed, and asks again when the page runs again', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const { agent, send, events, messages } = open({ query: '?agent=bot' })
    provider.next([new Error('The model is gone.')], ['At six.'])
    await send('When?').catch(() => {})
    const failed = events.find(({ type }) => type === 'RUN_ERROR') as { message?: string; code?: string } | undefined
    expect(failed?.code).toBe('RUN_FAILED')
    await agent.runAgent()
    expect(messages().at(-1)).toEqual(['assistant', 'At six.'])
  })

  it('ends with the outcome cancelled when a run is stopped elsewhere', async () => {
    const { open, ada } = await start({ actor: 'bot', ...AGENT })
    const { send, messages, outcome } = open({ query: '?agent=bot' })
    const { pause } = gate()
    provider.next(['High tide ', pause])
    const sending = send('When?')
    await vi.waitFor(() => expect(messages().at(-1)).toEqual(['assistant', 'High tide ']))
    await ada.conversation({ key: 'harbour' }).stop()
    await sending
    expect(outcome()).toEqual({ type: 'cancelled' })
    expect(messages().at(-1)).toEqual(['assistant', 'High tide '])
  })

  it('shows shared state, its changes while a run goes on, and writes what the page has changed', async () => {
    const { open, ada } = await start({ actor: 'bot', ...AGENT })
    const conversation = ada.conversation({ key: 'harbour' })
    await conversation.updateSharedState({ key: 'list', value: { note: 'For the boat. '.repeat(20), items: ['salt'] } })
    const { agent, send, events } = open({ query: '?agent=bot' })
    const { pause, open: goOn } = gate()
    provider.next(['One ', pause, 'moment.'])
    const sending = send('Hello.')
    await vi.waitFor(() => expect(agent.state.list?.items).toEqual(['salt']))
    await vi.waitFor(() => expect(agent.messages.at(-1)!.role).toBe('assistant'))
    await conversation.updateSharedState({ key: 'list', patch: [{ op: 'add', path: '/items/-', value: 'oil' }] })
    await vi.waitFor(() => expect(agent.state.list.items).toEqual(['salt', 'oil']))
    expect(events.some(({ type }) => type === 'STATE_DELTA')).toBe(true)
    goOn()
    await sending
    agent.setState({ ...agent.state, list: { items: ['salt', 'oil', 'rope'] }, mood: 'calm' })
    await agent.runAgent()
    expect((await conversation.sharedState('list'))!.value).toEqual({ items: ['salt', 'oil', 'rope'] })
    expect((await conversation.sharedState('mood'))!.value).toBe('calm')
  })

  it('does not overwrite what others have changed meanwhile, and says so', async () => {
    const { open, ada } = await start({ actor: 'bot', ...AGENT })
    const conversation = ada.conversation({ key: 'harbour' })
    await conversation.updateSharedState({ key: 'count', value: 1 })
    const { agent, events } = open()
    await agent.runAgent()
    await conversation.updateSharedState({ key: 'count', value: 2 })
    agent.setState({ ...agent.state, count: 5 })
    await agent.runAgent()
    expect((await conversation.sharedState('count'))!.value).toBe(2)
    expect(agent.state.count).toBe(2)
    expect(events.find(({ type }) => type === 'CUSTOM')).toMatchObject({
      name: 'stateRefused',
      value: { key: 'count', value: 5, code: 'CONFLICT' },
    })
  })

  it('shows a page only what its actor sees', async () => {
    const { open, ada } = await start({ actor: 'bot', ...AGENT })
    await ada.conversation({ key: 'harbour' }).append({ role: 'USER', content: 'A secret.', audience: ['ada'] })
    await ada.conversation({ key: 'harbour' }).append({ role: 'USER', content: 'Good morning.' })
    const bob = open({ actor: 'bob' })
    await bob.agent.runAgent()
    expect(bob.messages()).toEqual([['user', 'Good morning.']])
  })

  it('replaces the message of a turn that is edited or erased while a run goes on', async () => {
    const { open, ada, tenant, id } = await start({ actor: 'bot', ...AGENT })
    const { id: turnId } = await tenant.append(id, 'bob', 'My number is 5.')
    const { send, messages } = open({ query: '?agent=bot' })
    const { pause, open: goOn } = gate()
    provider.next(['One ', pause, 'moment.'])
    const sending = send('Hello.')
    await vi.waitFor(() => expect(messages().at(-1)).toEqual(['assistant', 'One ']))
    await ada.eraseTurn(turnId)
    await vi.waitFor(() => expect(JSON.stringify(messages())).not.toContain('number'))
    goOn()
    await sending
    expect(messages().at(-1)).toEqual(['assistant', 'One moment.'])
  })

  it('sends nothing again that a page has written long ago', async () => {
    const { open, ada, turns } = await start()
    const conversation = ada.conversation({ key: 'harbour' })
    const { agent, send } = open()
    await send('The first message.')
    const add = async (from: number, to: number) => {
      for (let n = from; n <= to; n++) {
        await conversation.append({ role: 'USER', content: `Message ${n}`, metadata: { messageId: `m${n}` } })
      }
      await agent.runAgent()
    }
    for (const from of [1, 41, 81, 121]) await add(from, from + 39)
    await send('The last message.')
    expect(agent.messages).toHaveLength(162)
    expect(await turns()).toHaveLength(162)
  })

  it('lets two pages of a person ask the agent at the same time', async () => {
    const { open, turns } = await start({ actor: 'bot', ...AGENT })
    const pages = [open({ query: '?agent=bot' }), open({ query: '?agent=bot' })]
    const { pause, open: goOn } = gate()
    provider.next([pause, 'One.'], ['Two.'])
    const asked = pages[0]!.send('First?')
    await vi.waitFor(() => expect(pages[0]!.types()).toContain('STEP_STARTED'))
    const also = pages[1]!.send('Second?')
    await vi.waitFor(async () => expect(await turns()).toHaveLength(3))
    goOn()
    await Promise.all([asked, also])
    expect(pages.map(({ outcome }) => outcome())).toEqual([{ type: 'success' }, { type: 'success' }])
    expect((await turns()).filter((turn) => turn.startsWith('bot'))).toEqual(['bot: One.', 'bot: Two.'])
  })

  it('starts one run for a message that two pages run at the same time', async () => {
    const { open, turns } = await start({ actor: 'bot', ...AGENT })
    const message: Message = { id: 'm', role: 'user', content: 'When?' }
    const pages = [1, 2].map(() => open({ query: '?agent=bot', initialMessages: [message] }))
    provider.next(['At six.'])
    await Promise.all(pages.map(({ agent }) => agent.runAgent()))
    expect(pages.map(({ messages }) => messages().at(-1))).toEqual([
      ['assistant', 'At six.'],
      ['assistant', 'At six.'],
    ])
    expect(await turns()).toEqual(['ada: When?', 'bot: At six.'])
  })

  it('goes on without the result of a tool when the person writes something else', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    provider.next([{ id: 'c1', name: 'confirm', arguments: {} }], ['It is noon.'])
    await open({ query: '?agent=bot' }).send('Set the alarm.', { tools: [{ name: 'confirm', description: 'Asks.' }] })
    const other = open({ query: '?agent=bot' })
    await other.send('What time is it?')
    expect(other.messages().at(-1)).toEqual(['assistant', 'It is noon.'])
    expect(other.outcome()).toEqual({ type: 'success' })
  })

  it('keeps the tools and decisions of a person from the pages of others, and says whom the agent waits for', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    provider.next([{ id: 'c1', name: 'confirm', arguments: {} }])
    await open({ query: '?agent=bot' }).send('Set the alarm.', { tools: [{ name: 'confirm', description: 'Asks.' }] })
    const bob = open({ query: '?agent=bot', actor: 'bob' })
    await bob.send('When is high tide?')
    expect(bob.types()).not.toContain('TOOL_CALL_START')
    expect(bob.events.at(-1)).toMatchObject({
      type: 'RUN_ERROR',
      code: 'CONFLICT',
      message: 'bot waits for the result of a tool in a run that ada started. Run again later.',
    })
    expect(bob.messages()).toContainEqual(['user', 'When is high tide?'])
  })

  it('uploads a picture that a page sends, and shows it by a signed URL', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const { agent } = open({ query: '?agent=bot' })
    const value = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image' as const, source: { type: 'data' as const, value, mimeType: 'image/png' } },
    ]
    agent.addMessage({ id: 'm', role: 'user', content })
    provider.next(['A pixel.'])
    await agent.runAgent()
    const later = open()
    await later.agent.runAgent()
    const [, image] = later.agent.messages[0]!.content as [object, { type: string; source: { value: string } }]
    expect(image.type).toBe('image')
    const picture = await fetch(image.source.value)
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(Buffer.from(await picture.arrayBuffer()).toString('base64')).toBe(value)
    // A page that returns the message sends nothing again.
    await later.agent.runAgent()
    expect(later.agent.messages.filter(({ role }) => role === 'user')).toHaveLength(1)
  })

  it('refuses a file that is not what it says, and writes nothing', async () => {
    const { open, turns } = await start({ actor: 'bot', ...AGENT })
    const { agent } = open({ query: '?agent=bot' })
    const source = { type: 'data' as const, value: btoa('<svg></svg>'), mimeType: 'image/png' }
    agent.addMessage({ id: 'm', role: 'user', content: [{ type: 'image', source }] })
    await expect(agent.runAgent()).rejects.toThrow('HTTP 400')
    expect(await turns()).toEqual([])
  })

  it('keeps a greeting of the page, which is no message of the conversation', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const greeting: Message = { id: 'hi', role: 'assistant', content: 'How can I help?' }
    const { send, messages, agent } = open({ query: '?agent=bot', initialMessages: [greeting] })
    await agent.runAgent()
    provider.next(['At six.'])
    await send('When?')
    expect(messages().map(([role]) => role)).toEqual(['assistant', 'user', 'assistant'])
  })

  it('keeps what a page has of the time before the newest turns', async () => {
    const { open, tenant, id } = await start()
    for (let n = 1; n <= 5; n++) await tenant.append(id, 'bob', `Message ${n}`)
    const { agent, messages } = open()
    await agent.runAgent()
    for (let n = 6; n <= 70; n++) await tenant.append(id, 'bob', `Message ${n}`)
    await agent.runAgent()
    expect(messages()).toEqual(Array.from({ length: 70 }, (_, index) => ['user', `Message ${index + 1}`]))
  })

  type Given = Partial<Record<keyof RunAgentInput, unknown>>
  const valid: Given = { threadId: 'harbour', runId: 'r', messages: [] }
  it.each<[string, Given | string, number, string]>([
    ['no JSON', '{', 400, 'is not JSON'],
    ['no thread', { runId: 'r', messages: [] }, 400, 'threadId'],
    ['messages that are no list', { ...valid, messages: 'x' }, 400, 'messages'],
    ['a message without an id', { ...valid, messages: [{ role: 'user', content: 'x' }] }, 400, 'messages.0.id'],
    ['an empty message', { ...valid, messages: [{ id: 'm', role: 'user', content: '' }] }, 400, 'must not be empty'],
    ['a state that is a list', { ...valid, state: [] }, 400, 'must be an object'],
    ['two tools with one name', { ...valid, tools: [{ name: 'a' }, { name: 'a' }] }, 400, 'different names'],
    ['an unknown conversation', { ...valid, threadId: `conv_${'0'.repeat(26)}` }, 404, 'conv_'],
  ])('refuses %s with a problem, before the run starts', async (_, body, status, text) => {
    const { tenant } = await start()
    const response = await fetch(`${server.url}/agui`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'x-tenant': tenant.name,
        'x-actor': 'ada',
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    expect([response.status, response.headers.get('content-type')]).toEqual([
      status,
      'application/problem+json; charset=utf-8',
    ])
    expect(await response.text()).toContain(text)
  })
})
