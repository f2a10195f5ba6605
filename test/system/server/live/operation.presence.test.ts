// The presence of actors whose connections end: on one process in the embedded database, on two processes over Redis.
// Without the end of a connection, it would last for 60 s, which is longer than the tests wait for an event.

import { createClient, type Client } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { loadConfig } from '../../../../src/config/config.ts'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import { setPresence } from '../../../../src/domain/conversation/presence.ts'
import { appendTurn } from '../../../../src/domain/turn/append/append.ts'
import { createServer, type Server } from '../../../../src/server/http/http.ts'
import { backends } from '../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../support/process.ts'
import { read } from '../../../support/reading.ts'

const SUBSCRIPTION =
  'subscription ($id: ID!, $as: String) { conversationEvents(conversationId: $id, as: $as) { __typename } }'

describe.each(backends)('the presence of an actor on $name', (backend) => {
  let site: Site
  const processes: Process[] = []
  const servers: Server[] = []
  const urls: string[] = []
  const cleanups: (() => unknown)[] = []

  beforeAll(async () => {
    site = await openSite(backend)
    for (let n = 0; n < 2; n++) {
      const started = await site.start({ presentWriters: true })
      const health = { database: async () => {}, bus: async () => {}, durability: 'as tested' }
      const server = createServer(started.deps, { ...loadConfig({ SHUTDOWN_SECONDS: '2' }), port: 0 }, health)
      processes.push(started)
      servers.push(server)
      urls.push(`127.0.0.1:${await server.listen()}/graphql`)
    }
  })
  afterAll(async () => {
    for (const step of cleanups.splice(0).reverse()) await step()
    await Promise.all(servers.map((server) => server.close()))
    await site.close()
  })

  /** A conversation in which "ada" is TYPING, as set over HTTP; and the changes of her presence that "bob" receives. */
  async function conversationWith(tenant: string) {
    const { deps } = processes[0]!
    const viewer = (actor: string) => ({ tenant, actor })
    const participants = [{ actor: 'ada' }, { actor: 'bob' }]
    const { conversation } = await createConversation(deps, viewer('ada'), { participants })
    const conversationId = conversation.id
    const live = await read(deps, viewer('bob'), { conversationId, types: ['PresenceChanged'] })
    cleanups.push(() => live.stop())
    const sets = (state: 'TYPING' | 'ONLINE') => setPresence(deps, viewer('ada'), { conversationId, state }, null)
    const states = () => live.events.map((event) => (event.type === 'PresenceChanged' ? event.state : event.type))
    const isOffline = () => live.until('the end of the presence', () => states().at(-1) === 'OFFLINE')
    return { conversationId, live, sets, states, isOffline }
  }

  /** Opens a WebSocket to a process. Resolves when the server has accepted it. */
  async function connect(process: number, tenant: string, actor: string): Promise<Client> {
    const client = createClient({
      url: `ws://${urls[process]}`,
      webSocketImpl: WebSocket,
      connectionParams: { 'x-tenant': tenant, 'x-actor': actor },
      retryAttempts: 0,
      lazy: false,
    })
    cleanups.push(() => client.dispose())
    await new Promise<void>((resolve) => client.on('connected', () => resolve()))
    return client
  }

  /** Opens an event stream to a process. Resolves when it has started; returns a function that closes it. */
  async function stream(process: number, tenant: string, actor: string, id: string, as: string | null = null) {
    const controller = new AbortController()
    const response = await fetch(`http://${urls[process]}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'x-tenant': tenant,
        'x-actor': actor,
      },
      body: JSON.stringify({ query: SUBSCRIPTION, variables: { id, as } }),
      signal: controller.signal,
    })
    expect(response.status).toBe(200)
    const abort = () => controller.abort()
    cleanups.push(abort)
    return abort
  }

  it('ends with its last WebSocket, also if it was set over HTTP', async () => {
    const { tenant } = newViewer()
    const { sets, states, isOffline, live } = await conversationWith(tenant)
    const client = await connect(1, tenant, 'ada')
    await sets('TYPING')
    await live.until('the state', () => states().length === 1)
    await client.dispose()
    await isOffline()
    expect(states()).toEqual(['TYPING', 'OFFLINE'])
  })

  it('ends with its last event stream, also if it was set by writing', async () => {
    const { tenant } = newViewer()
    const { conversationId, states, isOffline, live } = await conversationWith(tenant)
    const close = await stream(1, tenant, 'ada', conversationId)
    const turn = { role: 'USER' as const, content: 'hello' }
    await appendTurn(processes[0]!.deps, { tenant, actor: 'ada' }, { conversationId, turn })
    await live.until('the state', () => states().length === 1)
    close()
    await isOffline()
    expect(states()).toEqual(['ONLINE', 'OFFLINE'])
  })

  it('ends with the subscription that another actor has opened for it', async () => {
    const { tenant } = newViewer()
    const { conversationId, sets, isOffline } = await conversationWith(tenant)
    const close = await stream(1, tenant, 'back end', conversationId, 'ada')
    await sets('TYPING')
    close()
    await isOffline()
  })

  it('stays while another connection of the actor is open, on any process', async () => {
    const { tenant } = newViewer()
    const { conversationId, sets, live } = await conversationWith(tenant)
    const other = await conversationWith(tenant)
    const first = await connect(0, tenant, 'ada')
    const second = await connect(1, tenant, 'ada')
    const close = await stream(1, tenant, 'ada', conversationId)
    await sets('TYPING')
    await other.sets('ONLINE')
    // The end of a connection of somebody else shows that the ends of these connections were handled before.
    const bystander = async (name: string) => {
      const { deps } = processes[0]!
      const viewer = { tenant, actor: name }
      await appendTurn(deps, viewer, { conversationId, turn: { role: 'USER', content: 'hello' } })
      const isShown = (state: string) => (event: (typeof live.events)[number]) =>
        event.type === 'PresenceChanged' && event.participant.actor === name && event.state === state
      const client = await connect(1, tenant, name)
      await live.until(`${name} to write`, ({ events }) => events.some(isShown('ONLINE')))
      await client.dispose()
      await live.until(`${name} to leave`, ({ events }) => events.some(isShown('OFFLINE')))
    }
    await first.dispose()
    await bystander('carl')
    close()
    await bystander('dora')
    const ofAda = () =>
      live.events.filter((event) => event.type === 'PresenceChanged' && event.participant.actor === 'ada')
    expect(ofAda()).toMatchObject([{ state: 'TYPING' }])
    await second.dispose()
    // `isOffline` accepts the end of the presence of anybody.
    await live.until('ada to leave', () => ofAda().length > 1)
    await other.isOffline()
    expect(ofAda()).toMatchObject([{ state: 'TYPING' }, { state: 'OFFLINE' }])
  })
})
