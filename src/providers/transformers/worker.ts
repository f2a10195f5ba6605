// The worker thread of thread.ts: loads each model with its first request, and computes one request of a model at a
// time. A thread is needed because ONNX Runtime for Node computes on the calling thread (microsoft/onnxruntime#19611).

import { parentPort } from 'node:worker_threads'

export type ModelSource = {
  /** The module to import: the package, or its replacement in a test. */
  library: string
  model: string
  /** Whether the model is a directory. If so, nothing is downloaded. */
  isLocal: boolean
}
/** The input of each task: texts to embed, and texts to score for a query. Texts and queries are not empty. */
export type Inputs = { embed: { texts: string[] }; rerank: { query: string; texts: string[] } }
export type Task = keyof Inputs
/** A task for a user, which has its own copy of the model. */
export type ModelRequest = {
  [T in Task]: { id: number; user: number; task: T; source: ModelSource; input: Inputs[T] }
}[Task]
/** Releases the model of a user. */
export type Release = { released: number }
/** The output or the problem. `dims` is the shape of the output; `data` contains its rows one after another. */
export type ModelReply =
  | { id: number; dims: number[]; data: Float32Array<ArrayBuffer> }
  | { id: number; problem: 'not installed' | 'unreachable' | 'broken'; message: string }

/** The part of the package that this file uses: https://huggingface.co/docs/transformers.js/api/pipelines */
type Tensor = { dims: number[]; data: Float32Array }
type Disposable = { dispose(): Promise<unknown> }
type Extractor = Disposable & ((texts: string[], options: { pooling: 'mean'; normalize: true }) => Promise<Tensor>)
type Tokenizer = (texts: string[], options: { text_pair: string[]; padding: true; truncation: true }) => object
type Classifier = Disposable & ((inputs: object) => Promise<{ logits: Tensor }>)
type LoadOptions = { dtype: 'fp32'; local_files_only: boolean }
type Library = {
  pipeline(task: 'feature-extraction', model: string, options: LoadOptions): Promise<Extractor>
  AutoTokenizer: { from_pretrained(model: string, options: { local_files_only: boolean }): Promise<Tokenizer> }
  AutoModelForSequenceClassification: { from_pretrained(model: string, options: LoadOptions): Promise<Classifier> }
}

type Loaded<Input> = { run(input: Input): Promise<Tensor>; dispose(): Promise<unknown> }

/** With quantised weights, the output depends on the processor; with fp32 weights, it is nearly independent of it. */
const DTYPE = 'fp32'

const LOADERS: { [T in Task]: (source: ModelSource) => Promise<Loaded<Inputs[T]>> } = {
  async embed({ library, model, isLocal }) {
    const { pipeline } = (await import(library)) as Library
    const extract = await pipeline('feature-extraction', model, { dtype: DTYPE, local_files_only: isLocal })
    return {
      run: ({ texts }) => extract(texts, { pooling: 'mean', normalize: true }),
      dispose: () => extract.dispose(),
    }
  },
  async rerank({ library, model, isLocal }) {
    const { AutoTokenizer, AutoModelForSequenceClassification } = (await import(library)) as Library
    const [tokenize, classify] = await Promise.all([
      AutoTokenizer.from_pretrained(model, { local_files_only: isLocal }),
      AutoModelForSequenceClassification.from_pretrained(model, { dtype: DTYPE, local_files_only: isLocal }),
    ])
    return {
      async run({ query, texts }) {
        const pairs = tokenize(
          texts.map(() => query),
          { text_pair: texts, padding: true, truncation: true },
        )
        return (await classify(pairs)).logits
      },
      dispose: () => classify.dispose(),
    }
  },
}

/** The model of a user. `loading` is null before the first attempt to load it and after a failed one. */
type User = { loading: Promise<Loaded<never>> | null; last: Promise<void> }
const users = new Map<number, User>()

async function answer(user: User, { id, task, source, input }: ModelRequest): Promise<ModelReply> {
  try {
    user.loading ??= LOADERS[task](source)
    const { run } = await user.loading.catch((error: unknown) => {
      user.loading = null
      throw error
    })
    const { dims, data } = await run(input as never)
    return { id, dims, data: Float32Array.from(data) }
  } catch (error) {
    return { id, problem: problemOf(error, source), message: String((error as Error)?.message ?? error) }
  }
}

/** Matches messages of transformers.js about errors of the hub, and messages of fetch about the network. */
const UNREACHABLE =
  /fetch failed|terminated|time(d |-)?out|Internal server error|Bad gateway|Service unavailable|\((429|5\d\d)\)/i

function problemOf(
  error: unknown,
  { library, isLocal }: ModelSource,
): Extract<ModelReply, { problem: string }>['problem'] {
  const { code, message } = error as { code?: string; message?: string }
  if (/^(ERR_)?MODULE_NOT_FOUND$/.test(code ?? '') && message?.includes(`'${library}'`)) return 'not installed'
  return !isLocal && UNREACHABLE.test(message ?? '') ? 'unreachable' : 'broken'
}

/** Frees the memory of the user's model, after its requests. */
function release(released: number): void {
  const user = users.get(released)
  users.delete(released)
  void user?.last.then(async () => (await user.loading)?.dispose()).catch(() => {})
}

parentPort!.on('message', (request: ModelRequest | Release) => {
  if ('released' in request) return release(request.released)
  const user: User = users.get(request.user) ?? { loading: null, last: Promise.resolve() }
  users.set(request.user, user)
  user.last = user.last.then(async () => {
    const reply = await answer(user, request)
    parentPort!.postMessage(reply, 'data' in reply ? [reply.data.buffer] : [])
  })
})
