// Embeds with any server that speaks OpenAI's POST /embeddings: OpenAI, Ollama, vLLM, LM Studio … Whatever the server
// answers, a caller gets vectors that fulfil the port's contract, or EmbedderFailed with the cause and the next step.
// The key appears in no message.

import { setTimeout as sleep } from 'node:timers/promises'
import { closedEmbedder, EmbedderFailed, unit, type Embedder } from '../ports/embedder.ts'
import { createCalls, createClient, inTime } from './client.ts'
import { explain, notEmbeddings, type Explained } from './failure.ts'

export type OpenAiSettings = {
  /** Without a slash at its end. */
  baseUrl: string
  apiKey: string | undefined
  model: string
  dimension: number
  /** Whether the model can make shorter vectors, and so is told the dimension. Others refuse to be told. */
  shortens: boolean
}

export type Patience = {
  /** For one request, from the first byte out to the last one in. */
  timeoutMs: number
  /** Further attempts after one that failed and may succeed later. */
  retries: number
}

/** What lasts longer than this is left to whoever asks again later. */
const PATIENT: Patience = { timeoutMs: 30_000, retries: 3 }

/** The pause before the first retry. It doubles, and is shortened by up to a quarter so that clients spread out. */
const FIRST_PAUSE_MS = 500
/** A server that asks for a longer pause fails the call: somebody waits for it. */
const LONGEST_PAUSE_MS = 20_000

/**
 * A request's texts, and their bytes as UTF-8. OpenAI takes 2,048 texts, 8,191 tokens each and 300,000 in all; a token
 * is one byte at least, so these hold for any text. Servers that take less say so, and are given less.
 */
const REQUEST_TEXTS = 128
const REQUEST_BYTES = 256 * 1024
const TEXT_BYTES = 8_191
/** UTF-16 units. A text that is too long for the server at this length is refused for another reason. */
const SHORTEST_CUT = 128

export function createOpenAiEmbedder(settings: OpenAiSettings, patience: Patience = PATIENT): Embedder {
  const { model, dimension, baseUrl, apiKey, shortens } = settings
  const name = `openai:${model}:${dimension}`
  const client = createClient(baseUrl, apiKey)
  const calls = createCalls(() => closedEmbedder(name))

  /** One request. Throws what the client throws, Unreachable, or EmbedderFailed for an answer that is no good. */
  const attempt = (texts: string[], stop: AbortSignal): Promise<Float32Array[]> =>
    inTime(patience.timeoutMs, stop, async (signal) => {
      // Asked for explicitly, because the client would decode whatever comes as base64; some servers send numbers.
      const body = { model, input: texts, encoding_format: 'base64' as const }
      const told = shortens ? { ...body, dimensions: dimension } : body
      const reply: unknown = await client.embeddings.create(told, { signal })
      return readVectors(reply, texts.length, dimension, `${name} at ${baseUrl}`)
    })

  /** With retries. */
  async function request(texts: string[], stop: AbortSignal): Promise<Float32Array[] | Explained> {
    for (let retry = 0; ; retry++) {
      try {
        return await attempt(texts, stop)
      } catch (error) {
        stop.throwIfAborted()
        const explained = explain(error, `${name} at ${baseUrl}`, apiKey)
        const pause = explained.pauseMs ?? FIRST_PAUSE_MS * 2 ** retry * (1 - Math.random() / 4)
        if (explained.isTooMuch) return explained
        if (!explained.isPassing || retry >= patience.retries || pause > LONGEST_PAUSE_MS) throw explained.failure
        await sleep(pause, undefined, { signal: stop }).catch(() => stop.throwIfAborted())
      }
    }
  }

  /**
   * In smaller requests and with shorter texts where the server finds it too much. Each text is cut to what the server
   * takes of it alone, so that its vector does not depend on its neighbours.
   */
  async function embedAll(texts: string[], stop: AbortSignal): Promise<Float32Array[]> {
    const made = await request(texts, stop)
    if (Array.isArray(made)) return made
    const half = Math.ceil(texts.length / 2)
    if (texts.length > 1) {
      return [...(await embedAll(texts.slice(0, half), stop)), ...(await embedAll(texts.slice(half), stop))]
    }
    const [text = ''] = texts
    if (text.length < 2 * SHORTEST_CUT) throw made.failure
    return embedAll([text.slice(0, text.length / 2).toWellFormed()], stop)
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

/** The texts that say something, cut to what a model takes, in parts that a request takes. `at` is their place. */
function requestsFor(texts: readonly string[]): Part[] {
  const parts: Part[] = []
  const conversationId = new Uint8Array(TEXT_BYTES)
  let bytes = Infinity
  texts.forEach((whole, at) => {
    const trimmed = whole.trim().toWellFormed()
    if (!trimmed) return
    // Writes whole characters only.
    const { read, written } = new TextEncoder().encodeInto(trimmed, conversationId)
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

/** The vectors of a reply, in the order of the texts. Throws EmbedderFailed where they are not what was asked for. */
function readVectors(reply: unknown, count: number, dimension: number, who: string): Float32Array[] {
  const data = (reply as { data?: Item[] } | null)?.data
  if (!Array.isArray(data)) {
    throw notEmbeddings(who)
  }
  const vectors = new Array<Float32Array>(count)
  data.forEach((item, place) => {
    const vector = decode(item?.embedding)
    if (vector && vector.length !== dimension) {
      throw new EmbedderFailed(
        `${who} makes vectors of ${vector.length} components, not of ${dimension}. `
          + `Set EMBEDDING_DIMENSIONS=${vector.length}, or another EMBEDDING_MODEL.`,
        false,
      )
    }
    if (!vector?.every(Number.isFinite)) {
      throw new EmbedderFailed(`${who} made a vector with components that are no numbers. Look at its log.`, true)
    }
    vectors[Number(item.index ?? place)] = unit(vector)
  })
  if (data.length !== count || vectors.length !== count || vectors.includes(undefined as never)) {
    throw new EmbedderFailed(
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
