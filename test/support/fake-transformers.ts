// A fake of @huggingface/transformers. `pipeline` returns an extractor whose tensors have the same shapes as the real
// library's. The last segment of the model's name selects a failure.

import { fakeVector } from './fake-openai.ts'

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

export async function pipeline(task: string, model: string, { dtype, local_files_only }: LoadOptions) {
  if (task !== 'feature-extraction') throw new Error(`Unsupported pipeline: ${task}`)
  const isLocal = model.startsWith('/')
  if (isLocal !== local_files_only || dtype !== 'fp32') throw new Error(`bad options: ${local_files_only}, ${dtype}`)
  const failure = model.split('/').at(-1)!
  if (failure === 'absent') throw new Error('Unauthorized access to file: "https://huggingface.co/absent/config.json".')
  if (failure === 'no-such-directory') throw new Error(`file was not found locally at "${model}/config.json"`)
  if (failure === 'offline-at-first' && countCall(failure) === 0) throw new TypeError('fetch failed')
  const [, ms] = /^sleeps-(\d+)$/.exec(failure) ?? []
  if (ms) await new Promise((resolve) => setTimeout(resolve, Number(ms)))

  return async (texts: string[], { pooling = 'none', normalize = false }: ExtractOptions = {}) => {
    if (failure === 'dies') process.exit(3)
    if (texts.some((text) => text.length === 0 || text.length > 8_192)) {
      throw new Error('unexpected text: empty, or longer than 8192 UTF-16 units')
    }
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
}
