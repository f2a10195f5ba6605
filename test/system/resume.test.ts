// Stock clients, used as the documents describe, while their server is killed and restarted: graphql-ws and graphql-sse
// with a getter as the variable `afterSeq`, and an EventSource. Each must receive every entry once, in order.

import { rm } from 'node:fs/promises'
import { EventSource } from 'eventsource'
import { createClient as createSseClient } from 'graphql-sse'
import { createClient as createSocketClient } from 'graphql-ws'
import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { newDataDir } from '../support/backend.ts'
import { isLong } from '../support/long.ts'
import { append, createConversation, createServerProcess, tenant, until, type Server } from './processes.ts'

const QUERY = `subscription Follow($id: ID!, $afterSeq: Int) {
  conversationEvents(conversationId: $id, afterSeq: $afterSeq) { seq ... on Gap { resumeAfterSeq } }
}`
type Event = { seq: number | null; resumeAfterSeq?: number }
type Result = { data?: { conversationEvents: Event } | null }

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Returns the seqs that a client has received, and the variables and sink of its subscription. */
function createReader(name: string, id: string) {
  const seqs: number[] = []
  let last = 0
  const next = ({ data }: Result) => {
    const { seq, resumeAfterSeq } = data!.conversationEvents
    last = seq ?? resumeAfterSeq ?? last
    if (seq !== null) seqs.push(seq)
  }
  const variables = {
    id,
    get afterSeq() {
      return last
    },
  }
  const error = (reason: unknown) => expect.fail(`${name}: ${JSON.stringify(reason)}`)
  return { name, seqs, operation: { query: QUERY, variables }, sink: { next, error, complete: () => {} } }
}

const retryWait = () => new Promise<void>((resolve) => setTimeout(resolve, 100))
const HEADERS = { 'x-tenant': tenant, 'x-actor': 'ada' }

function followBySocket({ url }: Server, id: string) {
  const reader = createReader('graphql-ws', id)
  const client = createSocketClient({
    url: `ws://${url}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: HEADERS,
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait,
  })
  closing.push(() => client.dispose())
  client.subscribe<Result['data']>(reader.operation, reader.sink)
  return reader
}

function followByStream({ url }: Server, id: string) {
  const reader = createReader('graphql-sse', id)
  const client = createSseClient({
    url: `http://${url}/graphql`,
    headers: HEADERS,
    retryAttempts: Infinity,
    retry: retryWait,
  })
  closing.push(() => client.dispose())
  client.subscribe<Result['data']>(reader.operation, reader.sink)
  return reader
}

function followByEventSource({ url }: Server, id: string) {
  const reader = createReader('EventSource', id)
  const variables = JSON.stringify({ id, afterSeq: 0 })
  const source = new EventSource(
    `http://${url}/graphql?${new URLSearchParams({ query: QUERY, variables, ...HEADERS })}`,
    {
      // Sends the header that a browser sends for a page of the same origin.
      fetch: (address, init) =>
        fetch(address, { ...init, headers: { ...init.headers, 'sec-fetch-site': 'same-origin' } }),
    },
  )
  closing.push(() => source.close())
  source.addEventListener('next', ({ data }) => reader.sink.next(JSON.parse(data) as Result))
  return reader
}

test.runIf(isLong)('stock clients receive every entry once while their server is killed', async () => {
  const dataDir = await newDataDir()
  closing.push(() => rm(dataDir, { recursive: true }))
  const server = await createServerProcess({ dataDir })
  closing.push(() => server.kill())
  await server.start()
  const id = await createConversation(server, ['ada', 'bob'])
  const readers = [followBySocket, followByStream, followByEventSource].map((follow) => follow(server, id))

  let head = 2
  const say = async (count: number) => {
    for (let n = 0; n < count; n++) ({ seq: head } = await append([server], id, 'bob', `turn ${head}`))
  }
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
    await say(10)
    await until(() => readers.every(({ seqs }) => seqs.length > 2))
    // The server may be killed while it delivers these turns.
    const writing = say(20)
    await new Promise((resolve) => setTimeout(resolve, 30))
    await server.kill(signal)
    await server.start()
    await writing
  }
  await until(() => readers.every(({ seqs }) => seqs.length >= head))
  const all = Array.from({ length: head }, (_, index) => index + 1)
  for (const { name, seqs } of readers) expect(seqs, name).toEqual(all)
})
