// The server's half of a chat page: an application's own routes, to which pages with the AI SDK's own transport talk.

import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { Chat } from '@ai-sdk/react'
import { createUIMessageStreamResponse, DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createChatTransport, toUIMessageStream } from '../../../src/ai-sdk/index.ts'
import { startJobs } from '../../../src/domain/background/jobs.ts'
import { backends } from '../../support/backend.ts'
import { clientOf, TRANSPORTS } from '../../support/client.ts'
import { createScriptedProvider, gate } from '../../support/scripted-provider.ts'
import { useServer } from '../../support/server.ts'

const provider = createScriptedProvider()
const AGENT = { agent: { provider: 'scripted' } }
const textsOf = ({ parts }: UIMessage) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))

/** Serves a function from a request to a response. Returns the address. */
async function serve(answer: (request: Request) => Promise<Response>) {
  const server = createServer(async (incoming, outgoing) => {
    const body =
      incoming.method === 'POST' ? await new Response(Readable.toWeb(incoming) as ReadableStream).text() : null
    const given = { method: incoming.method!, ...(body === null ? null : { body }) }
    const response = await answer(new Request(`http://localhost${incoming.url}`, given))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    if (!response.body) return outgoing.end()
    for await (const chunk of response.body) outgoing.write(chunk)
    outgoing.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

describe.each(backends)("an application's routes on $name", (backend) => {
  const server = useServer(backend, {}, { settings: { providers: { scripted: provider } } })
  const closing: (() => unknown)[] = []
  let stopJobs = async () => {}
  beforeAll(async () => void (stopJobs = await startJobs(server.deps)))
  afterAll(() => stopJobs())
  beforeEach(() => provider.reset())
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function start() {
    const tenant = server.tenant()
    const client = clientOf(server.url, tenant.name, 'ada', TRANSPORTS[0])
    closing.push(client.close)
    const participants = [
      { actor: 'bot', respond: 'ALWAYS' as const, ...AGENT },
      { actor: 'idle', ...AGENT },
    ]
    await client.createConversation({ key: 'harbour', participants })
    return { client, conversation: client.conversation({ key: 'harbour' }) }
  }

  it('stream the answer of a run, from its beginning, to any number of readers', async () => {
    const { client, conversation } = await start()
    const { pause, open } = gate()
    provider.next(['High ', pause, 'tide.'])
    const turns = [{ role: 'USER' as const, content: 'When?', audience: ['idle'] }]
    const run = await conversation.run({ actor: 'idle', turns, wait: false })
    const read = async (stream: ReadableStream) => {
      let last: UIMessage | undefined
      for await (const message of readUIMessageStream({ stream })) last = message
      return last
    }
    const first = read(toUIMessageStream(client, run))
    await vi.waitFor(async () => expect((await conversation.turns()).nodes.at(-1)?.text).toBe('High '))
    const second = read(toUIMessageStream(client, run.id))
    open()
    for (const message of await Promise.all([first, second])) {
      expect(textsOf(message!)).toEqual(['High tide.'])
    }
    const late = await read(toUIMessageStream(client, run))
    expect(textsOf(late!)).toEqual(['High tide.'])
  })

  it('fail for a run that the client does not see', async () => {
    const { client } = await start()
    const reader = toUIMessageStream(client, 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV').getReader()
    await expect(reader.read()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it("serve pages with the AI SDK's own transport: messages, and streams that are resumed after a reload", async () => {
    const { client, conversation } = await start()
    const transport = createChatTransport({ client })
    const { url, close } = await serve(async (request) => {
      if (request.method === 'POST') {
        const { id: chatId, trigger, messageId, messages, ...body } = await request.json()
        const given = { chatId, trigger, messageId, messages, body, abortSignal: undefined }
        const stream = await transport.sendMessages(given)
        return createUIMessageStreamResponse({ stream })
      }
      const [, , , chatId] = new URL(request.url).pathname.split('/')
      const stream = await transport.reconnectToStream({ chatId: chatId! })
      return stream ? createUIMessageStreamResponse({ stream }) : new Response(null, { status: 204 })
    })
    closing.push(close)
    const open = (messages: UIMessage[] = []) =>
      new Chat({ id: 'harbour', messages, transport: new DefaultChatTransport({ api: `${url}/api/chat` }) })
    const first = open()
    const { pause, open: goOn } = gate()
    provider.next(['High ', pause, 'tide.'])
    const sending = first.sendMessage({ text: 'When?' }, { body: { audience: ['bot'] } })
    await vi.waitFor(() => expect(first.messages.map(textsOf)).toEqual([['When?'], ['High ']]))
    expect((await conversation.turns()).nodes[0]).toMatchObject({ text: 'When?', audience: ['ada', 'bot'] })
    const second = open(await transport.load('harbour'))
    const resuming = second.resumeStream()
    await vi.waitFor(() => expect(second.status).toBe('streaming'))
    goOn()
    await Promise.all([sending, resuming])
    for (const { messages, status } of [first, second]) {
      expect(messages.map(textsOf)).toEqual([['When?'], ['High tide.']])
      expect(status).toBe('ready')
    }
    await open(await transport.load('harbour')).resumeStream()
    expect((await conversation.turns()).nodes).toHaveLength(2)
  })
})
