// The MCP server over real sockets, with the client of the SDK, which checks the answers of tools against their schemas.

import { describe, expect, it, vi } from 'vitest'
import { createApiKey, revokeApiKey } from '../../../../../src/domain/trust/api-key/api-key.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import type { Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { MAX_SUBSCRIPTIONS } from '../../../../../src/domain/kernel/live/mcp-session.ts'
import { openVersion } from '../../../../../src/domain/turn/open-version.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { backends, embedded } from '../../../../support/backend.ts'
import { connectMcp, INITIALIZE, sendRpc } from '../../../../support/mcp.ts'
import { PATIENCE_MS } from '../../../../support/patience.ts'
import { serveAlso, useServer, type TestServer } from '../../../../support/server.ts'
import { LIMITS } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

/** Returns functions for clients of a new tenant. */
function tenantOf(server: TestServer) {
  const tenant = server.tenant()
  const names = (actor: string) => ({ 'x-tenant': tenant.name, 'x-actor': actor })
  return {
    tenant,
    names,
    connect: (actor: string, url = server.url) => connectMcp(url, names(actor)),
    send: (message: object | string, headers: Record<string, string> = {}) =>
      sendRpc(server.url, message, { ...names('ada'), ...headers }),
  }
}

const ORIGIN = 'https://app.example'

