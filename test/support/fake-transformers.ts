// Stands in for @huggingface/transformers: `pipeline` returns the shapes of the real one, or fails as the last part of
// the model's name says.

import { fakeVector } from './fake-openai.ts'

const DIMENSION = 384
const MISDEEDS = new Map<string, number>()
/** Number of earlier calls. */
const before = (misdeed: string) => {
  const times = MISDEEDS.get(misdeed) ?? 0
  MISDEEDS.set(misdeed, times + 1)
  return times
}

type LoadOptions = { dtype?: string; local_files_only?: boolean }
type ExtractOptions = { pooling?: string; normalize?: boolean }

export async function pipeline(task: string, model: string, { dtype, local_files_only }: LoadOptions) {
  if (task !== 'feature-extraction') throw new Error(`Unsupported pipeline: ${task}`)
  const isLocal = model.startsWith('/')
  if (isLocal !== local_files_only || dtype !== 'fp32') throw new Error(`unexpected: ${local_files_only}, ${dtype}`)
  const misdeed = model.split('/').at(-1)!
  if (misdeed === 'absent') throw new Error('Unauthorized access to file: "https://huggingface.co/absent/config.json".')
  if (misdeed === 'no-such-directory') throw new Error(`file was not found locally at "${model}/config.json"`)
  if (misdeed === 'offline-at-first' && before(misdeed) === 0) throw new TypeError('fetch failed')
  const [, ms] = /^sleeps-(\d+)$/.exec(misdeed) ?? []
  if (ms) await new Promise((resolve) => setTimeout(resolve, Number(ms)))

  return async (texts: string[], { pooling = 'none', normalize = false }: ExtractOptions = {}) => {
    if (misdeed === 'dies') process.exit(3)
    if (texts.some((text) => text.length === 0 || text.length > 8_192)) throw new Error('the server sent too much')
    const width = misdeed === 'wide' ? 512 : DIMENSION
    const vectors = texts.map((text) => {
      const vector = fakeVector(text, width)
      const length = normalize ? Math.hypot(...vector) : 1
      return vector.map((x) => (misdeed === 'nan' ? NaN : x / length))
    })
    // Without pooling, there is one vector per token.
    const dims = pooling === 'mean' && misdeed !== 'unpooled' ? [texts.length, width] : [texts.length, 1, width]
    return { type: 'float32', dims, data: Float32Array.from(vectors.flat()) }
  }
}
