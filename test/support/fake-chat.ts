// A fake of OpenAI's POST /v1/chat/completions on a real socket. It answers with a summary, or as a test specifies.

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ChatRequest = {
  model: string
  messages: { role: string; content: string }[]
  response_format?: unknown
  headers: IncomingHttpHeaders
}
export type ChatResponder = (response: ServerResponse) => void

export type FakeChat = {
  /** Base URL; ends in /v1. */
  url: string
  requests: ChatRequest[]
  /** Queues the answers to the next requests, one for each. */
  next(...responders: ChatResponder[]): void
  stop(): Promise<void>
}

/** Answers with the content as the model's message; content that is not a string is sent as JSON. */
export const answers =
  (content: unknown): ChatResponder =>
  (response) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: text } }] }))
  }

/** Answers with the given HTTP status and an error of an overloaded API. */
export const answersWithStatus =
  (code: number): ChatResponder =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'overloaded' } }))
  }

/** The values in each fenced block of JSON lines in a message, in order. */
export const quotedIn = (content: string): unknown[][] =>
  [...content.matchAll(/^(`{3,})json\n(.*?)\n\1$/gms)].map(([, , lines]) =>
    lines!.split('\n').map((line) => JSON.parse(line) as unknown),
  )

export const SUMMARY = {
  topic: 'Ada and Bob plan a boat trip.',
  keyDecisions: ['They sail on 12 May.'],
  openIssues: ['Who brings food?'],
  nextSteps: ['Bob books the boat.'],
}

/**
 * Starts the fake server. `key`: the only accepted API key; undefined accepts any key. `answer`: returns the answers to
 * requests for which no answer is queued.
 */
export async function createFakeChat(
  key?: string,
  answer: (request: ChatRequest) => ChatResponder = () => answers(SUMMARY),
): Promise<FakeChat> {
  const requests: ChatRequest[] = []
  const queued: ChatResponder[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end('404 page not found')
      requests.push({ ...(JSON.parse(text) as ChatRequest), headers: request.headers })
      if (key && request.headers.authorization !== `Bearer ${key}`) {
        response.writeHead(401, { 'content-type': 'application/json' })
        return void response.end(
          JSON.stringify({ error: { message: `${request.headers.authorization} is not ${key}.` } }),
        )
      }
      ;(queued.shift() ?? answer(requests.at(-1)!))(response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    next: (...more) => void queued.push(...more),
    async stop() {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
