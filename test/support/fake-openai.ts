// A fake of OpenAI's POST /v1/embeddings on a real socket. It validates requests as strictly as OpenAI does, and
// answers with the faults that a test specifies.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type EmbeddingRequest = { model: string; input: string[]; encoding_format?: string; dimensions?: number }
type Item = { object: 'embedding'; index: number; embedding: string | number[] }

/** Sends an answer instead of the regular one, which is passed as `regular`. */
export type Responder = (response: ServerResponse, regular: { data: Item[] }, request: EmbeddingRequest) => void

export type FakeOpenAi = {
  /** Base URL; ends in /v1. */
  url: string
  /** All requests to /v1/embeddings, in order. */
  requests: (EmbeddingRequest & { headers: IncomingHttpHeaders })[]
  /** Queues the answers to the next requests, one for each. */
  next(...responders: Responder[]): void
  stop(): Promise<void>
  start(): Promise<void>
}

export type FakeLimits = {
  /** Dimension of the vectors if a request gives none. Defaults to 1536. */
  dimension?: number
  /** The only accepted API key. Undefined accepts any. */
  key?: string
  /** Maximum number of bytes of one text. Defaults to 8191. OpenAI's own limit is in tokens. */
  textBytes?: number
  /** Maximum number of texts of one request. Defaults to 2048. */
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
  (status: number, message: string, headers: Record<string, string> = {}, code = ''): Responder =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message, code } }))
  }

/** Answers with status 200 and the body that `make` returns. */
export const replies =
  (make: (regular: { data: Item[] }) => unknown): Responder =>
  (response, regular) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(make(regular)))
  }

export async function createFakeOpenAi(limits: FakeLimits = {}): Promise<FakeOpenAi> {
  const { dimension = 1536, key, textBytes = 8_191, texts = 2_048 } = limits
  const requests: FakeOpenAi['requests'] = []
  const queued: Responder[] = []

  const problemOf = ({ input, model }: EmbeddingRequest): Responder | null => {
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
      const body = JSON.parse(text) as EmbeddingRequest
      requests.push({ ...body, headers: request.headers })
      const length = body.dimensions ?? dimension
      // Reversed, because a client must take the order from `index`.
      const data = body.input
        .map((input, index): Item => {
          const vector = fakeVector(input, length)
          const embedding = body.encoding_format === 'base64' ? encoded(vector) : vector
          return { object: 'embedding', index, embedding }
        })
        .reverse()
      const isAuthorized = !key || request.headers.authorization === `Bearer ${key}`
      const act =
        queued.shift()
        ?? (isAuthorized ? problemOf(body) : fails(401, `Incorrect API key provided: ${request.headers.authorization}`))
        ?? replies((regular) => regular)
      act(response, { data }, body)
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
    next: (...more) => void queued.push(...more),
    async stop() {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
    start: async () => void (await listen(port)),
  }
}
