// Sockets and event streams end when their token expires or is revoked, on every server process, and continue if the
// client sends a new token in time.

import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { loadConfig } from '../../../../src/config/config.ts'
import { createApiKey, revokeApiKey, rotateApiKey } from '../../../../src/domain/trust/api-key/api-key.ts'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../../../src/domain/deps.ts'
import { RIGHTS } from '../../../../src/domain/kernel/rights/principal.ts'
import { appendTurn } from '../../../../src/domain/turn/append/append.ts'
import { RECHECK_MS } from '../../../../src/server/auth/sessions.ts'
import { createServer, type Server } from '../../../../src/server/http/http.ts'
import { backends } from '../../../support/backend.ts'
import { useRunningClock } from '../../../support/fake-clock.ts'
import { openSite, type Process, type Site } from '../../../support/process.ts'
import { claimsOf, ISSUER, SECRET, signWithSecret } from '../../../support/tokens.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'

const FOLLOW = 'subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { seq } }'
/** The life of a token that expires in a test: time to connect on a busy machine, but less than between two pings. */
const BRIEF_SECONDS = 10
const admin = { tenant: 'acme', actor: 'admin' }
const ada = { tenant: 'acme', actor: 'ada' }

describe.each(backends)('the sessions of a token on $name', (backend) => {
  const clock = useRunningClock()
  let site: Site
  let processes: Process[]
  let servers: Server[]
  let urls: string[]
  const open: WebSocket[] = []
  let conversationId: string
  let names = 0

  beforeAll(async () => {
    site = await openSite(backend, {}, { clock })
    processes = [await site.start(), await site.start()]
    const config = loadConfig({ AUTH_MODE: 'jwt', JWT_SECRET: SECRET, JWT_ISSUER: ISSUER, SHUTDOWN_SECONDS: '2' })
    const settings = { ...config, port: 0, authentication: { ...config.authentication } }
    settings.authentication.jwt = { ...settings.authentication.jwt!, clockToleranceSeconds: 0 }
    const health = { database: async () => {}, bus: async () => {}, durability: '' }
    servers = processes.map(({ deps }) => createServer(deps, settings, health))
    urls = []
    for (const server of servers) urls.push(`http://127.0.0.1:${await server.listen()}`)
    const { conversation } = await createConversation(deps(), ada, { participants: [{ actor: 'ada' }] })
    conversationId = conversation.id
  })
  afterAll(async () => {
    for (const server of servers) await server.close()
    await site.close()
  })
  afterEach(() => {
    for (const socket of open.splice(0)) socket.terminate()
  })

  const deps = (): Deps => processes[0]!.deps
  const newKey = (more: object = {}) =>
    createApiKey(deps(), admin, { name: `key ${++names}`, actor: 'ada', rights: [...RIGHTS], ...more })
  const newToken = (seconds: number, more: object = {}) =>
    signWithSecret(claimsOf('acme', { exp: Math.floor(clock.Date.now() / 1000) + seconds, ...more }))

  type Message = { type: string; id?: string; payload?: any }

  async function connect(url: string, token: string) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    open.push(socket)
    const received: Message[] = []
    socket.on('message', (data) => void received.push(JSON.parse(String(data))))
    const closed = new Promise<[number, string]>((resolve) => {
      socket.once('close', (code, reason) => resolve([code, String(reason)]))
    })
    await once(socket, 'open')
    const send = (message: Message) => socket.send(JSON.stringify(message))
    send({ type: 'connection_init', payload: { token } })
    await expect.poll(() => received.shift()?.type).toBe('connection_ack')
    send({ id: '1', type: 'subscribe', payload: { query: FOLLOW, variables: { id: conversationId } } })
    await expect.poll(() => received.some(({ type }) => type === 'next')).toBe(true)
    return { received, closed, send }
  }

  /** Follows the conversation by Server-Sent Events. `text` resolves when the stream ends. */
  async function stream(url: string, token: string) {
    const search = new URLSearchParams({ query: FOLLOW, variables: JSON.stringify({ id: conversationId }) })
    const request = httpRequest(`${url}/graphql?${search}`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${token}`, 'apollo-require-preflight': '1' },
    }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const text = (async () => {
      let all = ''
      for await (const part of response.setEncoding('utf8')) all += part
      return all
    })()
    return { status: response.statusCode, text }
  }

  /** Revokes the key without a message of the bus. */
  const revokeSilently = (id: string) =>
    deps()
      .db.of(SYSTEM)
      .apiKey.update({ where: { id }, data: { revokedAt: new Date() } })

  it('end on every server when the key is revoked, and with 4403 and an error', async () => {
    const { apiKey, token } = await newKey()
    const sockets = await Promise.all(urls.map((url) => connect(url, token)))
    const streams = await Promise.all(urls.map((url) => stream(url, token)))
    await revokeApiKey(deps(), admin, { id: apiKey.id })
    await appendTurn(deps(), ada, { conversationId, turn: { role: 'USER', content: 'After the revocation.' } })
    for (const { closed } of sockets) expect(await closed).toEqual([4403, 'The API key was revoked.'])
    for (const { text } of streams) {
      const error = { message: 'The API key was revoked.', extensions: { code: 'UNAUTHENTICATED' } }
      expect((await text).trimEnd().split('\n').at(-1)).toBe(`data: ${JSON.stringify({ errors: [error] })}`)
    }
    const refused = await fetch(`${urls[1]}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{"query":"{ __typename }"}',
    })
    expect(refused.status).toBe(401)
  })

  it('end even without a message of the bus, because keys are read again periodically', async () => {
    const { apiKey, token } = await newKey()
    const { closed } = await connect(urls[1]!, token)
    await revokeSilently(apiKey.id)
    await clock.advance(RECHECK_MS)
    expect((await closed)[0]).toBe(4403)
  })

  it('end when the key is rotated without an overlap, and continue when it is rotated with one', async () => {
    const first = await newKey()
    const { closed } = await connect(urls[1]!, first.token)
    await rotateApiKey(deps(), admin, { id: first.apiKey.id, expectedVersion: 1 })
    expect((await closed)[0]).toBe(4403)
    const second = await newKey()
    const kept = await connect(urls[1]!, second.token)
    const third = await newKey()
    const revoked = await connect(urls[1]!, third.token)
    await rotateApiKey(deps(), admin, { id: second.apiKey.id, expectedVersion: 1, overlapSeconds: 60 })
    await revokeSilently(third.apiKey.id)
    await clock.advance(RECHECK_MS)
    // Keys are checked in the order in which their sessions began.
    expect((await revoked.closed)[0]).toBe(4403)
    kept.send({ type: 'ping' })
    await expect.poll(() => kept.received.at(-1)?.type).toBe('pong')
  })

  it('end when the token expires', async () => {
    const token = await newToken(BRIEF_SECONDS)
    const { closed } = await connect(urls[0]!, token)
    const { text } = await stream(urls[0]!, token)
    await clock.advance(BRIEF_SECONDS * 1000)
    expect((await closed)[0]).toBe(4403)
    expect(await text).toContain('UNAUTHENTICATED')
  })

  it('continue with a new token from a ping, without losing an event', async () => {
    const socket = await connect(urls[0]!, await newToken(BRIEF_SECONDS))
    const expiry = Math.floor(clock.Date.now() / 1000) + 600
    socket.send({ type: 'ping', payload: { token: await newToken(600, { exp: expiry, jti: 'second' }) } })
    const pong = () => socket.received.find(({ type }) => type === 'pong')
    await expect.poll(pong).toEqual({ type: 'pong', payload: { expiresAt: new Date(expiry * 1000).toISOString() } })
    await clock.advance(BRIEF_SECONDS * 1000)
    const { turn } = await appendTurn(deps(), ada, { conversationId, turn: { role: 'USER', content: 'Still here.' } })
    const seqs = () => socket.received.flatMap(({ payload }) => payload?.data?.conversationEvents.seq ?? [])
    await expect.poll(() => seqs().at(-1)).toBe(turn.seq)
    expect(seqs()).toEqual(Array.from({ length: turn.seq }, (_, n) => n + 1))
  })

  it.each([
    ['is invalid', () => 'garbage'],
    ['is of another actor', () => newToken(600, { sub: 'bob' })],
    ['is of another tenant', () => newToken(600, { tenant: 'other' })],
    ['has fewer rights', () => newToken(600, { rights: 'read' })],
  ])('end if the new token %s', async (_, make) => {
    const socket = await connect(urls[0]!, await newToken(600, { rights: ['read', 'write'] }))
    socket.send({ type: 'ping', payload: { token: await make() } })
    expect((await socket.closed)[0]).toBe(4403)
  })
})
