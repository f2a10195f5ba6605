// The door of AG-UI on a server that authenticates its clients: what is refused before a run starts, what a token may do,
// and how streams end with their token and with the server.

import { HttpAgent } from '@ag-ui/client'
import type { BaseEvent, Message } from '@ag-ui/core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startJobs } from '../../../../../src/domain/background/jobs.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { createApiKey, revokeApiKey } from '../../../../../src/domain/trust/api-key/api-key.ts'
import type { Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { counters } from '../../../../../src/runtime/counters.ts'
import { backends } from '../../../../support/backend.ts'
import { createScriptedProvider, forever, gate } from '../../../../support/scripted-provider.ts'
import { useServer } from '../../../../support/server.ts'

const provider = createScriptedProvider()

describe.each(backends)('the door of AG-UI on $name', (backend) => {
  const server = useServer(backend, { AUTH_MODE: 'keys' }, { settings: { providers: { scripted: provider } } })
  let stopJobs = async () => {}
  beforeAll(async () => void (stopJobs = await startJobs(server.deps)))
  afterAll(() => stopJobs())
  beforeEach(() => provider.reset())
  // The client prints each failed run.
  beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => {}))
  afterEach(() => vi.restoreAllMocks())

  /** Opens a page of ada, whose key has the rights. `make` is called with the key's viewer before. */
  async function open(rights: Right[], query = '?agent=bot') {
    const { name } = server.tenant()
    const admin = { tenant: name, actor: 'admin' }
    const { apiKey, token } = await createApiKey(server.deps, admin, {
      name: 'page',
      actor: 'ada',
      kind: 'HUMAN',
      rights,
    })
    const headers = { authorization: `Bearer ${token}` }
    const agent = new HttpAgent({ url: `${server.url}/agui${query}`, threadId: 'harbour', headers })
    const events: BaseEvent[] = []
    agent.subscribe({ onEvent: ({ event }) => void events.push(event) })
    const send = (content: string, input: object = {}) => {
      agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
      return agent.runAgent(input)
    }
    const texts = () => agent.messages.map((message: Message) => message.content)
    const lastEvent = () => events.at(-1)
    const create = () =>
      createConversation(
        server.deps,
        { tenant: name, actor: 'ada' },
        { key: 'harbour', participants: [{ actor: 'bot', kind: 'AGENT', agent: { provider: 'scripted' } }] },
      )
    return {
      agent,
      events,
      send,
      texts,
      lastEvent,
      create,
      headers,
      revoke: () => revokeApiKey(server.deps, admin, { id: apiKey.id }),
    }
  }

  const post = (headers: Record<string, string>, init: RequestInit = {}) =>
    fetch(`${server.url}/agui`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
      body: JSON.stringify({ threadId: 'harbour', runId: 'r', messages: [] }),
      ...init,
    })

  it.each<[string, RequestInit & { headers?: Record<string, string> }, number, string]>([
    ['a GET', { method: 'GET', body: null }, 405, 'METHOD_NOT_ALLOWED'],
    ['another media type', { headers: { 'content-type': 'text/plain' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a client that accepts no events', { headers: { accept: 'application/json' } }, 406, 'NOT_ACCEPTABLE'],
    ['a request without a token', { headers: {} }, 401, 'UNAUTHENTICATED'],
  ])('refuses %s with a problem', async (_, { headers, ...init }, status, code) => {
    const response = await post(headers ?? {}, init)
    expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
    expect(await response.json()).toMatchObject({ status, code })
  })

  it('answers a token with the rights to read and write, in an own conversation and in a new one', async () => {
    const { send, texts, create } = await open(['read', 'write'])
    await create()
    provider.next(['At six.'])
    await send('When?')
    expect(texts()).toEqual(['When?', 'At six.'])
    const other = await open(['read', 'write'])
    await other.send('When?')
    expect(other.texts()).toEqual(['When?', expect.any(String)])
  })

  it('answers without the tools and the context of a client that may not add them, and says so', async () => {
    const { send, texts, create, events } = await open(['read', 'write'])
    await create()
    provider.next(['At six.'])
    const tools = [{ name: 'confirm', description: 'Asks.' }]
    await send('When?', { tools, context: [{ description: 'Page', value: 'Tides' }] })
    expect(texts()).toEqual(['When?', 'At six.'])
    expect(events.find(({ type }) => type === 'CUSTOM')).toMatchObject({
      name: 'inputRefused',
      value: { fields: ['instructions', 'tools'], code: 'NOT_ALLOWED' },
    })
    expect(JSON.stringify(provider.asked)).not.toContain('Tides')
  })

  it('adds them for a token that may act as the agent', async () => {
    const { send, create, events } = await open(['read', 'write', 'act-as', 'manage'])
    await create()
    await send('When?', { context: [{ description: 'Page', value: 'Tides' }] })
    expect(events.some(({ type }) => type === 'CUSTOM')).toBe(false)
    expect(JSON.stringify(provider.asked)).toContain('Page: Tides')
  })

  it('refuses a message of a token that may only read, which can still follow', async () => {
    const { create, headers } = await open(['read'])
    await create()
    const body = (messages: object[]) => JSON.stringify({ threadId: 'harbour', runId: 'r', messages })
    const refused = await post(headers, { body: body([{ id: 'm', role: 'user', content: 'Hi.' }]) })
    expect([refused.status, (await refused.json()).code]).toEqual([403, 'NOT_ALLOWED'])
    const followed = await post(headers, { body: body([]) })
    expect(await followed.text()).toContain('"type":"RUN_FINISHED"')
  })

  it('ends a stream with an error when its token is revoked, and leaves nothing behind', async () => {
    const { send, create, lastEvent, texts, revoke } = await open(['read', 'write'])
    await create()
    const before = counters.eventStreams
    provider.next(['High ', forever])
    const sending = send('When?').catch(() => {})
    await vi.waitFor(() => expect(texts()).toEqual(['When?', 'High ']))
    expect(counters.eventStreams).toBe(before + 1)
    await revoke()
    await sending
    expect(lastEvent()).toMatchObject({ type: 'RUN_ERROR', code: 'UNAUTHENTICATED' })
    await vi.waitFor(() => expect(counters.eventStreams).toBe(before))
  })

  it('lets the agent go on when the page is closed, and ends the stream with an error when the server shuts down', async () => {
    const { agent, send, create, lastEvent, texts } = await open(['read', 'write'])
    await create()
    const { pause, open: goOn } = gate()
    provider.next(['High ', pause, 'tide.'], ['Low ', forever])
    const cut = send('When?').catch(() => {})
    await vi.waitFor(() => expect(texts()).toEqual(['When?', 'High ']))
    agent.abortRun()
    await cut
    goOn()
    await agent.runAgent()
    expect(texts()).toEqual(['When?', 'High tide.'])
    const sending = send('And then?').catch(() => {})
    await vi.waitFor(() => expect(texts().at(-1)).toBe('Low '))
    await server.close()
    await sending
    expect(lastEvent()).toMatchObject({ type: 'RUN_ERROR', code: 'SERVER_BUSY' })
  })
})
