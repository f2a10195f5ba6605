// A fake of @huggingface/transformers. `pipeline` returns an extractor, and AutoModelForSequenceClassification a
// cross-encoder, whose tensors have the same shapes as the real library's. The last segment of the model's name selects a
// failure.

import { threadId } from 'node:worker_threads'
import { fakeVector } from './fake-openai.ts'
import { fakeRelevance } from './fake-rerank.ts'

const DIMENSION = 384
const CALLS = new Map<string, number>()
/** Counts a call with this failure, and returns the number of earlier calls. */
const countCall = (failure: string) => {
  const times = CALLS.get(failure) ?? 0
  CALLS.set(failure, times + 1)
  return times
}

type LoadOptions = { dtype?: string; local_files_only?: boolean }
type ExtractOptions = { pooling?: string; normalize?: boolean }

/** Fails or waits as the model's name says. Returns the last segment of the name. */
async function load(model: string, { dtype, local_files_only }: LoadOptions): Promise<string> {
  const isLocal = model.startsWith('/')
  if (isLocal !== local_files_only || dtype !== 'fp32') throw new Error(`bad options: ${local_files_only}, ${dtype}`)
  const failure = model.split('/').at(-1)!
  if (failure === 'absent') throw new Error('Unauthorized access to file: "https://huggingface.co/absent/config.json".')
  if (failure === 'no-such-directory') throw new Error(`file was not found locally at "${model}/config.json"`)
  if (failure === 'offline-at-first' && countCall(failure) === 0) throw new TypeError('fetch failed')
  const [, ms] = /^sleeps-(\d+)$/.exec(failure) ?? []
  if (ms) await new Promise((resolve) => setTimeout(resolve, Number(ms)))
  return failure
}

/** Fails for texts that the adapters must not send. */
function check(texts: readonly string[]): void {
  if (texts.some((text) => text.length === 0 || text.length > 8_192)) {
    throw new Error('unexpected text: empty, or longer than 8192 UTF-16 units')
  }
}

/** The models that were disposed of, in this thread. */
let disposed = 0
const dispose = async () => void (disposed += 1)

export async function pipeline(task: string, model: string, options: LoadOptions) {
  if (task !== 'feature-extraction') throw new Error(`Unsupported pipeline: ${task}`)
  const failure = await load(model, options)

  const extract = async (texts: string[], { pooling = 'none', normalize = false }: ExtractOptions = {}) => {
    if (failure === 'dies') process.exit(3)
    check(texts)
    const width = failure === 'wide' ? 512 : DIMENSION
    const vectors = texts.map((text) => {
      const vector = fakeVector(text, width)
      const length = normalize ? Math.hypot(...vector) : 1
      return vector.map((x) => (failure === 'nan' ? NaN : x / length))
    })
    // Without pooling, there is one vector per token.
    const dims = pooling === 'mean' && failure !== 'unpooled' ? [texts.length, width] : [texts.length, 1, width]
    return { type: 'float32', dims, data: Float32Array.from(vectors.flat()) }
  }
  return Object.assign(extract, { dispose })
}

type PairOptions = { text_pair: string[]; padding?: boolean; truncation?: boolean }

export const AutoTokenizer = {
  async from_pretrained(model: string, { local_files_only }: LoadOptions) {
    if (model.startsWith('/') !== local_files_only) throw new Error(`bad options: ${local_files_only}`)
    return (queries: string[], { text_pair, padding, truncation }: PairOptions) => {
      if (queries.length !== text_pair.length) throw new Error('text and text_pair must have the same length')
      if (!padding || !truncation) throw new Error('Unable to create tensor')
      return queries.map((query, i) => ({ query, text: text_pair[i]! }))
    }
  },
}

export const AutoModelForSequenceClassification = {
  async from_pretrained(model: string, options: LoadOptions) {
    const failure = await load(model, options)
    const classify = async (pairs: { query: string; text: string }[]) => {
      if (failure === 'dies') process.exit(3)
      check(pairs.flatMap(({ query, text }) => [query, text]))
      const logitOf = (query: string, text: string) =>
        text === 'which thread?' ? threadId : text === 'how many disposed?' ? disposed : 8 * fakeRelevance(query, text)
      const logits = pairs.map(({ query, text }) => (failure === 'nan' ? NaN : logitOf(query, text)))
      const labels = failure === 'two-labels' ? 2 : 1
      const data = Float32Array.from(logits.flatMap((logit) => Array<number>(labels).fill(logit)))
      return { logits: { type: 'float32', dims: [pairs.length, labels], data } }
    }
    return Object.assign(classify, { dispose })
  },
}