describe.each(backends)('the MCP server on $name', (backend) => {
  const server = useServer(backend, { ALLOWED_ORIGINS: ORIGIN })
  const second = serveAlso(server, {})

  it('remembers in one session what another session recalls', async () => {
    const { connect } = tenantOf(server)
    const first = await connect('ada')
    await first.call('append_turn', {
      conversation: 'garden',
      role: 'USER',
      content: 'The tomatoes grow on the balcony.',
    })
    await first.call('remember_fact', {
      conversation: 'garden',
      subject: 'ada',
      predicate: 'dislikes',
      object: 'basil',
    })
    await first.client.close()
    const other = await connect('ada')
    const { text, structured } = await other.call('recall', { query: 'Where do the tomatoes grow?' })
    expect(text).toContain('The tomatoes grow on the balcony.')
    expect(structured.hits[0].memory).toMatchObject({ __typename: 'Turn', text: 'The tomatoes grow on the balcony.' })
    expect((await other.call('list_facts', { userId: 'ada' })).structured.nodes).toMatchObject([{ object: 'basil' }])
    const context = await other.call('get_context', { conversation: 'garden' })
    expect(context.text).toMatch(/ada dislikes basil[^]*balcony/)
    expect(context.structured.tokenBudget).toBe(16_000)
  })

  it('describes each tool for a model: title, description, arguments, and whether it changes anything', async () => {
    const { connect } = tenantOf(server)
    const { tools } = await (await connect('ada')).client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'get_context',
      'recall',
      'append_turn',
      'read_history',
      'list_conversations',
      'wait_for_turns',
      'remember_fact',
      'list_facts',
      'get_profile',
      'summarise',
    ])
    for (const { description, title, inputSchema, outputSchema, annotations } of tools) {
      expect(description!.length).toBeGreaterThan(60)
      expect(title).toBeTruthy()
      expect(inputSchema.additionalProperties).toBe(false)
      for (const each of Object.values(inputSchema.properties!) as { description?: string }[]) {
        expect(each.description, `${title} ${JSON.stringify(each)}`).toBeTruthy()
      }
      expect(Object.keys(outputSchema!.properties!).length).toBeGreaterThan(0)
      expect(annotations!.readOnlyHint).toBeTypeOf('boolean')
    }
    const writing = tools.filter(({ annotations }) => !annotations!.readOnlyHint).map(({ name }) => name)
    expect(writing).toEqual(['append_turn', 'remember_fact', 'summarise'])
    const required = (tool: string) => tools.find(({ name }) => name === tool)!.inputSchema.required
    expect(required('append_turn')).toEqual(['conversation', 'content'])
    expect(required('remember_fact')).toEqual(['conversation', 'subject', 'predicate', 'object'])
  })

  it('reads the history page by page, and finds conversations by their title', async () => {
    const { connect, tenant } = tenantOf(server)
    const { call } = await connect('ada')
    for (const content of ['one', 'two', 'three']) await call('append_turn', { conversation: 'c', content })
    await createConversation(server.deps, tenant.as('ada'), { key: 'other', title: 'Sailing' })
    const newest = await call('read_history', { conversation: 'c', last: 2 })
    expect(newest.structured.nodes.map(({ text }: { text: string }) => text)).toEqual(['two', 'three'])
    const before = newest.structured.pageInfo.startCursor
    expect(newest.text).toContain(`(older turns: before ${before})`)
    const older = await call('read_history', { conversation: 'c', last: 2, before })
    expect(older.structured.nodes.map(({ text }: { text: string }) => text)).toEqual(['one'])
    expect((await call('list_conversations', { search: 'sail' })).text).toMatch(/^other: Sailing \(/)
    expect((await call('recall', { query: 'two', k: 100 })).text).toContain('two')
    expect((await call('list_conversations', { first: 1 })).text).toContain('(more: after ')
    const summary = await call('summarise', { conversation: 'c' })
    expect(summary.text).toBe(summary.structured.summary.content)
  })

  it('writes a turn once for a repeated clientId', async () => {
    const { call } = await tenantOf(server).connect('ada')
    const turn = { conversation: 'c', content: 'once', clientId: 'k1' }
    const [first, again] = [await call('append_turn', turn), await call('append_turn', turn)]
    expect(again.structured).toMatchObject({ deduplicated: true, turn: { id: first.structured.turn.id } })
    expect(again.text).toContain('existed already')
    expect((await call('append_turn', { ...turn, content: 'twice' })).code).toBe('CONFLICT')
  })

  it.each<[string, Record<string, unknown>, string, string]>([
    ['get_context', { conversaton: 'c' }, 'INVALID_INPUT', 'Did you mean conversation?'],
    ['get_context', {}, 'INVALID_INPUT', 'conversation: must be given'],
    ['get_context', { conversation: 5 }, 'INVALID_INPUT', 'conversation: must be a text that is not empty'],
    ['get_context', { conversation: '' }, 'INVALID_INPUT', 'conversation: must be a text that is not empty'],
    ['get_context', { conversation: 'absent' }, 'NOT_FOUND', 'There is no conversation "absent" that you can see.'],
    ['get_context', { conversation: 'c', tokenBudget: 0 }, 'INVALID_INPUT', 'tokenBudget: '],
    ['recall', {}, 'INVALID_INPUT', 'query: '],
    ['recall', { query: 'x', k: 0 }, 'INVALID_INPUT', 'k: '],
    ['recall', { query: 'x', kinds: ['DREAM'] }, 'INVALID_INPUT', 'kinds.0: '],
    ['append_turn', { conversation: 'c' }, 'INVALID_INPUT', 'content: must be given'],
    ['append_turn', { conversation: 'c', content: 5 }, 'INVALID_INPUT', 'content: String cannot represent'],
    ['append_turn', { conversation: 'c', content: 'x', role: 'KING' }, 'INVALID_INPUT', 'role: '],
    ['append_turn', { conversation: 'c', content: 'x', audience: ['nobody'] }, 'INVALID_INPUT', 'audience'],
    ['append_turn', { conversation: 'new', content: 'x', replyToId: 'turn_0' }, 'NOT_FOUND', '"new"'],
    ['append_turn', { conversation: 'k'.repeat(201), content: 'x' }, 'INVALID_INPUT', 'conversation: '],
    ['remember_fact', { conversation: 'c', subject: 'a', predicate: 'b' }, 'INVALID_INPUT', 'object: '],
    ['get_profile', { userId: 'nobody' }, 'NOT_FOUND', '"nobody"'],
    ['wait_for_turns', { conversation: 'c', timeoutSeconds: 51 }, 'INVALID_INPUT', 'a whole number from 1 to 50'],
    ['wait_for_turns', { conversation: 'c', timeoutSeconds: 1.5 }, 'INVALID_INPUT', 'timeoutSeconds: '],
    ['wait_for_turns', { conversation: 'absent' }, 'NOT_FOUND', '"absent"'],
    ['wait_for_turns', { conversation: 'c', afterSeq: -1 }, 'INVALID_INPUT', 'afterSeq: '],
  ])('answers %s %j with %s', async (name, args, code, text) => {
    const { connect, tenant } = tenantOf(server)
    await createConversation(server.deps, tenant.as('ada'), { key: 'c' })
    const { call } = await connect('ada')
    const answer = await call(name, args)
    expect(answer).toMatchObject({ code, structured: undefined })
    expect(answer.text).toContain(`${code}: `)
    expect(answer.text).toContain(text)
  })

  it('does not create the conversation of a turn that is refused', async () => {
    const { call } = await tenantOf(server).connect('ada')
    await call('append_turn', { conversation: 'new', content: 'x', role: 'KING' })
    expect((await call('list_conversations')).structured.nodes).toEqual([])
  })

  it('refuses an answer that no model could read, and still writes turns of that size', async () => {
    const { call } = await tenantOf(server).connect('ada')
    const content = 'word '.repeat(50_000)
    for (let index = 0; index < 5; index++) {
      expect((await call('append_turn', { conversation: 'c', content })).code).toBe(null)
    }
    const { code, text } = await call('read_history', { conversation: 'c' })
    expect(code).toBe('LIMIT_REACHED')
    expect(text).toContain('the limit is 1024 KiB. Ask for less.')
    expect((await call('read_history', { conversation: 'c', last: 1 })).code).toBe(null)
  })

  it('names the nearest tool, prompt and resource', async () => {
    const { client } = await tenantOf(server).connect('ada')
    await expect(client.callTool({ name: 'recal' })).rejects.toMatchObject({
      code: -32602,
      message: 'MCP error -32602: Unknown tool: recal. Did you mean recall?',
    })
    await expect(client.getPrompt({ name: 'brief' })).rejects.toThrow('Unknown prompt: brief. Did you mean brief_me?')
    await expect(client.getPrompt({ name: 'brief_me' })).rejects.toThrow('The argument conversation is missing.')
    await expect(client.getPrompt({ name: 'brief_me', arguments: { conversations: 'c' } })).rejects.toThrow(
      'Unknown argument: conversations. Did you mean conversation?',
    )
    for (const uri of [
      'colloquy://conversation/absent',
      'colloquy://nothing/c',
      'file:///etc/passwd',
      'colloquy://conversation/%FF',
    ]) {
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32002, data: { uri } })
    }
  })

  it('returns conversations, summaries and profiles as resources', async () => {
    const { connect } = tenantOf(server)
    const { client, call } = await connect('ada')
    const key = 'a/b?ü%25'
    await call('append_turn', { conversation: key, content: 'We meet at noon.', role: 'USER' })
    await call('summarise', { conversation: key })
    const { resources } = await client.listResources()
    const [conversation, summary] = [resources[0]!, resources[1]!]
    expect(conversation.uri).toBe(`colloquy://conversation/${encodeURIComponent(key)}`)
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0] as { text: string }
    expect((await read(conversation.uri)).text).toMatch(/We meet at noon\./)
    expect((await read(summary.uri)).text).toContain('We meet at noon')
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'colloquy://conversation/{name}',
      'colloquy://conversation/{name}/summary',
      'colloquy://profile/{userId}',
    ])
  })

  it('lists resources page by page', async () => {
    const { connect, tenant } = tenantOf(server)
    for (let index = 0; index < 51; index++) {
      await createConversation(server.deps, tenant.as('ada'), { key: `c${index}` })
    }
    const { client } = await connect('ada')
    const first = await client.listResources()
    expect(first.resources).toHaveLength(100)
    const rest = await client.listResources({ cursor: first.nextCursor! })
    expect(rest.resources).toHaveLength(2)
    expect(rest.nextCursor).toBeUndefined()
    await expect(client.listResources({ cursor: 'wrong' })).rejects.toMatchObject({ code: -32602 })
  })

  it('turns a conversation into a prompt to continue it, and into one for a briefing', async () => {
    const { connect } = tenantOf(server)
    const { client, call } = await connect('ada')
    await call('append_turn', { conversation: 'c', content: 'Which island?', role: 'USER' })
    const { structured } = await call('append_turn', { conversation: 'c', content: 'Runde.' })
    const { messages } = await client.getPrompt({ name: 'continue_conversation', arguments: { conversation: 'c' } })
    expect(messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'ada: Which island?' } },
      { role: 'assistant', content: { type: 'text', text: 'Runde.' } },
    ])
    const brief = async (since?: string) => {
      const args = { conversation: 'c', ...(since !== undefined && { since }) }
      const result = await client.getPrompt({ name: 'brief_me', arguments: args })
      return (result.messages[0]!.content as { text: string }).text
    }
    expect(await brief()).toMatch(/Which island\?[^]*Runde\./)
    expect(await brief(String(structured.turn.seq - 1))).not.toContain('Which island?')
    expect(await brief('2999-01-01')).toContain('(no turns)')
    await expect(brief('yesterday')).rejects.toThrow('since must be a date')
  })

  describe('wait_for_turns', () => {
    it('returns each turn once, also edits, and those written between two calls', async () => {
      const { connect, tenant } = tenantOf(server)
      const { call } = await connect('ada')
      await call('append_turn', { conversation: 'c', content: 'zero' })
      const acquire = vi.spyOn(server.deps.feeds, 'acquire').mockClear()
      const waiting = call('wait_for_turns', { conversation: 'c', timeoutSeconds: 50 })
      await vi.waitUntil(() => acquire.mock.calls.length > 0, { timeout: PATIENCE_MS })
      const id = (await call('list_conversations')).structured.nodes[0].id as string
      const one = await tenant.append(id, 'bob', 'one')
      const first = await waiting
      expect(first.structured).toMatchObject({ timedOut: false, turns: [{ text: 'one', actor: 'bob' }] })
      await tenant.append(id, 'bob', 'two')
      await supersedeTurn(server.deps, tenant.as('bob'), { turnId: one.id, turn: { role: 'USER', content: 'one!' } })
      const afterSeq = first.structured.lastSeq
      const next = await call('wait_for_turns', { conversation: 'c', afterSeq })
      expect(next.structured.turns.map(({ text }: { text: string }) => text)).toEqual(['two', 'one!'])
      expect(next.text).toContain(`(continue with afterSeq ${next.structured.lastSeq})`)
      const none = await call('wait_for_turns', {
        conversation: 'c',
        afterSeq: next.structured.lastSeq,
        timeoutSeconds: 1,
      })
      expect(none.structured).toEqual({ turns: [], lastSeq: next.structured.lastSeq, timedOut: true })
    })

    it('returns a version that is streamed once, when it is committed', async () => {
      const { connect, tenant } = tenantOf(server)
      const id = await tenant.newConversation('ada', 'bob')
      const older = await tenant.append(id, 'bob', 'one', { role: 'ASSISTANT' })
      const { call } = await connect('ada')
      const wait = async () =>
        (
          await call('wait_for_turns', { conversation: id, afterSeq: older.seq, timeoutSeconds: 1 })
        ).structured.turns.map(({ text }: { text: string }) => text)
      const bob = tenant.as('bob')
      const version = {
        supersedes: older.id,
        turn: { role: 'ASSISTANT' as const },
        writerToken: WRITER,
        leaseSeconds: null,
      }
      const { id: turnId } = await openVersion(server.deps, bob, version)
      await appendDelta(server.deps, bob, { turnId, writerToken: WRITER, text: 'two' })
      expect(await wait()).toEqual([])
      await commitTurn(server.deps, bob, { turnId, writerToken: WRITER })
      expect(await wait()).toEqual(['two'])
    })

    it('does not return whispers to others, and ends when the client disconnects', async () => {
      const { connect, tenant } = tenantOf(server)
      const id = await tenant.newConversation('ada', 'bob', 'cyd')
      await tenant.append(id, 'bob', 'secret', { audience: ['cyd'] })
      const { call, client } = await connect('ada')
      const { structured } = await call('wait_for_turns', { conversation: id, afterSeq: 0, timeoutSeconds: 1 })
      expect(structured.turns).toEqual([])
      const acquire = vi.spyOn(server.deps.feeds, 'acquire').mockClear()
      const release = vi.spyOn(server.deps.feeds, 'release').mockClear()
      const waiting = call('wait_for_turns', { conversation: id, timeoutSeconds: 50 }).catch(() => 'ended')
      await vi.waitUntil(() => acquire.mock.settledResults.length > 0, { timeout: PATIENCE_MS })
      const startedAt = performance.now()
      await client.close()
      expect(await waiting).toBe('ended')
      await vi.waitUntil(() => release.mock.calls.length > 0, { timeout: PATIENCE_MS })
      // Otherwise, the wait would end with its own time limit.
      expect(performance.now() - startedAt).toBeLessThan(45_000)
    })
  })

  describe('subscriptions', () => {
    it('notify of changes that the viewer sees, until they end', async () => {
      const { connect, tenant } = tenantOf(server)
      const id = await tenant.newConversation('ada', 'bob', 'cyd')
      const uri = `colloquy://conversation/${id}`
      const { client, updated } = await connect('ada')
      await client.subscribeResource({ uri })
      await tenant.append(id, 'bob', 'secret', { audience: ['cyd'] })
      await tenant.append(id, 'bob', 'hello')
      await vi.waitUntil(() => updated.length > 0, { timeout: PATIENCE_MS })
      expect(new Set(updated)).toEqual(new Set([uri]))
      await client.unsubscribeResource({ uri })
      const other = await tenant.newConversation('ada')
      await client.subscribeResource({ uri: `colloquy://conversation/${other}` })
      updated.length = 0
      await tenant.append(id, 'bob', 'unseen')
      await tenant.append(other, 'ada', 'seen')
      await vi.waitUntil(() => updated.length > 0, { timeout: PATIENCE_MS })
      expect(updated).toEqual([`colloquy://conversation/${other}`])
    })

    it('notify of summaries, and for the last time of a deleted conversation', async () => {
      const { connect, tenant } = tenantOf(server)
      const id = await tenant.newConversation('ada')
      await tenant.append(id, 'ada', 'We meet at noon.')
      const { client, updated, call } = await connect('ada')
      const uri = `colloquy://conversation/${id}/summary`
      await client.subscribeResource({ uri })
      await call('summarise', { conversation: id })
      await vi.waitUntil(() => updated.length > 0, { timeout: PATIENCE_MS })
      updated.length = 0
      await deleteConversation(server.deps, tenant.as('owner'), id)
      await vi.waitUntil(() => updated.length > 0, { timeout: PATIENCE_MS })
      expect(new Set(updated)).toEqual(new Set([uri]))
    })

    it('are served by any process, and notify of what happened while no stream was open', async () => {
      const { connect, tenant, names } = tenantOf(server)
      const id = await tenant.newConversation('ada')
      const uri = `colloquy://conversation/${id}`
      const first = await connect('ada')
      const session = first.transport.sessionId!
      const subscribe = { jsonrpc: '2.0', id: 2, method: 'resources/subscribe', params: { uri } }
      const sent = await sendRpc(second.url, subscribe, { ...names('ada'), 'mcp-session-id': session })
      expect(sent.body).toMatchObject({ id: 2, result: {} })
      await tenant.append(id, 'ada', 'one')
      await vi.waitUntil(() => first.updated.includes(uri), { timeout: PATIENCE_MS })
      await first.client.close()
      await tenant.append(id, 'ada', 'two')
      const response = await fetch(`${second.url}/mcp`, {
        headers: { accept: 'text/event-stream', ...names('ada'), 'mcp-session-id': session },
      })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      while (!text.includes('notifications/resources/updated')) text += (await reader.read()).value
      expect(text).toContain(uri)
      await reader.cancel()
    })

    it('are refused for what cannot be followed, and beyond the limit', async () => {
      const { connect, tenant, send } = tenantOf(server)
      const { client } = await connect('ada')
      const subscribe = (uri: string) => client.subscribeResource({ uri })
      await expect(subscribe('colloquy://profile/ada')).rejects.toThrow('Only conversations and their summaries')
      await expect(subscribe('colloquy://conversation/absent')).rejects.toMatchObject({ code: -32002 })
      for (let index = 0; index < MAX_SUBSCRIPTIONS; index++) {
        await createConversation(server.deps, tenant.as('ada'), { key: `c${index}` })
        await subscribe(`colloquy://conversation/c${index}`)
      }
      await createConversation(server.deps, tenant.as('ada'), { key: 'more' })
      await expect(subscribe('colloquy://conversation/more')).rejects.toMatchObject({
        code: -32000,
        data: { code: 'LIMIT_REACHED' },
      })
      await subscribe('colloquy://conversation/c0')
      const params = { uri: 'colloquy://conversation/c0' }
      const { body } = await send({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params })
      expect(body.error).toMatchObject({ code: -32600, message: expect.stringContaining('need a session') })
    })
  })

  it('lets a page of an allowed origin use it, and read the id of its session', async () => {
    const asked = {
      origin: ORIGIN,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'mcp-session-id',
    }
    const preflight = await fetch(`${server.url}/mcp`, { method: 'OPTIONS', headers: asked })
    expect(preflight.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('mcp-session-id')
    const { headers } = await tenantOf(server).send(INITIALIZE, { origin: ORIGIN })
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id')
  })

  describe('a session', () => {
    const notFound = { jsonrpc: '2.0', id: null, error: { code: -32001, data: { code: 'NOT_FOUND' } } }

    it('ends with DELETE, and is unknown to other actors', async () => {
      const { send } = tenantOf(server)
      const session = (await send(INITIALIZE)).headers.get('mcp-session-id')!
      const withSession = { 'mcp-session-id': session }
      expect((await send(LIST, withSession)).status).toBe(200)
      const foreign = await send(LIST, { ...withSession, 'x-actor': 'bob' })
      expect([foreign.status, foreign.body]).toMatchObject([404, notFound])
      expect((await send('', { ...withSession, method: 'DELETE' })).status).toBe(204)
      const ended = await send(LIST, withSession)
      expect([ended.status, ended.body]).toMatchObject([404, notFound])
      const stream = await send('', { ...withSession, method: 'GET', accept: 'text/event-stream' })
      expect([stream.status, stream.body]).toMatchObject([404, notFound])
    })

    it('closes its stream when it ends', async () => {
      const { connect, send } = tenantOf(server)
      const { transport } = await connect('ada')
      const session = { 'mcp-session-id': transport.sessionId! }
      const response = await fetch(`${server.url}/mcp`, {
        headers: { accept: 'text/event-stream', 'x-tenant': 'other', 'x-actor': 'ada', ...session },
      })
      expect(response.status).toBe(404)
      const stream = send('', { method: 'GET', accept: 'text/event-stream', ...session })
      await vi.waitUntil(async () => (await send('', { ...session, method: 'DELETE' })).status !== 200, {
        timeout: PATIENCE_MS,
      })
      expect((await stream).status).toBe(200)
    })

    it.each<[string, object | string, Record<string, string>, number, string]>([
      ['a body that is not JSON', '{', {}, 400, 'BAD_REQUEST'],
      ['another media type', '{}', { 'content-type': 'text/plain' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
      ['a compressed body', '{}', { 'content-encoding': 'gzip' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
      ['another method', '', { method: 'PUT' }, 405, 'METHOD_NOT_ALLOWED'],
      ['a GET for something else than a stream', '', { method: 'GET', accept: 'text/html' }, 406, 'NOT_ACCEPTABLE'],
      ['a stream without a session', '', { method: 'GET', accept: 'text/event-stream' }, 400, 'BAD_REQUEST'],
      ['a page of another origin', LIST, { origin: 'https://evil.example' }, 403, 'ORIGIN_NOT_ALLOWED'],
      ['an invalid name', LIST, { 'x-actor': '%00' }, 400, 'INVALID_INPUT'],
    ])('is refused to %s', async (_, message, headers, status, code) => {
      const answer = await tenantOf(server).send(message, headers)
      expect(answer.status).toBe(status)
      expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32000, data: { code } } })
    })
  })
})

