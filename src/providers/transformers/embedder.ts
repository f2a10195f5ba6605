// Embeds with a sentence model such as all-MiniLM-L6-v2, on this machine, through transformers.js: an optional package
// that is loaded only here, in a thread of its own. Without it, and without the model, the failure says what to do.

import { isAbsolute, resolve } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../../thread.ts'
import { CallFailed, closedProvider } from '../ports/call-failed.ts'
import { unit, type Embedder } from '../ports/embedder.ts'
import type { Answered, Asked, WorkerData } from './worker.ts'

export type TransformersSettings = {
  /** Of the Hugging Face hub, or a directory where it begins with / or a dot. */
  model: string
  dimension: number
  /** Imported in the place of the package, by tests. */
  library?: string
}

const LIBRARY = '@huggingface/transformers'
const INSTALL = `npm install ${LIBRARY}@4`

/** Texts computed at once: padded to the longest of them, more only costs memory. */
const BATCH = 16
/** UTF-16 units of a text that are read: all-MiniLM-L6-v2 takes 512 tokens, some 2,500. */
const READ_UNITS = 8_192

type Waiting = { resolve(answered: Answered): void; reject(error: Error): void }

/** Starts no thread and loads no model before the first texts. */
export function createTransformersEmbedder(settings: TransformersSettings): Embedder {
  const { model, dimension, library = LIBRARY } = settings
  // The weights' type, fp32, is part of what the name stands for: another one would need another name.
  const name = `transformers:${model}`
  const isLocal = isAbsolute(model) || model.startsWith('.')
  const workerData: WorkerData = { library, model: isLocal ? resolve(model) : model, isLocal }
  let worker: Worker | null = null
  let closed = false
  let next = 0
  const waiting = new Map<number, Waiting>()

  function start(): Worker {
    const started = startThread(new URL('./worker.ts', import.meta.url), { name: 'embedder', workerData })
    started.unref()
    started.on('message', (answered: Answered) => {
      waiting.get(answered.id)?.resolve(answered)
      waiting.delete(answered.id)
    })
    const fail = (why: string) => {
      if (worker === started) worker = null
      const failure = closed
        ? closedProvider('embedder', name)
        : new CallFailed(`The thread of ${name} ended: ${why}.`, true)
      for (const { reject } of waiting.values()) reject(failure)
      waiting.clear()
    }
    started.on('error', (error) => fail(error.message))
    started.on('exit', (code) => fail(`exit code ${code}`))
    return started
  }

  /** One message to the thread and back. An aborted one is computed all the same, for nobody. */
  async function ask(texts: string[], signal: AbortSignal | undefined): Promise<Float32Array[]> {
    signal?.throwIfAborted()
    if (closed) throw closedProvider('embedder', name)
    worker ??= start()
    const id = next++
    let abort = () => {}
    const answered = await new Promise<Answered>((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      abort = () => {
        waiting.delete(id)
        reject(signal!.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      worker!.postMessage({ id, texts } satisfies Asked)
    }).finally(() => signal?.removeEventListener('abort', abort))
    if ('problem' in answered) throw explain(answered, model)
    return split(answered, texts.length, dimension, name)
  }

  return {
    name,
    dimension,
    batch: BATCH,
    async embed(texts, signal) {
      signal?.throwIfAborted()
      if (closed) throw closedProvider('embedder', name)
      const vectors: Float32Array[] = texts.map(() => new Float32Array(dimension))
      const said = texts.flatMap((whole, at) => {
        const text = whole.trim().slice(0, READ_UNITS).toWellFormed()
        return text ? [{ at, text }] : []
      })
      for (let begin = 0; begin < said.length; begin += BATCH) {
        const part = said.slice(begin, begin + BATCH)
        const made = await ask(
          part.map(({ text }) => text),
          signal,
        )
        part.forEach(({ at }, i) => (vectors[at] = made[i]!))
      }
      return vectors
    },
    async close() {
      closed = true
      await worker?.terminate()
    },
  }
}

/** The vectors that came one after the other. */
function split({ dims, data }: { dims: number[]; data: Float32Array }, count: number, dimension: number, name: string) {
  const made = dims.at(-1)!
  if (dims.length !== 2 || dims[0] !== count || data.length !== count * made) {
    throw new CallFailed(`${name} makes no vectors: its answer is of the shape ${dims.join(' × ')}.`, false)
  }
  if (made !== dimension) {
    throw new CallFailed(
      `${name} makes vectors of ${made} components, not of ${dimension}. `
        + `Set EMBEDDING_DIMENSIONS=${made}, or another EMBEDDING_MODEL.`,
      false,
    )
  }
  if (!data.every(Number.isFinite)) {
    throw new CallFailed(`${name} made a vector with components that are no numbers.`, false)
  }
  return Array.from({ length: count }, (_, i) => unit(data.slice(i * made, (i + 1) * made)))
}

function explain({ problem, message }: { problem: string; message: string }, model: string): CallFailed {
  if (problem === 'not installed') {
    return new CallFailed(`EMBEDDER=transformers needs a package that is not installed: ${INSTALL}`, false)
  }
  const cause = message.replace(/\s+/g, ' ').replace(/\.$/, '').slice(0, 300)
  const said = `The model ${JSON.stringify(model)} cannot be used: ${cause}.`
  return problem === 'unreachable'
    ? new CallFailed(`${said} It is fetched from huggingface.co once; EMBEDDING_MODEL may be a directory.`, true)
    : new CallFailed(`${said} Check EMBEDDING_MODEL: a model with ONNX files, or a directory of one.`, false)
}
