// The worker thread of embedder.ts: loads the model with the first message, and embeds one message at a time. A thread
// is needed because ONNX Runtime for Node computes on the calling thread (microsoft/onnxruntime#19611). There is only
// one, because ONNX Runtime has crashed with several threads (huggingface/transformers.js#1292).

import { parentPort, workerData } from 'node:worker_threads'

export type WorkerData = {
  /** The module to import: the package, or its replacement in a test. */
  library: string
  model: string
  /** Whether the model is a directory. If so, nothing is downloaded. */
  isLocal: boolean
}
export type EmbedRequest = { id: number; texts: string[] }
/** The vectors or the problem. `dims` is the shape of the output; `data` contains the vectors one after another. */
export type EmbedReply =
  | { id: number; dims: number[]; data: Float32Array<ArrayBuffer> }
  | { id: number; problem: 'not installed' | 'unreachable' | 'broken'; message: string }

/** The part of the package that this file uses: https://huggingface.co/docs/transformers.js/api/pipelines */
type Extractor = (texts: string[], options: { pooling: 'mean'; normalize: true }) => Promise<Tensor>
type Tensor = { dims: number[]; data: Float32Array }
type Library = {
  pipeline(
    task: 'feature-extraction',
    model: string,
    options: { dtype: 'fp32'; local_files_only: boolean },
  ): Promise<Extractor>
}

const { library, model, isLocal } = workerData as WorkerData

/** The model, loading or loaded; null before the first attempt and after a failed one. */
let loading: Promise<Extractor> | null = null

async function load(): Promise<Extractor> {
  const { pipeline } = (await import(library)) as Library
  // With quantised weights, the vectors depend on the processor; with fp32 weights, they are nearly independent of it.
  return pipeline('feature-extraction', model, { dtype: 'fp32', local_files_only: isLocal })
}

async function answer({ id, texts }: EmbedRequest): Promise<EmbedReply> {
  try {
    loading ??= load()
    const extract = await loading.catch((error: unknown) => {
      loading = null
      throw error
    })
    const { dims, data } = await extract(texts, { pooling: 'mean', normalize: true })
    return { id, dims, data: Float32Array.from(data) }
  } catch (error) {
    return { id, problem: problemOf(error), message: String((error as Error)?.message ?? error) }
  }
}

/** Matches messages of transformers.js about errors of the hub, and messages of fetch about the network. */
const UNREACHABLE =
  /fetch failed|terminated|time(d |-)?out|Internal server error|Bad gateway|Service unavailable|\((429|5\d\d)\)/i

function problemOf(error: unknown): Extract<EmbedReply, { problem: string }>['problem'] {
  const { code, message } = error as { code?: string; message?: string }
  if (/^(ERR_)?MODULE_NOT_FOUND$/.test(code ?? '') && message?.includes(`'${library}'`)) return 'not installed'
  return !isLocal && UNREACHABLE.test(message ?? '') ? 'unreachable' : 'broken'
}

let last: Promise<void> = Promise.resolve()
parentPort!.on('message', (request: EmbedRequest) => {
  last = last.then(async () => {
    const reply = await answer(request)
    parentPort!.postMessage(reply, 'data' in reply ? [reply.data.buffer] : [])
  })
})