describe('the MCP server with keys', () => {
  const server = useServer(embedded, { AUTH_MODE: 'keys' })

  /** Creates a key of a new tenant, and returns the headers with its token. */
  async function keyOf(rights: Right[], conversations: string[] | null = null, tenant = server.tenant()) {
    const admin = tenant.as('operator')
    const { token, ...issued } = await createApiKey(server.deps, admin, {
      name: 'k',
      actor: 'ada',
      rights,
      conversations,
    })
    return { tenant, issued, admin, headers: { authorization: `Bearer ${token}` } }
  }

  it('refuses a request without a token, and ends the stream of a revoked one', async () => {
    const none = await sendRpc(server.url, LIST)
    expect([none.status, none.body.error.data.code]).toEqual([401, 'UNAUTHENTICATED'])
    expect(none.headers.get('www-authenticate')).toMatch(/^Bearer/)
    const { headers, admin, issued } = await keyOf(['read'])
    const session = (await sendRpc(server.url, INITIALIZE, headers)).headers.get('mcp-session-id')!
    const stream = await fetch(`${server.url}/mcp`, {
      headers: { ...headers, accept: 'text/event-stream', 'mcp-session-id': session },
    })
    expect(stream.status).toBe(200)
    await revokeApiKey(server.deps, admin, issued.apiKey)
    for await (const _ of stream.body!);
    expect((await sendRpc(server.url, LIST, headers)).status).toBe(401)
  })

  it('shows a key only the tools that it has the rights for', async () => {
    const { headers, tenant } = await keyOf(['read'])
    const id = await tenant.newConversation('ada')
    const { client, call } = await connectMcp(server.url, headers)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).not.toContain('append_turn')
    expect(names).toContain('recall')
    expect((await call('append_turn', { conversation: id, content: 'x' })).code).toBe('NOT_ALLOWED')
  })

  it('lets a key of one conversation name no other: not by a tool, a resource, a prompt, a cursor or an id', async () => {
    const tenant = server.tenant()
    const [own, foreign] = [await tenant.newConversation('ada'), await tenant.newConversation('ada')]
    const mine = await tenant.append(own, 'ada', 'The open canary sings.')
    const secret = await tenant.append(foreign, 'ada', 'The hidden canary sings.')
    await createConversation(server.deps, tenant.as('ada'), { key: 'hidden', title: 'hidden canary' })
    const { headers } = await keyOf(['read', 'write'], [own], tenant)
    const { client, call } = await connectMcp(server.url, headers)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).not.toContain('list_conversations')
    const answers: string[] = []
    const note = (value: unknown) => void answers.push(JSON.stringify(value))
    const VALUES: Record<string, unknown> = {
      query: 'hidden canary',
      content: 'hello',
      subject: 's',
      predicate: 'p',
      object: 'o',
      userId: 'ada',
      timeoutSeconds: 1,
    }
    for (const { name, inputSchema } of tools) {
      const properties = Object.keys(inputSchema.properties!)
      expect(properties).not.toContain('conversation')
      const required = Object.fromEntries((inputSchema.required ?? []).map((each) => [each, VALUES[each]]))
      for (const conversation of [foreign, 'hidden']) {
        expect((await call(name, { ...required, conversation })).code, name).toBe('INVALID_INPUT')
      }
      const more = properties.includes('timeoutSeconds') ? { timeoutSeconds: 1, afterSeq: 0 } : {}
      const answer = await call(name, { ...required, ...more })
      expect(['NOT_FOUND', 'NOT_ALLOWED', null], `${name} ${answer.text}`).toContain(answer.code)
      note(answer)
      for (const reference of properties.filter((each) => /TurnId|ToId|^through$/.test(each))) {
        const { code } = await call(name, { ...required, [reference]: secret.id })
        expect(code, `${name} ${reference}`).not.toBe(null)
        expect((await call(name, { ...required, [reference]: mine.id })).code, `${name} ${reference}`).toBe(null)
      }
    }
    await expect(call('list_conversations')).rejects.toThrow('Unknown tool')
    note(await client.listResources())
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([])
    for (const name of [foreign, 'hidden']) {
      for (const uri of [`colloquy://conversation/${name}`, `colloquy://conversation/${name}/summary`]) {
        await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32002 })
        await expect(client.subscribeResource({ uri })).rejects.toMatchObject({ code: -32002 })
      }
    }
    for (const prompt of (await client.listPrompts()).prompts) {
      expect(prompt.arguments!.map(({ name }) => name)).not.toContain('conversation')
      note(await client.getPrompt({ name: prompt.name }))
      await expect(client.getPrompt({ name: prompt.name, arguments: { conversation: foreign } })).rejects.toThrow(
        'Unknown argument',
      )
    }
    const all = answers.join('\n')
    expect(all).toContain('open canary')
    for (const canary of [foreign, secret.id, 'The hidden canary']) expect(all).not.toContain(canary)
  })
})

