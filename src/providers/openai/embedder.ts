// Embeds with any server with OpenAI's POST /embeddings: OpenAI, Ollama, vLLM, LM Studio … A caller gets either vectors
// that fulfil the port's contract, or CallFailed with the cause and the next step. No message contains the key.

import { CallFailed } from '../ports/call-failed.ts'
import { unit, type Embedder } from '../ports/embedder.ts'
import { createCalls, type Endpoint, type Patience } from './calls.ts'
import { TooLong, wrongReply, type Use } from './failure.ts'

export type OpenAiSettings = Endpoint & {
  model: string
  dimension: number
  /** Whether to send the dimension, for models that can return shorter vectors. Others reject the parameter. */
  shortens: boolean
}

/** Longer outages are left to the caller's retries. */
const PATIENCE: Patience = { timeoutMs: 30_000, retries: 3, pauseMs: 500 }

/**
 * Maximum number of texts per request, and of UTF-8 bytes per request and text. OpenAI accepts 2,048 texts of 8,191
 * tokens each and 300,000 in all; a token has at least one byte. For servers with lower limits, requests are divided.
 */
const REQUEST_TEXTS = 128
const REQUEST_BYTES = 256 * 1024
const TEXT_BYTES = 8_191
/**
 * Minimum UTF-16 units to which a text is cut. A text of this length is rejected for another reason than its length.
 */
const SHORTEST_CUT = 128

export function createOpenAiEmbedder(settings: OpenAiSettings, patience: Patience = PATIENCE): Embedder {
  const { model, dimension, baseUrl, shortens } = settings
  const name = `openai:${model}:${dimension}`
  const use: Use = {
    who: `${name} at ${baseUrl}`,
    noun: 'embeddings',
    modelVariable: 'EMBEDDING_MODEL',
    advice: 'Check EMBEDDING_MODEL and EMBEDDING_DIMENSIONS.',
    divides: true,
  }
  const calls = createCalls(settings, { port: 'embedder', name }, use, patience)

  /** Sends one request. @throws TooLong @throws CallFailed */
  const request = (texts: string[], stop: AbortSignal): Promise<Float32Array[]> =>
    calls.request(async (client, signal) => {
      // The encoding is explicit because the client otherwise decodes every reply as base64; some servers send numbers.
      const body = { model, input: texts, encoding_format: 'base64' as const }
      const reply: unknown = await client.embeddings.create(shortens ? { ...body, dimensions: dimension } : body, {
        signal,
      })
      return readVectors(reply, texts.length, dimension, use)
    }, stop)

  /**
   * Embeds the texts; if the server rejects a request as too long, halves the request, then the text. Each text is cut
   * alone, so that its vector does not depend on its neighbours.
   */
  async function embedAll(texts: string[], stop: AbortSignal): Promise<Float32Array[]> {
    try {
      return await request(texts, stop)
    } catch (error) {
      if (!(error instanceof TooLong)) throw error
      const half = Math.ceil(texts.length / 2)
      if (texts.length > 1) {
        return [...(await embedAll(texts.slice(0, half), stop)), ...(await embedAll(texts.slice(half), stop))]
      }
      const [text = ''] = texts
      if (text.length < 2 * SHORTEST_CUT) throw error
      return embedAll([text.slice(0, text.length / 2).toWellFormed()], stop)
    }
  }

  return {
    name,
    dimension,
    batch: REQUEST_TEXTS,
    embed: (texts, signal) =>
      calls.run(async (stop) => {
        const vectors: Float32Array[] = texts.map(() => new Float32Array(dimension))
        for (const part of requestsFor(texts)) {
          const made = await embedAll(
            part.map(({ text }) => text),
            stop,
          )
          part.forEach(({ at }, i) => (vectors[at] = made[i]!))
        }
        return vectors
      }, signal),
    async close() {
      calls.close()
    },
  }
}

type Part = { at: number; text: string }[]

/** Splits the non-empty texts, cut to the model's limit, into requests. `at` is a text's index. */
function requestsFor(texts: readonly string[]): Part[] {
  const parts: Part[] = []
  const space = new Uint8Array(TEXT_BYTES)
  let bytes = Infinity
  texts.forEach((whole, at) => {
    const trimmed = whole.trim().toWellFormed()
    if (!trimmed) return
    // Writes whole characters only.
    const { read, written } = new TextEncoder().encodeInto(trimmed, space)
    bytes += written
    if (bytes > REQUEST_BYTES || parts.at(-1)!.length === REQUEST_TEXTS) {
      parts.push([])
      bytes = written
    }
    parts.at(-1)!.push({ at, text: trimmed.slice(0, read) })
  })
  return parts
}

type Item = { index?: unknown; embedding?: unknown }

/**
 * Reads the vectors of a reply, in the order of the texts. @throws CallFailed for a reply without the requested vectors
 */
function readVectors(reply: unknown, count: number, dimension: number, use: Use): Float32Array[] {
  const { who } = use
  const data = (reply as { data?: Item[] } | null)?.data
  if (!Array.isArray(data)) {
    throw wrongReply(use)
  }
  const vectors = new Array<Float32Array>(count)
  data.forEach((item, position) => {
    const vector = decode(item?.embedding)
    if (vector && vector.length !== dimension) {
      throw new CallFailed(
        `${who} returned vectors of ${vector.length} components instead of ${dimension}. `
          + `Set EMBEDDING_DIMENSIONS=${vector.length}, or another EMBEDDING_MODEL.`,
        false,
      )
    }
    if (!vector?.every(Number.isFinite)) {
      throw new CallFailed(`${who} returned a vector with components that are not numbers. Check its log.`, true)
    }
    vectors[Number(item.index ?? position)] = unit(vector)
  })
  if (data.length !== count || vectors.length !== count || vectors.includes(undefined as never)) {
    throw new CallFailed(
      `${who} returned ${data.length} vectors for ${count} texts, or numbered them wrongly. Check its log.`,
      true,
    )
  }
  return vectors
}

/** Decodes base64 of little-endian floats, or an array of numbers; null for anything else. */
function decode(embedding: unknown): Float32Array | null {
  if (Array.isArray(embedding)) return Float32Array.from(embedding, (x) => (typeof x === 'number' ? x : NaN))
  if (typeof embedding !== 'string') return null
  const bytes = Buffer.from(embedding, 'base64')
  return Float32Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(4 * i))
}
