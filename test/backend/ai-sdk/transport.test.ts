// Chats of the AI SDK, unmodified, on a conversation: messages are sent and answered, tools are approved or executed by
// the page, and answers are stopped and resumed, while several agents and people share the conversation.

import { Chat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createChatTransport, type ChatTransportOptions, type ConversationMessage } from '../../../src/ai-sdk/index.ts'
import { startJobs } from '../../../src/domain/background/jobs.ts'
import { history } from '../../../src/domain/turn/history.ts'
import { backends } from '../../support/backend.ts'
import { clientOf, TRANSPORTS } from '../../support/client.ts'
import { png } from '../../support/files.ts'
import { createScriptedProvider, gate } from '../../support/scripted-provider.ts'
import { useServer } from '../../support/server.ts'

const provider = createScriptedProvider()
const scripted = { ...provider, acceptsImages: true }
const AGENT = { agent: { provider: 'scripted' } }

/** The texts of a message, and its tools with their states. */
const shown = ({ role, parts }: ConversationMessage) => [
  role,
  ...parts.flatMap((part) => {
    if (part.type === 'text') return [part.text]
    if (part.type === 'reasoning') return [`(${part.text})`]
    if (!('toolCallId' in part)) return []
    return [`${part.type === 'dynamic-tool' ? part.toolName : part.type} ${part.state}`]
  }),
]

