// Runs models of transformers.js in a worker thread. That package is optional, and only the thread loads it. All models
// of the process share one thread, because ONNX Runtime ends the process if several threads use it
// (microsoft/onnxruntime#24486). If the package or a model is missing, the error names the next step.

import { isAbsolute, resolve } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../../runtime/thread.ts'
import { CallFailed, closedProvider } from '../ports/call-failed.ts'
import type { Inputs, ModelReply, ModelRequest, ModelSource, Release, Task } from './worker.ts'

const LIBRARY = '@huggingface/transformers'
const INSTALL = `npm install ${LIBRARY}@4`

/** Maximum number of texts per message to the thread. A larger batch only needs more memory for its padding. */
export const BATCH = 16

export type ModelSettings = {
  /** A directory if it is an absolute path or begins with a dot; otherwise, a model name on the Hugging Face hub. */
  model: string
  /** The module to import instead of the package, for tests. */
  library?: string
}

/** The provider that uses a model. */
type ModelUser = {
  port: 'embedder' | 'reranker'
  name: string
  /** The variables that select the provider and its model, for error messages. */
  variables: { provider: string; model: string }
}

export type Output = { dims: number[]; data: Float32Array }

export type Model<T extends Task> = {
  /** @throws the signal's reason if it is aborted, or CallFailed after close */
  check(signal?: AbortSignal): void
  /** Computes one batch. After an abort, the thread still computes it. @throws CallFailed, or the signal's reason */
  run(input: Inputs[T], signal?: AbortSignal): Promise<Output>
  /** Rejects running calls, and frees the model. Idempotent. */
  close(): Promise<void>
}

type Waiting = { user: ModelUser; resolve(reply: ModelReply): void; reject(error: Error): void }
type Thread = { worker: Worker; waiting: Map<number, Waiting> }

/** The thread of the process; null while no model has been used. */
let thread: Thread | null = null
/** Number of models that are not closed. */
let open = 0
let nextUser = 0
let nextId = 0

function start(): Thread {
  const worker = startThread(new URL('./worker.ts', import.meta.url), { name: 'models' })
  worker.unref()
  const started: Thread = { worker, waiting: new Map() }
  worker.on('message', (reply: ModelReply) => {
    started.waiting.get(reply.id)?.resolve(reply)
    started.waiting.delete(reply.id)
  })
  const fail = (cause: string) => {
    if (thread === started) thread = null
    for (const { user, reject } of started.waiting.values()) {
      reject(new CallFailed(`The thread of ${user.name} ended: ${cause}.`, true))
    }
    started.waiting.clear()
  }
  worker.on('error', (error) => fail(error.message))
  worker.on('exit', (code) => fail(`exit code ${code}`))
  return started
}

/** Sends one request to the thread and waits for the reply. */
async function ask(user: ModelUser, request: ModelRequest, signal: AbortSignal | undefined): Promise<ModelReply> {
  const { worker, waiting } = (thread ??= start())
  let abort = () => {}
  return new Promise<ModelReply>((resolve, reject) => {
    waiting.set(request.id, { user, resolve, reject })
    abort = () => {
      waiting.delete(request.id)
      reject(signal!.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
    worker.postMessage(request)
  }).finally(() => signal?.removeEventListener('abort', abort))
}

/** Creates a model. The first call of `run` starts the thread, which loads the model. */
export function createModel<T extends Task>(
  task: T,
  { model, library = LIBRARY }: ModelSettings,
  user: ModelUser,
): Model<T> {
  const isLocal = isAbsolute(model) || model.startsWith('.')
  const source: ModelSource = { library, model: isLocal ? resolve(model) : model, isLocal }
  const id = nextUser++
  let isClosed = false
  open += 1
  const closed = () => closedProvider(user.port, user.name)
  function check(signal?: AbortSignal): void {
    signal?.throwIfAborted()
    if (isClosed) throw closed()
  }
  return {
    check,
    async run(input, signal) {
      check(signal)
      const request = { id: nextId++, user: id, task, source, input } as ModelRequest
      const reply = await ask(user, request, signal)
      if ('problem' in reply) throw explain(reply, model, user)
      return reply
    },
    async close() {
      if (isClosed) return
      isClosed = true
      open -= 1
      const left = thread
      if (!left) return
      for (const [request, waiting] of left.waiting) {
        if (waiting.user !== user) continue
        left.waiting.delete(request)
        waiting.reject(closed())
      }
      if (open > 0) return left.worker.postMessage({ released: id } satisfies Release)
      thread = null
      await left.worker.terminate()
    },
  }
}

/** Converts a problem of the thread to an error with the next step. */
function explain(
  { problem, message }: { problem: string; message: string },
  model: string,
  { variables }: ModelUser,
): CallFailed {
  if (problem === 'not installed') {
    return new CallFailed(
      `${variables.provider}=transformers requires a package that is not installed: ${INSTALL}`,
      false,
    )
  }
  const cause = message.replace(/\s+/g, ' ').replace(/\.$/, '').slice(0, 300)
  const failure = `The model ${JSON.stringify(model)} cannot be used: ${cause}.`
  return problem === 'unreachable'
    ? new CallFailed(
        `${failure} The model is downloaded from huggingface.co on first use. `
          + `Without network access, set ${variables.model} to a local directory.`,
        true,
      )
    : new CallFailed(
        `${failure} Check ${variables.model}: it must name a model with ONNX files, or a directory that contains one.`,
        false,
      )
}