describe('an MCP server that stops', () => {
  const server = useServer(embedded, { SHUTDOWN_SECONDS: '60' })

  it('ends its streams, so that it need not wait for them', async () => {
    const { names, send } = tenantOf(server)
    const session = (await send(INITIALIZE)).headers.get('mcp-session-id')!
    const headers = { ...names('ada'), accept: 'text/event-stream', 'mcp-session-id': session }
    const stream = await fetch(`${server.url}/mcp`, { headers })
    const startedAt = performance.now()
    const closed = server.close()
    for await (const _ of stream.body!);
    await closed
    expect(performance.now() - startedAt).toBeLessThan(45_000)
  })
})

describe('the MCP server with larger turns than answers', () => {
  const limits = { ...LIMITS, turnBytes: 2 ** 21, bodyBytes: 16 * 2 ** 20, frameBytes: 2 ** 20 }
  const server = useServer(embedded, {}, { settings: { limits } })

  it('answers for a turn that was written, whatever its size', async () => {
    const { call } = await tenantOf(server).connect('ada')
    const { code, structured } = await call('append_turn', { conversation: 'c', content: 'word '.repeat(200_000) })
    expect([code, structured.turn.text.length]).toEqual([null, 1_000_000])
    expect((await call('read_history', { conversation: 'c' })).code).toBe('LIMIT_REACHED')
  })
})

describe('the limits of the MCP server', () => {
  const server = useServer(embedded, { MAX_BODY_BYTES: '16384' }, { settings: { rateLimitPoints: 5 } })

  it('apply to bodies and to the rate of requests', async () => {
    const { send } = tenantOf(server)
    const large = await send({ ...LIST, params: { _meta: { padding: 'x'.repeat(20_000) } } })
    expect([large.status, large.body.error.data.code]).toEqual([413, 'BODY_TOO_LARGE'])
    const answers = []
    for (let index = 0; index < 6; index++) answers.push(await send(INITIALIZE))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429])
    expect(answers[5]!.body.error.data).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) })
    expect(Number(answers[5]!.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