describe.each(backends)('a chat of the AI SDK on $name', (backend) => {
  const paid: unknown[] = []
  const pay = { name: 'pay', requiresApproval: true, execute: async (given: unknown) => (paid.push(given), 'paid') }
  const look = { name: 'look', execute: async () => ({ tide: 6.1 }) }
  const server = useServer(backend, {}, { settings: { providers: { scripted }, tools: [pay, look] } })
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

  type Init = Omit<ConstructorParameters<typeof Chat<ConversationMessage>>[0], 'transport' | 'id'>

  /** Starts a conversation with ada, bob and the agents. */
  async function start(...agents: { actor: string; [field: string]: unknown }[]) {
    const tenant = server.tenant()
    const ada = clientOf(server.url, tenant.name, 'ada', TRANSPORTS[0])
    closing.push(ada.close)
    const { id } = await ada.createConversation({
      key: 'harbour',
      participants: [{ actor: 'bob', kind: 'HUMAN' }, ...agents] as never,
    })
    /** Opens a page. Each has a client of its own. */
    function open(
      options: Partial<ChatTransportOptions> = {},
      init: Init = {},
      actor = 'ada',
      connecting: Parameters<typeof clientOf>[4] = {},
    ) {
      const client = clientOf(server.url, tenant.name, actor, TRANSPORTS[0], connecting)
      closing.push(client.close)
      const transport = createChatTransport({ client, ...options })
      const chat = new Chat<ConversationMessage>({ id: 'harbour', transport, ...init })
      return { transport, chat, client, messages: () => chat.messages.map(shown) }
    }
    const turns = async () => {
      const all = await history(server.deps, tenant.as('ada'), [id], {})
      return all
        .get(id)!
        .map(({ actor, text, status }) => `${actor}: ${text}${status === 'COMMITTED' ? '' : ` ${status}`}`)
    }
    return { id, tenant, ada, open, turns }
  }
  const run = { actor: 'bot' }

  it('uploads the picture of an unmodified page, which the agent gets and every page shows', async () => {
    const { open, id, tenant } = await start({ actor: 'bot', ...AGENT })
    const { chat, transport } = open({ run })
    const url = `data:image/png;base64,${png(640, 480).toString('base64')}`
    const file = { type: 'file' as const, mediaType: 'image/png', filename: 'rose.png', url }
    await chat.sendMessage({ text: 'What is this?', files: [file] })
    const asked = provider.asked.at(-1)!.messages.flatMap(({ content }) => content)
    expect(asked).toContainEqual({ type: 'file', mediaType: 'image/png', fileName: 'rose.png', url })
    const shownFiles = (await transport.load('harbour')).flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'file' ? [part] : [])),
    )
    expect(shownFiles).toMatchObject([{ mediaType: 'image/png', filename: 'rose.png' }])
    const response = await fetch(shownFiles[0]!.url)
    expect(Buffer.from(await response.arrayBuffer()).equals(png(640, 480))).toBe(true)
    // An edited message keeps its picture, whose URL is a signed one by now.
    await chat.sendMessage({ messageId: chat.messages[0]!.id, text: 'And this?', files: shownFiles })
    const all = (await history(server.deps, tenant.as('ada'), [id], {})).get(id)!
    expect(all.find(({ actor }) => actor === 'ada')!.parts).toMatchObject([
      { attachmentId: expect.any(String) },
      { text: 'And this?' },
    ])
    expect(await server.deps.db.of(tenant.name).attachment.count({ where: { conversationId: id } })).toBe(1)
  })

  it('sends a message and streams the answer of the agent', async () => {
    const { open, turns } = await start({ actor: 'bot', ...AGENT })
    const { chat, messages } = open({ run })
    const { pause, open: goOn } = gate()
    provider.next(['High tide ', pause, 'is at six.'])
    const sending = chat.sendMessage({ text: 'When is high tide?' })
    await vi.waitFor(() =>
      expect(messages()).toEqual([
        ['user', 'When is high tide?'],
        ['assistant', 'High tide '],
      ]),
    )
    expect(chat.status).toBe('streaming')
    goOn()
    await sending
    expect(messages()).toEqual([
      ['user', 'When is high tide?'],
      ['assistant', 'High tide is at six.'],
    ])
    expect(chat.status).toBe('ready')
    expect(chat.error).toBeUndefined()
    expect(chat.messages[1]!.metadata).toMatchObject({ actor: 'bot', runId: expect.stringMatching(/^run_/) })
    expect(await turns()).toEqual(['ada: When is high tide?', 'bot: High tide is at six.'])
  })

  it('shows the answers of all agents that a message wakes up as steps of one message, and ends when all have answered', async () => {
    const { open } = await start(
      { actor: 'fern', respond: 'ALWAYS', ...AGENT },
      { actor: 'moss', respond: 'MENTIONED', ...AGENT },
    )
    const { chat, messages } = open()
    provider.next(['@moss knows.'], ['At six.'], ['Thanks.'])
    await chat.sendMessage({ text: 'When is high tide?' })
    expect(messages()).toEqual([
      ['user', 'When is high tide?'],
      ['assistant', '@moss knows.', 'At six.', 'Thanks.'],
    ])
    const authors = chat.messages[1]!.parts.flatMap((part) =>
      part.type === 'text' ? [part.providerMetadata!.colloquy!.actor] : [],
    )
    expect(authors).toEqual(['fern', 'moss', 'fern'])
    expect(chat.messages[1]!.parts.filter(({ type }) => type === 'step-start')).toHaveLength(3)
    expect(chat.status).toBe('ready')
  })

  it('ends at once if nobody will answer', async () => {
    const { open, turns } = await start()
    const { chat, messages } = open()
    await chat.sendMessage({ text: 'Hello.' })
    expect(messages()).toEqual([['user', 'Hello.']])
    expect(chat.status).toBe('ready')
    expect(await turns()).toEqual(['ada: Hello.'])
  })

  it('waits for no answer to other people, and does not show it as its own', async () => {
    const { open, id, tenant } = await start(
      { actor: 'bot', ...AGENT },
      { actor: 'scribe', kind: 'AGENT', respond: 'MENTIONED' },
      { actor: 'fern', respond: 'MENTIONED', ...AGENT },
    )
    await tenant.append(id, 'bob', '@scribe?')
    const { chat, messages } = open({ run })
    const { pause, open: goOn } = gate()
    provider.next([pause, 'At six.'], ['For bob.'])
    const sending = chat.sendMessage({ text: 'When?' })
    await vi.waitFor(() => expect(provider.asked).toHaveLength(1))
    await tenant.append(id, 'bob', '@fern and @scribe?')
    await vi.waitFor(() => expect(provider.asked).toHaveLength(2))
    goOn()
    await sending
    expect(messages()).toEqual([
      ['user', 'When?'],
      ['assistant', 'At six.'],
    ])
    expect(chat.status).toBe('ready')
  })

  it('does not wait for the answers of people', async () => {
    const { open, ada, id } = await start({ actor: 'bot', respond: 'MENTIONED', ...AGENT })
    await ada.conversation(id).updateParticipant('bob', { respond: 'MENTIONED' })
    const { chat, messages } = open()
    await chat.sendMessage({ text: '@bob, @bot?' })
    expect(messages()).toEqual([
      ['user', '@bob, @bot?'],
      ['assistant', 'ok'],
    ])
    expect(chat.status).toBe('ready')
  })

  it('does not wait for turns that were begun before the message', async () => {
    const { open, tenant } = await start()
    const { chat, messages } = open()
    const client = clientOf(server.url, tenant.name, 'eve', TRANSPORTS[0])
    closing.push(client.close)
    const { pause, open: goOn } = gate()
    const written = client.conversation({ key: 'harbour' }).write(
      (async function* () {
        yield 'High '
        await pause()
        yield 'tide.'
      })(),
    )
    await vi.waitFor(async () =>
      expect((await client.conversation({ key: 'harbour' }).turns()).nodes[0]?.text).toBe('High '),
    )
    // The message comes after the turn that is being written, which does not belong to its answers.
    await chat.sendMessage({ text: 'Hello.' })
    expect(messages()).toEqual([['user', 'Hello.']])
    const sending = chat.sendMessage({ text: 'Anyone?' })
    goOn()
    await Promise.all([written, sending])
    expect(messages()).toHaveLength(2)
  })

  it('creates the conversation with the first message', async () => {
    const tenant = server.tenant()
    const client = clientOf(server.url, tenant.name, 'ada', TRANSPORTS[0])
    closing.push(client.close)
    const create = { participants: [{ actor: 'bot', respond: 'ALWAYS' as const, ...AGENT }] }
    const transport = createChatTransport({ client, create })
    expect(await transport.load('new')).toEqual([])
    expect(await transport.reconnectToStream({ chatId: 'new' })).toBeNull()
    const chat = new Chat<ConversationMessage>({ id: 'new', transport })
    provider.next(['Hi.'])
    await chat.sendMessage({ text: 'Hello.' })
    expect(chat.messages.map(shown)).toEqual([
      ['user', 'Hello.'],
      ['assistant', 'Hi.'],
    ])
    expect((await transport.load('new')).map(shown)).toEqual([
      ['user', 'Hello.'],
      ['assistant', 'Hi.'],
    ])
  })

  it('shows reasoning and the tools of the server with their results', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const { chat, messages, transport } = open({ run: { ...run, reasoning: true } })
    provider.next(
      [{ type: 'reasoning', text: 'I look.' }, 'Let me look. ', { id: 'c1', name: 'look', arguments: { at: 'sea' } }],
      ['At six.'],
    )
    await chat.sendMessage({ text: 'When?' })
    const answer = ['assistant', '(I look.)', 'Let me look. ', 'look output-available', 'At six.']
    expect(messages()).toEqual([['user', 'When?'], answer])
    const tool = chat.messages[1]!.parts.find((part) => 'toolCallId' in part)
    expect(tool).toMatchObject({
      type: 'dynamic-tool',
      input: { at: 'sea' },
      output: { tide: 6.1 },
      providerExecuted: true,
    })
    const [, loaded] = await transport.load('harbour')
    expect(shown(loaded!)).toEqual(answer)
    expect(loaded!.id).toBe(chat.messages[1]!.id)
    expect(loaded!.parts.length).toBe(chat.messages[1]!.parts.length)
  })

  it.each([
    { approved: true, state: 'output-available', says: 'Paid.', effect: [{ amount: 5 }] },
    { approved: false, state: 'output-denied', says: 'As you wish.', effect: [] },
  ])('asks for approval of a tool: $approved', async ({ approved, state, says, effect }) => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const { chat, messages, transport } = open(
      { run },
      { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses },
    )
    provider.next(['I pay. ', { id: 'p1', name: 'pay', arguments: { amount: 5 } }], [says])
    await chat.sendMessage({ text: 'Pay.' })
    expect(messages()[1]).toEqual(['assistant', 'I pay. ', 'pay approval-requested'])
    expect(chat.status).toBe('ready')
    const tool = chat.messages[1]!.parts.find((part) => 'toolCallId' in part)!
    await chat.addToolApprovalResponse({ id: tool.approval!.id, approved, reason: 'I say so.' })
    await vi.waitFor(() => expect(messages()[1]).toEqual(['assistant', 'I pay. ', `pay ${state}`, says]))
    await vi.waitFor(() => expect(chat.status).toBe('ready'))
    expect(paid).toEqual(effect)
    expect(messages()).toHaveLength(2)
    expect((await transport.load('harbour')).map(shown)[1]![3]).toBe(says)
  })

  it('asks for approval again after a reload', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const first = open({ run })
    provider.next([{ id: 'p1', name: 'pay', arguments: { amount: 5 } }], ['Paid.'])
    await first.chat.sendMessage({ text: 'Pay.' })
    const messages = await first.transport.load('harbour')
    const second = open(
      { run },
      { messages, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses },
    )
    expect(second.messages()[1]).toEqual(['assistant', 'pay approval-requested'])
    const tool = messages[1]!.parts.find((part) => 'toolCallId' in part)!
    await second.chat.addToolApprovalResponse({ id: tool.approval!.id, approved: true })
    await vi.waitFor(() => expect(second.messages()[1]).toEqual(['assistant', 'pay output-available', 'Paid.']))
    expect(paid).toEqual([{ amount: 5 }])
  })

  it('executes tools of the page and continues with their results', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const executed: unknown[] = []
    const tools = [{ name: 'where', description: 'Tells where the user is.', schema: { type: 'object' } }]
    const page = open(
      { run: { ...run, tools } },
      {
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
        onToolCall({ toolCall }) {
          executed.push(toolCall.input)
          void page.chat.addToolOutput({ tool: 'where', toolCallId: toolCall.toolCallId, output: 'Hull' })
        },
      },
    )
    provider.next([{ id: 'w1', name: 'where', arguments: { exact: true } }], ['You are in Hull.'])
    await page.chat.sendMessage({ text: 'Where am I?' })
    await vi.waitFor(() =>
      expect(page.messages()[1]).toEqual(['assistant', 'tool-where output-available', 'You are in Hull.']),
    )
    await vi.waitFor(() => expect(page.chat.status).toBe('ready'))
    expect(executed).toEqual([{ exact: true }])
    expect(page.messages()).toHaveLength(2)
    expect(provider.asked).toHaveLength(2)
  })

  it('stops the call of the provider and keeps what was written, on all pages', async () => {
    const { open, turns } = await start({ actor: 'bot', respond: 'ALWAYS', ...AGENT })
    const { chat, messages } = open()
    const other = open({}, {}, 'bob')
    closing.push(other.transport.follow('harbour', (change) => (other.chat.messages = change(other.chat.messages))))
    const { pause } = gate()
    let isAborted = false
    provider.next(['High ', (signal) => (signal.addEventListener('abort', () => (isAborted = true)), pause())])
    const sending = chat.sendMessage({ text: 'When?' })
    await vi.waitFor(() => expect(messages()[1]).toEqual(['assistant', 'High ']))
    await chat.stop()
    await sending
    expect(chat.status).toBe('ready')
    await vi.waitFor(async () => expect(await turns()).toEqual(['ada: When?', 'bot: High  ABORTED']))
    expect(isAborted).toBe(true)
    await vi.waitFor(() => expect(other.chat.messages[1]?.metadata?.abortReason).toBe('The run was cancelled.'))
    expect(other.messages()[1]).toEqual(['assistant', 'High '])
  })

  it('stops an agent that has not begun to answer yet', async () => {
    const { open, ada } = await start({ actor: 'bot', respond: 'ALWAYS', ...AGENT })
    const { chat } = open()
    const { pause } = gate()
    provider.next([pause])
    const sending = chat.sendMessage({ text: 'When?' })
    await vi.waitFor(() => expect(chat.status).toBe('submitted'))
    await vi.waitFor(async () => expect((await ada.conversation({ key: 'harbour' }).turns()).nodes).not.toEqual([]))
    await chat.stop()
    await sending
    await vi.waitFor(async () => {
      const { nodes } = await ada.conversation({ key: 'harbour' }).runs()
      expect(nodes.map(({ state }) => state)).toEqual(['CANCELLED'])
    })
  })

  it('resumes after a reload, also for messages of several agents that are being written', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT }, { actor: 'fern', respond: 'MENTIONED', ...AGENT })
    const first = open({ run })
    const { pause, open: goOn } = gate()
    provider.next(['High ', pause, 'tide at six.'])
    void first.chat.sendMessage({ text: 'When, @fern?' })
    await vi.waitFor(() => expect(first.messages()[1]?.[1]).toMatch(/High|ok/))
    const second = open({ run }, { messages: await first.transport.load('harbour') })
    void second.chat.resumeStream()
    await vi.waitFor(() => expect(second.chat.status).toBe('streaming'))
    goOn()
    await vi.waitFor(() => expect(second.chat.status).toBe('ready'))
    const answers = second.messages().slice(1)
    expect(answers).toHaveLength(2)
    expect(answers).toContainEqual(['assistant', 'High tide at six.'])
    expect(answers).toContainEqual(['assistant', 'ok'])
    expect(new Set(second.chat.messages.map(({ id }) => id)).size).toBe(3)
    // Nothing is left to resume.
    expect(await second.transport.reconnectToStream({ chatId: 'harbour' })).toBeNull()
  })

  it('does not stop the answer when a stream is resumed twice, but when the resumed stream is stopped', async () => {
    const { open, turns } = await start({ actor: 'bot', respond: 'ALWAYS', ...AGENT })
    const first = open()
    const { pause } = gate()
    provider.next(['High ', pause])
    void first.chat.sendMessage({ text: 'When?' })
    await vi.waitFor(() => expect(first.messages()[1]).toEqual(['assistant', 'High ']))
    const second = open({}, { messages: await first.transport.load('harbour') })
    const resuming = second.chat.resumeStream()
    const again = second.chat.resumeStream()
    await vi.waitFor(() =>
      expect(second.messages()).toEqual([
        ['user', 'When?'],
        ['assistant', 'High '],
      ]),
    )
    await vi.waitFor(() => expect(second.chat.status).toBe('streaming'))
    expect((await turns()).at(-1)).toBe('bot: High  STREAMING')
    await second.chat.stop()
    await Promise.all([resuming, again])
    await vi.waitFor(async () => expect((await turns()).at(-1)).toBe('bot: High  ABORTED'))
  })

  it('regenerates an answer as a newer version of the last reply', async () => {
    const { open, turns } = await start({ actor: 'bot', ...AGENT })
    const { chat, messages } = open({ run })
    provider.next([{ id: 'c1', name: 'look', arguments: {} }], ['At six.'], ['At sev', 'en.'])
    await chat.sendMessage({ text: 'When?' })
    await chat.regenerate()
    expect(messages()).toEqual([
      ['user', 'When?'],
      ['assistant', 'look output-available', 'At seven.'],
    ])
    expect(await turns()).toEqual(['ada: When?', 'bot: ', 'bot: ', 'bot: At seven.'])
    expect(JSON.stringify(provider.asked[2]!.messages)).not.toContain('At six.')
    expect(chat.status).toBe('ready')
  })

  it('regenerates the answer that is named, and keeps those of other agents', async () => {
    const { open, turns, transport } = await (async () => {
      const started = await start(
        { actor: 'fern', respond: 'MENTIONED', ...AGENT },
        { actor: 'moss', respond: 'MENTIONED', ...AGENT },
      )
      return { ...started, transport: started.open().transport }
    })()
    const first = open()
    provider.next(['One.'], ['Two.'])
    await first.chat.sendMessage({ text: '@fern, @moss?' })
    const { chat, messages } = open({}, { messages: await transport.load('harbour') })
    const [, one, two] = chat.messages
    provider.next(['Changed.'])
    await chat.regenerate({ messageId: one!.id })
    expect(messages()).toEqual([
      ['user', '@fern, @moss?'],
      ['assistant', 'Changed.'],
    ])
    const answers = (await turns()).slice(1).map((line) => line.replace(/^\w+: /, ''))
    expect(answers).toEqual(['Changed.', shown(two!)[1]])
  })

  it('regenerates an answer that is older than the turns that it has read', async () => {
    const { open, id, tenant, ada } = await start({ actor: 'bot', ...AGENT })
    const first = open({ run })
    provider.next(['At six.'])
    await first.chat.sendMessage({ text: 'When?' })
    for (let n = 0; n < 60; n++) await tenant.append(id, 'bob', `${n}`)
    const { chat, messages } = open({ run }, { messages: await first.transport.load('harbour', { turns: 100 }) })
    expect(messages()).toHaveLength(62)
    provider.next(['At seven.'])
    await chat.regenerate({ messageId: chat.messages[1]!.id })
    expect(messages()).toEqual([
      ['user', 'When?'],
      ['assistant', 'At seven.'],
    ])
    const { nodes } = await ada.conversation({ key: 'harbour' }).turns({ first: 2 })
    expect(nodes.map(({ text }) => text)).toEqual(['When?', 'At seven.'])
  })

  it('edits a message and answers it again', async () => {
    const { open, turns } = await start({ actor: 'bot', respond: 'ALWAYS', ...AGENT })
    const { chat, messages } = open()
    provider.next(['At six.'], ['Low tide is at noon.'])
    await chat.sendMessage({ text: 'When is high tide?' })
    await chat.sendMessage({ text: 'When is low tide?', messageId: chat.messages[0]!.id })
    expect(messages()).toEqual([
      ['user', 'When is low tide?'],
      ['assistant', 'Low tide is at noon.'],
    ])
    expect(await turns()).toEqual(['ada: When is low tide?', 'bot: Low tide is at noon.'])
  })

  it('edits a message after a reload, for the same audience', async () => {
    const { open, ada } = await start({ actor: 'bot', respond: 'ALWAYS', ...AGENT })
    const first = open()
    provider.next(['At six.'], ['At noon.'])
    await first.chat.sendMessage({ text: 'When is high tide?' }, { body: { audience: ['bot'] } })
    const { chat, messages } = open({}, { messages: await first.transport.load('harbour') })
    await chat.sendMessage({ text: 'When is low tide?', messageId: chat.messages[0]!.id })
    expect(messages()).toEqual([
      ['user', 'When is low tide?'],
      ['assistant', 'At noon.'],
    ])
    const { nodes } = await ada.conversation({ key: 'harbour' }).turns()
    expect(nodes.map(({ text, audience }) => [text, audience!.toSorted()])).toEqual([
      ['When is low tide?', ['ada', 'bot']],
      ['At noon.', ['ada', 'bot']],
    ])
  })

  it('sends a private message again as a private one', async () => {
    const { open, ada } = await start({ actor: 'bot', respond: 'ALWAYS', ...AGENT })
    let isLost = true
    const losing: typeof fetch = async (...given) => {
      if (isLost && String(given[1]?.body).includes('mutation AppendTurn')) {
        return Response.json({ errors: [{ message: 'lost', extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] })
      }
      return fetch(...given)
    }
    const { chat, messages } = open({}, {}, 'ada', { fetch: losing })
    await chat.sendMessage({ text: 'Psst.' }, { body: { audience: ['bot'] } })
    expect(chat.status).toBe('error')
    isLost = false
    await chat.regenerate()
    expect(messages()).toEqual([
      ['user', 'Psst.'],
      ['assistant', 'ok'],
    ])
    const { nodes } = await ada.conversation({ key: 'harbour' }).turns()
    expect(nodes.map(({ audience }) => audience!.toSorted())).toEqual([
      ['ada', 'bot'],
      ['ada', 'bot'],
    ])
  })

  it('keeps decisions that are not sent yet while it follows the conversation', async () => {
    const { open, id, tenant } = await start({ actor: 'bot', ...AGENT })
    const { chat, messages, transport } = open(
      { run },
      { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses },
    )
    closing.push(transport.follow('harbour', (change) => (chat.messages = change(chat.messages))))
    provider.next(
      [
        { id: 'p1', name: 'pay', arguments: { amount: 1 } },
        { id: 'p2', name: 'pay', arguments: { amount: 2 } },
      ],
      ['Paid.'],
    )
    await chat.sendMessage({ text: 'Pay.' })
    const tools = chat.messages[1]!.parts.filter((part) => 'toolCallId' in part)
    await chat.addToolApprovalResponse({ id: tools[0]!.approval!.id, approved: true })
    await tenant.append(id, 'bob', 'Anything new?')
    await vi.waitFor(() => expect(messages().at(-1)).toEqual(['user', 'Anything new?']))
    expect(messages()[1]).toEqual(['assistant', 'pay approval-responded', 'pay approval-requested'])
    await chat.addToolApprovalResponse({ id: tools[1]!.approval!.id, approved: true })
    await chat.sendMessage()
    await vi.waitFor(() => expect(messages()[1]?.at(-1)).toBe('Paid.'))
    expect(paid).toEqual([{ amount: 1 }, { amount: 2 }])
  })

  it('sends nothing for an answer that was cancelled, and says so', async () => {
    const { open, ada } = await start({ actor: 'bot', ...AGENT })
    const { chat } = open({ run }, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
    provider.next([{ id: 'p1', name: 'pay', arguments: { amount: 5 } }])
    await chat.sendMessage({ text: 'Pay.' })
    await ada.conversation({ key: 'harbour' }).stop()
    const tool = chat.messages[1]!.parts.find((part) => 'toolCallId' in part)!
    await chat.addToolApprovalResponse({ id: tool.approval!.id, approved: true })
    await vi.waitFor(() => expect(chat.status).toBe('error'))
    expect(chat.error!.message).toMatch(/has ended or was cancelled/)
  })

  it('answers a new message while an older answer waits, as another message', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const { chat, messages, transport } = open({ run })
    provider.next([{ id: 'p1', name: 'pay', arguments: { amount: 5 } }], ['At six.'])
    await chat.sendMessage({ text: 'Pay.' })
    await chat.sendMessage({ text: 'When?' })
    const expected = [
      ['user', 'Pay.'],
      ['assistant', 'pay approval-requested'],
      ['user', 'When?'],
      ['assistant', 'At six.'],
    ]
    expect(messages()).toEqual(expected)
    expect((await transport.load('harbour')).map(shown)).toEqual(expected)
  })

  it('opens a chat once for concurrent first uses, and ends what follows it', async () => {
    const { open, id, tenant } = await start({ actor: 'bot', respond: 'ALWAYS', ...AGENT })
    const { chat, messages, transport, client } = open()
    const read = vi.spyOn(client, 'conversation')
    const resuming = chat.resumeStream()
    let changes = 0
    const end = transport.follow('harbour', (change) => {
      changes += 1
      chat.messages = change(chat.messages)
    })
    await resuming
    await tenant.append(id, 'bob', 'Anyone?')
    await vi.waitFor(() => expect(messages().at(-1)).toEqual(['assistant', 'ok']))
    // One to find the conversation, and one for the chat.
    expect(read).toHaveBeenCalledTimes(2)
    end()
    const before = changes
    await chat.sendMessage({ text: '@bot, again?' })
    expect(changes).toBe(before)
    expect(messages().at(-1)).toEqual(['assistant', 'ok'])
  })

  it('ends its subscriptions when a stream is cancelled that nobody reads', async () => {
    const { open, id, tenant } = await start({ actor: 'bot', ...AGENT })
    const { transport, client } = open({ run })
    const { pause } = gate()
    provider.next(['High ', pause])
    const message = { id: 'm1', role: 'user' as const, parts: [{ type: 'text' as const, text: 'When?' }] }
    const given = { chatId: 'harbour', trigger: 'submit-message' as const, messageId: undefined, messages: [message] }
    const stream = await transport.sendMessages({ ...given, abortSignal: undefined })
    const request = vi.spyOn(client, 'request')
    // The chat is read again after each entry.
    await tenant.append(id, 'bob', 'Anyone?')
    await vi.waitFor(() => expect(request).toHaveBeenCalled())
    await stream.cancel()
    const before = request.mock.calls.length
    await tenant.append(id, 'bob', 'No one?')
    // Another page that is read afterwards.
    await transport.load('harbour')
    expect(request.mock.calls.length).toBe(before)
  })

  it('sends a message again whose request failed, once', async () => {
    const { open, turns } = await start({ actor: 'bot', respond: 'ALWAYS', ...AGENT })
    const { chat, client, messages } = open()
    const request = vi.spyOn(client, 'request').mockRejectedValueOnce(new Error('lost'))
    await chat.sendMessage({ text: 'When?' })
    expect(chat.error?.message).toBe('lost')
    request.mockRestore()
    provider.next(['At six.'])
    await chat.regenerate()
    expect(messages().at(-1)).toEqual(['assistant', expect.stringMatching(/At six\.|ok/)])
    expect((await turns())[0]).toBe('ada: When?')
    expect((await turns()).filter((line) => line.startsWith('ada'))).toHaveLength(1)
  })

  it('reports the failure of a run', async () => {
    const { open } = await start({ actor: 'bot', ...AGENT })
    const { chat, messages } = open({ run })
    provider.next([new Error('defect')])
    await chat.sendMessage({ text: 'When?' })
    expect(chat.status).toBe('error')
    expect(chat.error?.message).toMatch(/\S/)
    expect(chat.error?.message).not.toContain('defect')
    expect(messages()).toEqual([['user', 'When?']])
  })

  it('follows what other people and agents write, and shows each answer as a message of its own', async () => {
    const { open, id, tenant } = await start(
      { actor: 'fern', respond: 'ALWAYS', ...AGENT },
      { actor: 'moss', respond: 'MENTIONED', ...AGENT },
    )
    const { chat, messages, transport } = open()
    closing.push(
      transport.follow('harbour', (change) => {
        chat.messages = change(chat.messages)
      }),
    )
    await tenant.append(id, 'bob', 'Anyone?', {})
    await vi.waitFor(() =>
      expect(messages()).toEqual([
        ['user', 'Anyone?'],
        ['assistant', 'ok'],
      ]),
    )
    expect(chat.messages[0]!.metadata).toMatchObject({ actor: 'bob', name: 'bob' })
    provider.next(['@moss knows.'], ['At six.'])
    await chat.sendMessage({ text: 'When?' })
    await vi.waitFor(() =>
      expect(messages().slice(2, 5)).toEqual([
        ['user', 'When?'],
        ['assistant', '@moss knows.'],
        ['assistant', 'At six.'],
      ]),
    )
    await vi.waitFor(() => expect(new Set(chat.messages.map((each) => each.id)).size).toBe(chat.messages.length))
    expect(chat.messages[2]!.metadata).toMatchObject({ actor: 'ada' })
  })
})
