// What a client reports while the server cannot be reached, and which failures it does not retry.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ColloquyError, ConnectOptions } from '../../../../src/client/index.ts'
import { connect } from '../../../../src/client/index.ts'
import { backends } from '../../../support/backend.ts'
import { clientOf, skipAnswerPauses, TRANSPORTS } from '../../../support/client.ts'
import { createProxy } from '../../../support/proxy.ts'
import { useServer } from '../../../support/server.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  vi.restoreAllMocks()
})
const codeOf = (error: unknown) => (error as ColloquyError).code

/** Options that record the states of the connection and the codes of the reported errors. */
function recorder() {
  const states: string[] = []
  const codes: string[] = []
  const options = {
    onConnection: (state, reason) => states.push(reason ? `${state} by ${reason.code}` : state),
    onError: (error) => codes.push(codeOf(error)),
  } satisfies Partial<ConnectOptions>
  return { states, codes, options }
}

/** Starts a server that is not Colloquy, and returns its URL. */
async function foreignServer(answer: (response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((_, response) => void answer(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`
}

it.each(['http://', 'ftp://127.0.0.1/graphql', 'ws://127.0.0.1/graphql', 'graphql'])(
  'connect throws for the URL %s, which can never be used',
  (url) => {
    expect(() => connect({ url })).toThrow(expect.objectContaining({ code: 'BAD_URL' }))
  },
)

it('a client with a path outside of a browser fails when it is used, so that pages can be rendered on a server', async () => {
  for (const { webSocket } of TRANSPORTS) {
    const client = connect({ url: '/graphql', webSocket, onError: () => {} })
    await expect(client.createConversation({ key: 'key' })).rejects.toMatchObject({ code: 'BAD_URL' })
    await expect(client.inbox().next()).rejects.toMatchObject({ code: 'BAD_URL' })
  }
})

describe.each(TRANSPORTS)('a server that is not Colloquy, over $transport', ({ webSocket }) => {
  it.each([
    ['a page', 200, 'BAD_RESPONSE'],
    ['404', 404, 'BAD_RESPONSE'],
    ['401', 401, 'UNAUTHENTICATED'],
    ['403', 403, 'UNAUTHENTICATED'],
  ])('that answers with %s fails all calls at once', async (_, status, code) => {
    const url = await foreignServer((response) => response.writeHead(status).end('<html>'))
    const { states, codes, options } = recorder()
    const client = connect({ url, webSocket, ...options })
    closing.push(client.close)
    await expect(client.createConversation({ key: 'key' })).rejects.toMatchObject({ code })
    await expect(client.answer(() => 'yes')).rejects.toMatchObject({ code })
    await expect(client.inbox().next()).rejects.toMatchObject({ code })
    expect(states).toEqual(['connecting', `disconnected by ${code}`])
    expect(codes).toEqual([])
  })
})

describe.each(backends)('reports on $name', (backend) => {
  const server = useServer(backend)

  describe.each(TRANSPORTS)('over $transport', (transport) => {
    it('names each state of the connection once, and each cause once, however often calls are retried', async () => {
      const tenant = server.tenant()
      const id = await tenant.newConversation('ada')
      const proxy = await createProxy(server.url)
      await proxy.cut()
      const { states, codes, options } = recorder()
      const client = clientOf(proxy.url, tenant.name, 'ada', transport, options)
      closing.push(proxy.close, client.close)
      let lost = 0
      const onConnection = (state: string) => void (state === 'waiting' && (lost += 1))
      const next = client.conversation(id).follow({ afterSeq: 0, onConnection }).next()
      next.catch(() => {})
      const appended = client.conversation(id).append('one')
      await vi.waitFor(() => expect(lost).toBeGreaterThan(2))
      expect(states).toEqual(['connecting', 'disconnected by NETWORK'])
      expect(codes).toEqual(['NETWORK'])

      await proxy.restore()
      await appended
      await vi.waitFor(() => expect(states.at(-1)).toBe('connected'))
      await client.close()
      expect(states.at(-1)).toBe('disconnected')
    })
  })

  it('warns on the console by default, once, while `answer` waits for a server', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const proxy = await createProxy(server.url)
    await proxy.cut()
    const states: string[] = []
    const controller = new AbortController()
    const client = clientOf(proxy.url, server.tenant().name, 'scribe', TRANSPORTS[0], {
      onError: undefined,
      onConnection: (state) => states.push(state),
    })
    closing.push(proxy.close)
    const answering = client.answer(() => 'yes', { signal: controller.signal })
    await vi.waitFor(() => expect(warn).toHaveBeenCalled())
    await proxy.restore()
    await vi.waitFor(() => expect(states.at(-1)).toBe('connected'))
    controller.abort()
    await answering
    expect(warn.mock.calls).toEqual([['Colloquy:', expect.objectContaining({ code: 'NETWORK' })]])
  })

  it('does not retry an operation that the schema does not allow', async () => {
    const client = clientOf(server.url, server.tenant().name, 'ada')
    await expect(client.request('{ nonsense }')).rejects.toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' })
  })

  it('passes what a handler of `answer` throws to `onError`, with the turn', async () => {
    closing.push(skipAnswerPauses())
    const tenant = server.tenant()
    const ada = clientOf(server.url, tenant.name, 'ada')
    const { id } = await ada.createConversation({
      participants: [{ actor: 'scribe', kind: 'AGENT', respond: 'MENTIONED' }],
    })
    const reported: unknown[] = []
    const controller = new AbortController()
    const scribe = clientOf(server.url, tenant.name, 'scribe', undefined, {
      onError: (error, turn) => reported.push([(error as Error).message, turn?.text]),
    })
    closing.push(scribe.close)
    let attempts = 0
    const answering = scribe.answer(
      () => {
        attempts += 1
        if (attempts < 3) throw new Error('no model')
        return 'at last'
      },
      { signal: controller.signal },
    )
    await ada.conversation(id).append('@scribe, hello')
    await vi.waitFor(() => expect(attempts).toBe(3))
    controller.abort()
    await answering
    expect(reported).toEqual([['no model', '@scribe, hello']])
  })

  it('reports nothing after `close`, although transcripts end', async () => {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    const { states, codes, options } = recorder()
    const client = clientOf(server.url, tenant.name, 'ada', undefined, options)
    const transcript = client.conversation(id).transcript()
    closing.push(transcript.subscribe(() => {}))
    await vi.waitFor(() => expect(transcript.get().status).toBe('live'))
    await client.close()
    await vi.waitFor(() => expect(transcript.get().status).toBe('failed'))
    expect(states).toEqual(['connecting', 'connected', 'disconnected'])
    expect(codes).toEqual([])
  })

  it('reports a live value that fails', async () => {
    const { codes, options } = recorder()
    const client = clientOf(server.url, server.tenant().name, 'ada', undefined, options)
    closing.push(
      client
        .conversation('unknown')
        .transcript()
        .subscribe(() => {}),
    )
    await vi.waitFor(() => expect(codes).toEqual(['NOT_FOUND']))
  })
})
