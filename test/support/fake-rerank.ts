// A fake of servers with POST /rerank on a real socket, in the form of Cohere, Jina, vLLM, llama.cpp and Infinity, or in
// that of Text Embeddings Inference. It validates requests strictly, and answers with the faults that a test specifies.

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type RerankRequest = {
  model?: string
  query: string
  documents?: string[]
  texts?: string[]
  truncate?: boolean
  headers: IncomingHttpHeaders
}
type Item = { index: number; relevance_score?: number; score?: number }

/** Sends an answer instead of the regular one, whose items are passed as `regular`. */
export type RerankResponder = (response: ServerResponse, regular: Item[]) => void

export type FakeRerank = {
  /** Base URL, to which /rerank is appended. */
  url: string
  requests: RerankRequest[]
  /** Queues the answers to the next requests, one for each. */
  next(...responders: RerankResponder[]): void
  stop(): Promise<void>
  start(): Promise<void>
}

export type FakeRerankLimits = {
  /** The only accepted API key. Undefined accepts any. */
  key?: string
  /** Maximum number of bytes of the query and one text together. Defaults to 8192. Servers have a limit in tokens. */
  pairBytes?: number
  /** Maximum number of texts of one request. Defaults to 1000, and to 32 for Text Embeddings Inference. */
  texts?: number
}

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Returns the share of the query's words that the text contains: a relevance from 0 to 1. */
export function fakeRelevance(query: string, text: string): number {
  const words = new Set(wordsOf(text))
  const asked = wordsOf(query)
  return asked.filter((word) => words.has(word)).length / (asked.length || 1)
}

/** Answers with status 200 and the body that `make` returns. */
export const answersWith =
  (make: (regular: Item[]) => unknown): RerankResponder =>
  (response, regular) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(make(regular)))
  }

/** Answers with a status and an error. */
export const refusesWith =
  (status: number, message: string, headers: Record<string, string> = {}): RerankResponder =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message } }))
  }

export async function createFakeRerank(
  form: 'documents' | 'texts' = 'documents',
  { key, pairBytes = 8_192, texts: maxTexts = form === 'texts' ? 32 : 1_000 }: FakeRerankLimits = {},
): Promise<FakeRerank> {
  const requests: RerankRequest[] = []
  const queued: RerankResponder[] = []

  function problemOf({ model, query, truncate, ...given }: RerankRequest): RerankResponder | null {
    const texts = given[form]
    if (!texts) return refusesWith(422, `Failed to deserialize the JSON body: missing field \`${form}\``)
    if (form === 'documents' && !model) return refusesWith(400, 'model is required')
    if (texts.length === 0 || [query, ...texts].some((text) => text.trim() === '')) return refusesWith(422, 'empty')
    if (texts.length > maxTexts) {
      return refusesWith(422, `batch size ${texts.length} > maximum allowed batch size ${maxTexts}`)
    }
    const longest = Math.max(...texts.map((text) => Buffer.byteLength(query + text)))
    if (longest <= pairBytes || truncate) return null
    return refusesWith(400, `This model's maximum context length is ${pairBytes} tokens, but ${longest} were given`)
  }

  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      if (request.url !== '/v1/rerank') return void response.writeHead(404).end('404 page not found')
      const body = { ...(JSON.parse(text) as RerankRequest), headers: request.headers }
      requests.push(body)
      // Best first, as servers answer, because a client must take the order from `index`.
      const items = (body[form] ?? [])
        .map((each, index) => ({ index, value: fakeRelevance(body.query, each) }))
        .sort((a, b) => b.value - a.value)
        .map(({ index, value }) => (form === 'texts' ? { index, score: value } : { index, relevance_score: value }))
      const isAuthorized = !key || request.headers.authorization === `Bearer ${key}`
      const act =
        queued.shift()
        ?? (isAuthorized ? problemOf(body) : refusesWith(401, `Incorrect key: ${request.headers.authorization}`))
        ?? answersWith((regular) => (form === 'texts' ? regular : { model: body.model, results: regular }))
      act(response, items)
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
