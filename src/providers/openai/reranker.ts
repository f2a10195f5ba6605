// Scores texts with any server that has POST /rerank. There are two forms: the one of Cohere, Jina, vLLM, llama.cpp and
// Infinity, `{model, query, documents}` → `{results: [{index, relevance_score}]}`, and the one of Text Embeddings
// Inference, `{query, texts}` → `[{index, score}]`. A call either returns a score for each text, or fails with a message
// that names the cause and the next step, but never the key.

import { CallFailed } from '../ports/call-failed.ts'
import type { Reranker } from '../ports/reranker.ts'
import { createCalls, type Endpoint, type RetryPolicy } from './calls.ts'
import { TooLong, wrongReply, type ErrorContext } from './failure.ts'

export type OpenAiRerankerSettings = Endpoint & {
  /** Null for the form of Text Embeddings Inference, whose servers have one model. */
  model: string | null
}

/** Retries once, because a recall waits for the scores. */
const RETRY_POLICY: RetryPolicy = { timeoutMs: 10_000, retries: 1, pauseMs: 100 }

/**
 * Maximum numbers of UTF-8 bytes of the query and of a text. A model with 512 tokens, the least of common rerankers,
 * reads about 2,000 bytes of English.
 */
const QUERY_BYTES = 1_024
const TEXT_BYTES = 4_096
/**
 * Minimum number of bytes to which texts are cut if the server rejects them as too long. If it rejects these too, the
 * call fails.
 */
const MIN_TEXT_BYTES = 256
/** Maximum number of texts per request of Text Embeddings Inference, its default of --max-client-batch-size. */
const TEI_TEXTS = 32

/** Returns the beginning of the text, at most `bytes` UTF-8 bytes. */
function cut(text: string, bytes: number): string {
  const trimmed = text.trim().toWellFormed()
  // encodeInto() writes whole characters only.
  return trimmed.slice(0, new TextEncoder().encodeInto(trimmed, new Uint8Array(bytes)).read)
}

export function createOpenAiReranker(
  settings: OpenAiRerankerSettings,
  retryPolicy: RetryPolicy = RETRY_POLICY,
): Reranker {
  const { model } = settings
  const name = model === null ? 'tei' : `openai:${model}`
  const context: ErrorContext = {
    label: name,
    noun: 'scores',
    settings: { url: 'RERANK_URL', key: 'RERANK_API_KEY', model: model === null ? null : 'RERANK_MODEL' },
    urlHint: 'the server must have POST /rerank below it',
    advice: model === null ? 'Check RERANK_URL.' : 'Check RERANK_MODEL.',
    splitsRequests: true,
  }
  const calls = createCalls(settings, { port: 'reranker', name }, context, retryPolicy)

  /** Sends one request. @throws TooLong @throws CallFailed */
  const request = (query: string, texts: readonly string[], stop: AbortSignal): Promise<number[]> =>
    calls.request(async (client, signal) => {
      const body = model === null ? { query, texts, truncate: true } : { model, query, documents: texts }
      return readScores(await client.post<unknown>('/rerank', { body, signal }), texts.length, context)
    }, stop)

  /** Scores the texts in one request. If the server rejects them as too long, halves the length of each. */
  async function scoreDocuments(query: string, texts: readonly string[], stop: AbortSignal): Promise<number[]> {
    for (let bytes = TEXT_BYTES; ; bytes /= 2) {
      try {
        return await request(
          query,
          texts.map((text) => cut(text, bytes)),
          stop,
        )
      } catch (error) {
        if (!(error instanceof TooLong) || bytes <= MIN_TEXT_BYTES) throw error
      }
    }
  }

  /**
   * Scores the texts in requests of at most TEI_TEXTS. The server cuts long texts itself, so a request that it rejects as
   * too long has too many texts; this one and the next ones get half as many.
   */
  async function scoreTexts(query: string, texts: readonly string[], stop: AbortSignal): Promise<number[]> {
    const scores: number[] = []
    for (let size = TEI_TEXTS; scores.length < texts.length;) {
      const part = texts.slice(scores.length, scores.length + size)
      try {
        scores.push(...(await request(query, part, stop)))
      } catch (error) {
        if (!(error instanceof TooLong) || part.length === 1) throw error
        size = Math.ceil(part.length / 2)
      }
    }
    return scores
  }

  return {
    name,
    score: (query, texts, signal) =>
      calls.run(async (stop) => {
        if (texts.length === 0) return []
        const short = cut(query, QUERY_BYTES)
        if (model !== null) return scoreDocuments(short, texts, stop)
        return scoreTexts(
          short,
          texts.map((text) => cut(text, TEXT_BYTES)),
          stop,
        )
      }, signal),
    async close() {
      calls.close()
    },
  }
}

type Item = { index?: unknown; relevance_score?: unknown; score?: unknown } | null

/** Reads the scores of a reply, in the order of the texts. @throws CallFailed unless it has one score per text */
function readScores(reply: unknown, count: number, context: ErrorContext): number[] {
  const { label } = context
  const items = Array.isArray(reply) ? (reply as Item[]) : (reply as { results?: Item[] } | null)?.results
  if (!Array.isArray(items)) throw wrongReply(context)
  const scores = new Map<unknown, number>()
  for (const item of items) {
    const score = item?.relevance_score ?? item?.score
    if (typeof score !== 'number' || !Number.isFinite(score)) {
      throw new CallFailed(`${label} returned a score that is not a number. Check its log.`, true)
    }
    scores.set(item!.index, score)
  }
  const ordered = Array.from({ length: count }, (_, index) => scores.get(index))
  if (items.length !== count || ordered.includes(undefined)) {
    throw new CallFailed(
      `${label} returned ${items.length} scores for ${count} texts, or numbered them wrongly. Check its log.`,
      true,
    )
  }
  return ordered as number[]
}
