// Parsing of Server-Sent Events from servers and proxies, and the failures of streams and requests.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { parseEvent, request, subscribeByEvents, type Endpoint } from '../../../../src/client/transport/http.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Starts a server that answers each request with the function. */
async function answering(answer: (response: ServerResponse) => unknown): Promise<Endpoint> {
  const server = createServer((_, response) => void answer(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`
  return { url, fetch, credentials: async () => ({}), timeoutMs: 200 }
}
const OPERATION = { query: '{ __typename }', variables: {} }

describe('parseEvent', () => {
  it.each([
    ['event: next\nid: 3\ndata: {"a":1}', { event: 'next', data: '{"a":1}' }],
    ['event: next\r\ndata: {"a":\r\ndata: 1}', { event: 'next', data: '{"a":\n1}' }],
    ['event:next\ndata:{}', { event: 'next', data: '{}' }],
    [':', { event: '', data: '' }],
  ])('reads %j', (lines, event) => {
    expect(parseEvent(lines)).toEqual(event)
  })
})

describe('subscribeByEvents', () => {
  const events = async (endpoint: Endpoint) => {
    const received: unknown[] = []
    for await (const { data } of subscribeByEvents(endpoint, OPERATION, () => {})) received.push(data)
    return received
  }
  const stream = (...chunks: (string | Buffer)[]) =>
    answering(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const chunk of chunks) await new Promise((resolve) => response.write(chunk, resolve))
      response.end()
    })

  it('joins events that arrive in pieces, split within a character', async () => {
    const bytes = Buffer.from(':\n\nevent: next\ndata: {"data":{"text":"🙂"}}\r\n\r\nevent: complete\ndata:\n\n')
    const pieces = Array.from(bytes, (byte) => Buffer.from([byte]))
    expect(await events(await stream(...pieces))).toEqual([{ text: '🙂' }])
  })

  it.each([
    ['the stream ends without `complete`', delayed(stream, 'event: next\ndata: {"data":{}}\n\n'), 'NETWORK'],
    ['a proxy answers instead of the server', delayed(status, 502, '<html>'), 'UNAVAILABLE'],
    ['the answer is a page', delayed(status, 200, '<html>'), 'BAD_RESPONSE'],
    [
      'the server refuses the request',
      delayed(status, 401, '{"errors":[{"message":"No.","extensions":{"code":"UNAUTHENTICATED"}}]}'),
      'UNAUTHENTICATED',
    ],
  ])('fails if %s', async (_, endpoint, code) => {
    await expect(events(await endpoint())).rejects.toMatchObject({ code })
  })

  function status(code: number, body: string) {
    return answering((response) => response.writeHead(code).end(body))
  }
})

describe('request', () => {
  it('fails with TIMEOUT if the server does not answer in time, or answers only in part', async () => {
    await expect(request(await answering(() => {}), OPERATION)).rejects.toMatchObject({ code: 'TIMEOUT' })
    const half = await answering((response) => response.writeHead(200).write('{"data"'))
    await expect(request(half, OPERATION)).rejects.toMatchObject({ code: 'TIMEOUT' })
  })
})

/** Delays a call until the test runs. */
function delayed<Args extends unknown[], R>(call: (...args: Args) => R, ...args: Args): () => R {
  return () => call(...args)
}
