// Runs Vite in front of a server with the configuration in docs/development-servers.md. Vite must forward the queries,
// WebSockets and event streams of a page. The configuration of Next.js is not run, because Next.js is not installed.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createViteServer } from 'vitest/node'
import { WebSocket } from 'ws'
import { embedded } from '../support/backend.ts'
import { blocks, readDocument, root } from '../support/documents.ts'
import { take, useServer } from '../support/server.ts'

const config = blocks(readDocument('docs/development-servers.md'), 'js')
  .map(({ text }) => text)
  .find((text) => text.startsWith('// vite.config.js'))

describe("Vite with the document's configuration", () => {
  const server = useServer(embedded)
  let vite: Awaited<ReturnType<typeof createViteServer>>
  let directory: string
  /** The origin of the page. */
  let origin: string

  beforeAll(async () => {
    // Below node_modules, where the configuration can import Vite.
    directory = await mkdtemp(join(root, 'node_modules/.vite-'))
    const configFile = join(directory, 'vite.config.js')
    expect(config).toContain("'http://127.0.0.1:4000'")
    await writeFile(configFile, config!.replace('http://127.0.0.1:4000', server.url))
    const settings = { root: directory, configFile, logLevel: 'silent' as const, server: { port: 0, hmr: false } }
    vite = await createViteServer(settings)
    await vite.listen()
    origin = new URL(vite.resolvedUrls!.local[0]!).origin
  })
  afterAll(async () => {
    await vite?.close()
    await rm(directory, { recursive: true })
  })

  const post = async (query: string) => {
    const headers = { 'content-type': 'application/json', 'x-actor': 'ada', origin }
    const response = await fetch(`${origin}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
    return (await response.json()) as { data: object }
  }
  const append = (text: string) =>
    post(
      `mutation { appendTurn(input: { conversationKey: "proxied", turn: { role: USER, content: "${text}" } }) { __typename } }`,
    )
  const query = 'subscription { conversationEvents(conversationKey: "proxied", afterSeq: 0) { seq } }'

  it('forwards queries and mutations of the page', async () => {
    expect(await post('{ viewer { actor } }')).toEqual({ data: { viewer: { actor: 'ada' } } })
    const input = '{ key: "proxied", participants: [{ actor: "ada" }] }'
    expect(await post(`mutation { createConversation(input: ${input}) { __typename } }`)).toEqual({
      data: { createConversation: { __typename: 'CreateConversationPayload' } },
    })
  })

  it('forwards WebSockets of the page', async () => {
    class PageSocket extends WebSocket {
      constructor(url: string, protocols: string) {
        super(url, protocols, { origin })
      }
    }
    const url = `${origin.replace('http', 'ws')}/graphql`
    const client = createClient({ url, webSocketImpl: PageSocket, connectionParams: { 'x-actor': 'ada' } })
    const events = client.iterate({ query })
    await append('over a WebSocket')
    expect(await take(events as AsyncIterableIterator<object>, 2)).toEqual([{ seq: 1 }, { seq: 2 }])
    await client.dispose()
  })

  it('forwards each event of a stream at once, uncompressed, until the page closes the stream', async () => {
    const search = new URLSearchParams({ query, 'x-actor': 'ada' })
    const leave = new AbortController()
    const headers = { accept: 'text/event-stream', 'accept-encoding': 'gzip', 'sec-fetch-site': 'same-origin' }
    const response = await fetch(`${origin}/graphql?${search}`, { headers, signal: leave.signal })
    expect([response.status, response.headers.get('content-encoding')]).toEqual([200, null])
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let received = ''
    const receive = async (text: string) => {
      while (!received.includes(text)) received += (await reader.read()).value ?? ''
    }
    await receive('"seq":2}')
    await append('over an event stream')
    await receive('"seq":3}')
    leave.abort()
    await expect(reader.read()).rejects.toThrow(/abort/)
  })
})
