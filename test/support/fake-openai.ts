// A fake of OpenAI's POST /v1/embeddings on a real socket. It checks requests as strictly as OpenAI does, and returns
// the faults that a test specifies.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type EmbeddingRequest = { model: string; input: string[]; encoding_format?: string; dimensions?: number }
type Item = { object: 'embedding'; index: number; embedding: string | number[] }

/** A test's replacement for the regular answer. */
export type Misdeed = (response: ServerResponse, proper: { data: Item[] }, request: EmbeddingRequest) => void

export type FakeOpenAi = {
  /** Ends in /v1. */
  url: string
  /** All requests to /v1/embeddings, in order. */
  requests: (EmbeddingRequest & { headers: IncomingHttpHeaders })[]
  /** Sets the answers to the next requests, one each. */
  next(...misdeeds: Misdeed[]): void
  stop(): Promise<void>
  start(): Promise<void>
}

export type FakeLimits = {
  dimension?: number
  key?: string
  /** Maximum bytes of one text; OpenAI's own limit is in tokens. */
  textBytes?: number
  texts?: number
}

/** Derives the vector from a hash: equal texts get equal vectors, and different texts get different vectors. */
export function fakeVector(text: string, dimension: number): number[] {
  const bytes = createHash('shake256', { outputLength: 4 * dimension })
    .update(text)
    .digest()
  return Array.from({ length: dimension }, (_, i) => bytes.readInt32LE(4 * i) / 2 ** 31)
}

export const encoded = (vector: number[]) => Buffer.from(Float32Array.from(vector).buffer).toString('base64')

/** Answers with a status and an error in OpenAI's format. */
export const fails =
  (status: number, message: string, headers: Record<string, string> = {}, code = ''): Misdeed =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message, code } }))
  }

/** Answers with the given body. */
export const replies =
  (make: (proper: { data: Item[] }) => unknown): Misdeed =>
  (response, proper) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(make(proper)))
  }

export async function createFakeOpenAi(limits: FakeLimits = {}): Promise<FakeOpenAi> {
  const { dimension = 1536, key, textBytes = 8_191, texts = 2_048 } = limits
  const requests: FakeOpenAi['requests'] = []
  const misdeeds: Misdeed[] = []

  const problemOf = ({ input, model }: EmbeddingRequest): Misdeed | null => {
    const longest = Math.max(...input.map((text) => Buffer.byteLength(text)))
    if (!model) return fails(400, 'you must provide a model parameter')
    if (input.length === 0 || input.includes('')) return fails(400, "'$.input' is invalid.")
    if (input.length > texts) return fails(422, `batch size ${input.length} > maximum allowed batch size ${texts}`)
    if (longest > textBytes) {
      return fails(400, `This model's maximum context length is ${textBytes} tokens, however you requested ${longest}.`)
    }
    const all = Buffer.byteLength(input.join(''))
    return all > 300_000 ? fails(400, `Requested ${all} tokens, max 300000 tokens per request`) : null
  }

  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      if (request.url !== '/v1/embeddings') return void response.writeHead(404).end('404 page not found')
      const asked = JSON.parse(text) as EmbeddingRequest
      requests.push({ ...asked, headers: request.headers })
      const length = asked.dimensions ?? dimension
      // Reversed: only `index` gives the order.
      const data = asked.input
        .map((input, index): Item => {
          const vector = fakeVector(input, length)
          const embedding = asked.encoding_format === 'base64' ? encoded(vector) : vector
          return { object: 'embedding', index, embedding }
        })
        .reverse()
      const isKnown = !key || request.headers.authorization === `Bearer ${key}`
      const act =
        misdeeds.shift()
        ?? (isKnown ? problemOf(asked) : fails(401, `Incorrect API key provided: ${request.headers.authorization}`))
        ?? replies((proper) => proper)
      act(response, { data }, asked)
    })
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await listen(0)

  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    next: (...more) => void misdeeds.push(...more),
    async stop() {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
    start: async () => void (await listen(port)),
  }
}
