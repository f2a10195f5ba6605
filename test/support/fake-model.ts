// A fake of OpenAI's streaming POST /v1/chat/completions on a real socket. It answers with the Server-Sent Events that
// a test specifies, and can split them into pieces of any size.

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ModelRequest = {
  model: string
  messages: Record<string, unknown>[]
  stream?: boolean
  stream_options?: unknown
  tools?: unknown[]
  headers: IncomingHttpHeaders
}
export type ModelResponder = (response: ServerResponse, request: ModelRequest) => void | Promise<void>

export type FakeModel = {
  /** Base URL; ends in /v1. */
  url: string
  requests: ModelRequest[]
  /** Queues the answers to the next requests, one for each. */
  next(...responders: ModelResponder[]): void
  stop(): Promise<void>
}

/** A chunk whose first choice has the delta. */
export const chunk = (delta: object, finish: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'fake-1',
  choices: [{ index: 0, delta, finish_reason: finish }],
})

/** The chunk after the last one, with the usage. */
export const usageChunk = (prompt: number, completion: number) => ({
  ...chunk({}),
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
})

/** The chunks of a reply with the texts. */
export const replyOf = (...texts: string[]): object[] => [
  chunk({ role: 'assistant', content: '' }),
  ...texts.map((content) => chunk({ content })),
  chunk({}, 'stop'),
  usageChunk(11, texts.length),
]

/** Formats chunks as events. */
export const events = (chunks: readonly object[]): string =>
  chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')

export const DONE = 'data: [DONE]\n\n'

/** Sends the response headers of a stream of events. */
export function open(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
}

/** Answers with the chunks and the end of the stream. */
export const streams =
  (...chunks: object[]): ModelResponder =>
  (response) => {
    open(response)
    response.end(events(chunks) + DONE)
  }

/** Answers with the text in pieces of `size` bytes, `pauseMs` apart; then ends the body. */
export const trickles =
  (text: string, size: number, pauseMs = 0): ModelResponder =>
  async (response) => {
    open(response)
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += size) {
      response.write(bytes.subarray(at, at + size))
      await new Promise((resolve) => (pauseMs > 0 ? setTimeout(resolve, pauseMs) : setImmediate(resolve)))
    }
    response.end()
  }

/** Answers with the text; then resets the connection. */
export const breaksAfter =
  (text: string): ModelResponder =>
  async (response) => {
    open(response)
    await new Promise((resolve) => response.write(text, resolve))
    await new Promise((resolve) => setTimeout(resolve, 20))
    response.socket?.resetAndDestroy()
  }

/** Answers with the text; then sends nothing. */
export const stallsAfter =
  (text: string): ModelResponder =>
  (response) => {
    open(response)
    if (text) response.write(text)
  }

/** Answers with a status and an error in OpenAI's format. */
export const refuses =
  (status: number, error: object = { message: 'no' }, headers: Record<string, string> = {}): ModelResponder =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error }))
  }

export async function createFakeModel(
  answer: (request: ModelRequest) => ModelResponder = () => streams(...replyOf('Hello', ' there.')),
): Promise<FakeModel> {
  const requests: ModelRequest[] = []
  const queued: ModelResponder[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (data: string) => (text += data))
    request.on('end', () => {
      if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end('404 page not found')
      const parsed = { ...(JSON.parse(text) as ModelRequest), headers: request.headers }
      requests.push(parsed)
      void (queued.shift() ?? answer(parsed))(response, parsed)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    next: (...more) => void queued.push(...more),
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
