// The command `colloquy mcp`: passes messages between the standard streams and the MCP server.

import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { endSession, useSession } from '../../../src/domain/kernel/live/mcp-session.ts'
import { embedded } from '../../support/backend.ts'
import { runCommand } from '../../support/command.ts'
import { INITIALIZE } from '../../support/mcp.ts'
import { PATIENCE_MS } from '../../support/patience.ts'
import { sql } from '../../support/sql.ts'
import { useServer } from '../../support/server.ts'

type Message = { id?: number | string; method?: string; result?: any; error?: any; params?: any }

/** Starts the command. `send` writes a message; `receive` returns the next one that matches. */
function start(args: readonly string[], stopping = new AbortController()) {
  const input = new PassThrough()
  const received: Message[] = []
  const write = async (text: string) => void received.push(JSON.parse(text) as Message)
  const ended = runCommand(['mcp', ...args], { input, write, signal: stopping.signal })
  onTestFinished(async () => {
    input.end()
    stopping.abort()
    await ended
  })
  return {
    input,
    ended,
    received,
    send: (message: object) => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    async receive(matches: (message: Message) => boolean): Promise<Message> {
      await vi.waitUntil(() => received.some(matches), { timeout: PATIENCE_MS })
      return received.find(matches)!
    },
  }
}

describe('colloquy mcp', () => {
  const server = useServer(embedded)
  const target = (tenant: string) => ['--url', server.url, '--tenant', tenant, '--actor', 'ada']
  const answerTo = (id: number) => (message: Message) => message.id === id && !('method' in message)
  const call = (name: string, args: object) => ({ method: 'tools/call', params: { name, arguments: args } })

  it('answers every request before it ends with its input', async () => {
    const { send, input, ended, received } = start(target(server.tenant().name))
    send(INITIALIZE)
    send({ method: 'notifications/initialized' })
    send({ id: 2, ...call('append_turn', { conversation: 'c', content: 'hello' }) })
    input.end()
    expect(await ended).toMatchObject({ code: 0, stderr: '' })
    expect(received.map(({ id }) => id).toSorted()).toEqual([1, 2])
    expect(received.find(answerTo(2))!.result.structuredContent.turn.text).toBe('hello')
  })

  it('starts a new session when the old one has ended, and subscribes again', async () => {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    const uri = `colloquy://conversation/${id}`
    const { send, receive, received } = start(target(tenant.name))
    send(INITIALIZE)
    await receive(answerTo(1))
    send({ method: 'notifications/initialized' })
    send({ id: 2, method: 'resources/subscribe', params: { uri } })
    await receive(answerTo(2))
    const { rows } = await sql(server.deps.pool).query<{ id: string }>('SELECT id FROM mcp_session WHERE tenant = $1', [
      tenant.name,
    ])
    const session = { ...tenant.as('ada'), id: rows[0]!.id }
    await endSession(server.deps, session)
    expect(await useSession(server.deps, tenant.as('ada'), session.id)).toBe(null)
    send({ id: 3, method: 'ping' })
    send({ id: 4, method: 'tools/list' })
    expect((await receive(answerTo(3))).result).toEqual({})
    expect((await receive(answerTo(4))).result.tools.length).toBeGreaterThan(5)
    await tenant.append(id, 'ada', 'news')
    const notification = await receive(({ method }) => method === 'notifications/resources/updated')
    expect(notification.params).toEqual({ uri })
    // The client sees only the answers to its own requests.
    expect(new Set(received.map((each) => each.id).filter((each) => each !== undefined))).toEqual(new Set([1, 2, 3, 4]))
  })

  it('answers with the reason if the server cannot be reached or refuses the client, and goes on', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    await once(closed, 'close')
    const unreachable = start(['--url', `http://127.0.0.1:${port}`, '--actor', 'ada'])
    unreachable.send(INITIALIZE)
    const { error } = await unreachable.receive(answerTo(1))
    expect(error.message).toBe(
      `The Colloquy server at http://127.0.0.1:${port}/graphql did not answer: connect ECONNREFUSED 127.0.0.1:${port}`,
    )
    unreachable.send({ ...INITIALIZE, id: 2 })
    await unreachable.receive(answerTo(2))
    const refused = start(['--url', server.url, '--actor', 'a'.repeat(300)])
    refused.send(INITIALIZE)
    expect((await refused.receive(answerTo(1))).error.message).toMatch(/did not answer: .*actor/)
  })

  it('ends on Ctrl-C, also while a request is waiting', async () => {
    const stopping = new AbortController()
    const { send, receive, ended } = start(target(server.tenant().name), stopping)
    send(INITIALIZE)
    await receive(answerTo(1))
    send({ id: 2, ...call('append_turn', { conversation: 'c', content: 'hello' }) })
    await receive(answerTo(2))
    const acquire = vi.spyOn(server.deps.feeds, 'acquire').mockClear()
    send({ id: 3, ...call('wait_for_turns', { conversation: 'c', timeoutSeconds: 50 }) })
    await vi.waitUntil(() => acquire.mock.calls.length > 0, { timeout: PATIENCE_MS })
    stopping.abort()
    expect((await ended).code).toBe(130)
  })
})
