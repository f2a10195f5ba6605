// Embeds with any server that speaks OpenAI's POST /embeddings: OpenAI, Ollama, vLLM, LM Studio … Whatever the server
// answers, a caller gets vectors that fulfil the port's contract, or CallFailed with the cause and the next step. The key
// appears in no message.

import { CallFailed } from '../ports/call-failed.ts'
import { unit, type Embedder } from '../ports/embedder.ts'
import { createCalls, type Endpoint, type Patience } from './calls.ts'
import { TooLong, wrongReply, type Use } from './failure.ts'

export type OpenAiSettings = Endpoint & {
  model: string
  dimension: number
  /** Whether the model can make shorter vectors, and so is told the dimension. Others refuse to be told. */
  shortens: boolean
}

/** A caller that can wait longer asks again later. */
const PATIENCE: Patience = { timeoutMs: 30_000, retries: 3, pauseMs: 500 }

/**
 * A request's texts, and their bytes as UTF-8. OpenAI takes 2,048 texts, 8,191 tokens each and 300,000 in all; a token
 * is one byte at least, so these hold for any text. Servers that take less say so, and are given less.
 */
const REQUEST_TEXTS = 128
const REQUEST_BYTES = 256 * 1024
const TEXT_BYTES = 8_191
/** UTF-16 units. A text that is too long for the server at this length is refused for another reason. */
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

  /** One request. @throws TooLong @throws CallFailed */
  const request = (texts: string[], stop: AbortSignal): Promise<Float32Array[]> =>
    calls.request(async (client, signal) => {
      // Asked for explicitly, because the client would decode whatever comes as base64; some servers send numbers.
      const body = { model, input: texts, encoding_format: 'base64' as const }
      const reply: unknown = await client.embeddings.create(shortens ? { ...body, dimensions: dimension } : body, {
        signal,
      })
      return readVectors(reply, texts.length, dimension, use)
    }, stop)

  /**
   * In smaller requests and with shorter texts where the server finds one too long. Each text is cut to what the server
   * takes of it alone, so that its vector does not depend on its neighbours.
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

/** The texts that are not empty, cut to what a model takes, in parts that a request takes. `at` is their place. */
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

/** The vectors of a reply, in the order of the texts. Throws CallFailed where they are not what was asked for. */
function readVectors(reply: unknown, count: number, dimension: number, use: Use): Float32Array[] {
  const { who } = use
  const data = (reply as { data?: Item[] } | null)?.data
  if (!Array.isArray(data)) {
    throw wrongReply(use)
  }
  const vectors = new Array<Float32Array>(count)
  data.forEach((item, place) => {
    const vector = decode(item?.embedding)
    if (vector && vector.length !== dimension) {
      throw new CallFailed(
        `${who} makes vectors of ${vector.length} components, not of ${dimension}. `
          + `Set EMBEDDING_DIMENSIONS=${vector.length}, or another EMBEDDING_MODEL.`,
        false,
      )
    }
    if (!vector?.every(Number.isFinite)) {
      throw new CallFailed(`${who} made a vector with components that are no numbers. Look at its log.`, true)
    }
    vectors[Number(item.index ?? place)] = unit(vector)
  })
  if (data.length !== count || vectors.length !== count || vectors.includes(undefined as never)) {
    throw new CallFailed(
      `${who} made ${data.length} vectors of ${count} texts, or numbered them wrongly. Look at its log.`,
      true,
    )
  }
  return vectors
}

/** From base64 of little-endian floats, or an array of numbers; null where it is neither. */
function decode(embedding: unknown): Float32Array | null {
  if (Array.isArray(embedding)) return Float32Array.from(embedding, (x) => (typeof x === 'number' ? x : NaN))
  if (typeof embedding !== 'string') return null
  const bytes = Buffer.from(embedding, 'base64')
  return Float32Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(4 * i))
}
