// Embeds texts with any server that has OpenAI's POST /embeddings: OpenAI, Ollama, vLLM, LM Studio … A call either
// returns vectors that satisfy the port's contract, or fails with a message that names the cause and the next step, but
// never the key.

import { CallFailed } from '../ports/call-failed.ts'
import type { Embedder } from '../ports/embedder.ts'
import { unit } from '../../runtime/unit-vector.ts'
import { createCalls, type Endpoint, type RetryPolicy } from './calls.ts'
import { OPENAI_VARIABLES, TooLong, wrongReply, type ErrorContext } from './failure.ts'

export type OpenAiSettings = Endpoint & {
  model: string
  dimension: number
  /** Whether to send the dimension. Models that cannot return shorter vectors reject the parameter. */
  sendsDimension: boolean
}

/** Retries only short outages, because callers retry after longer ones. */
const RETRY_POLICY: RetryPolicy = { timeoutMs: 30_000, retries: 3, pauseMs: 500 }

/**
 * Maximum number of texts per request, of UTF-8 bytes per request, and of UTF-8 bytes per text. OpenAI accepts 2,048
 * texts, 300,000 tokens per request and 8,191 tokens per text; a token has at least one byte. For servers with lower
 * limits, requests are divided.
 */
const REQUEST_TEXTS = 128
const REQUEST_BYTES = 256 * 1024
const TEXT_BYTES = 8_191
/**
 * Minimum length to which a text is cut, in UTF-16 units. If the server rejects a text that cannot be cut further, the
 * call fails.
 */
const MIN_CUT_UNITS = 128

export function createOpenAiEmbedder(settings: OpenAiSettings, retryPolicy: RetryPolicy = RETRY_POLICY): Embedder {
  const { model, dimension, sendsDimension } = settings
  const name = `openai:${model}:${dimension}`
  const context: ErrorContext = {
    label: name,
    noun: 'embeddings',
    settings: { ...OPENAI_VARIABLES, model: 'EMBEDDING_MODEL' },
    advice: 'Check EMBEDDING_MODEL and EMBEDDING_DIMENSIONS.',
    splitsRequests: true,
  }
  const calls = createCalls(settings, { port: 'embedder', name }, context, retryPolicy)

  /** Sends one request. @throws TooLong @throws CallFailed */
  const request = (texts: string[], stop: AbortSignal): Promise<Float32Array[]> =>
    calls.request(async (client, signal) => {
      // The encoding is explicit because the client otherwise decodes every reply as base64; some servers send numbers.
      const body = { model, input: texts, encoding_format: 'base64' as const }
      const reply: unknown = await client.embeddings.create(
        sendsDimension ? { ...body, dimensions: dimension } : body,
        { signal },
      )
      return readVectors(reply, texts.length, dimension, context)
    }, stop)

  /**
   * Embeds the texts. If the server rejects a request as too long, halves the number of texts per request, and then the
   * length of a single text. A text is cut only if it is alone in a request, so that its vector does not depend on
   * other texts.
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
      if (text.length < 2 * MIN_CUT_UNITS) throw error
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
          const embedded = await embedAll(
            part.map(({ text }) => text),
            stop,
          )
          part.forEach(({ index }, i) => (vectors[index] = embedded[i]!))
        }
        return vectors
      }, signal),
    async close() {
      calls.close()
    },
  }
}

/** The texts of one request, each with its index among all texts. */
type Part = { index: number; text: string }[]

/** Cuts the texts to TEXT_BYTES and splits them into requests. Omits empty texts. */
function requestsFor(texts: readonly string[]): Part[] {
  const parts: Part[] = []
  const buffer = new Uint8Array(TEXT_BYTES)
  let bytes = Infinity
  texts.forEach((whole, index) => {
    const trimmed = whole.trim().toWellFormed()
    if (!trimmed) return
    // encodeInto() writes whole characters only.
    const { read, written } = new TextEncoder().encodeInto(trimmed, buffer)
    bytes += written
    if (bytes > REQUEST_BYTES || parts.at(-1)!.length === REQUEST_TEXTS) {
      parts.push([])
      bytes = written
    }
    parts.at(-1)!.push({ index, text: trimmed.slice(0, read) })
  })
  return parts
}

type Item = { index?: unknown; embedding?: unknown }

/**
 * Reads the vectors of a reply, in the order of the texts. @throws CallFailed unless it has one valid vector per text
 */
function readVectors(reply: unknown, count: number, dimension: number, context: ErrorContext): Float32Array[] {
  const { label } = context
  const data = (reply as { data?: Item[] } | null)?.data
  if (!Array.isArray(data)) {
    throw wrongReply(context)
  }
  const vectors = new Array<Float32Array>(count)
  data.forEach((item, position) => {
    const vector = decode(item?.embedding)
    if (vector && vector.length !== dimension) {
      throw new CallFailed(
        `${label} returned vectors of ${vector.length} components instead of ${dimension}. `
          + `Set EMBEDDING_DIMENSIONS=${vector.length}, or another EMBEDDING_MODEL.`,
        false,
      )
    }
    if (!vector?.every(Number.isFinite)) {
      throw new CallFailed(`${label} returned a vector with components that are not numbers. Check its log.`, true)
    }
    vectors[Number(item.index ?? position)] = unit(vector)
  })
  if (data.length !== count || vectors.length !== count || vectors.includes(undefined as never)) {
    throw new CallFailed(
      `${label} returned ${data.length} vectors for ${count} texts, or numbered them wrongly. Check its log.`,
      true,
    )
  }
  return vectors
}

/** Decodes a vector from base64 of little-endian floats or from an array; null for anything else. */
function decode(embedding: unknown): Float32Array | null {
  if (Array.isArray(embedding)) return Float32Array.from(embedding, (x) => (typeof x === 'number' ? x : NaN))
  if (typeof embedding !== 'string') return null
  const bytes = Buffer.from(embedding, 'base64')
  return Float32Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(4 * i))
}
