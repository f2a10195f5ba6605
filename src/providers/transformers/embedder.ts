// Embeds texts with a local model such as all-MiniLM-L6-v2, using transformers.js in a worker thread. That package is
// optional, and only the thread loads it. If the package or the model is missing, the error names the next step.

import { isAbsolute, resolve } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../../thread.ts'
import { CallFailed, closedProvider } from '../ports/call-failed.ts'
import { unit, type Embedder } from '../ports/embedder.ts'
import type { EmbedReply, EmbedRequest, WorkerData } from './worker.ts'

export type TransformersSettings = {
  /** A directory if it is an absolute path or begins with a dot; otherwise, a model name on the Hugging Face hub. */
  model: string
  dimension: number
  /** The module to import instead of the package, for tests. */
  library?: string
}

const LIBRARY = '@huggingface/transformers'
const INSTALL = `npm install ${LIBRARY}@4`

/** Maximum number of texts per message to the thread. A larger batch only needs more memory for its padding. */
const BATCH = 16
/** Maximum number of UTF-16 units of a text to embed. all-MiniLM-L6-v2 reads 512 tokens, about 2,500 units. */
const READ_UNITS = 8_192

type Waiting = { resolve(reply: EmbedReply): void; reject(error: Error): void }

/** Creates the embedder. The first texts start the thread, which loads the model. */
export function createTransformersEmbedder(settings: TransformersSettings): Embedder {
  const { model, dimension, library = LIBRARY } = settings
  // The name implies the weights of type fp32 that worker.ts loads. Another type would require another name.
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
    started.on('message', (reply: EmbedReply) => {
      waiting.get(reply.id)?.resolve(reply)
      waiting.delete(reply.id)
    })
    const fail = (cause: string) => {
      if (worker === started) worker = null
      const failure = closed
        ? closedProvider('embedder', name)
        : new CallFailed(`The thread of ${name} ended: ${cause}.`, true)
      for (const { reject } of waiting.values()) reject(failure)
      waiting.clear()
    }
    started.on('error', (error) => fail(error.message))
    started.on('exit', (code) => fail(`exit code ${code}`))
    return started
  }

  /** Sends one message to the thread and waits for the reply. After an abort, the thread still computes the reply. */
  async function ask(texts: string[], signal: AbortSignal | undefined): Promise<Float32Array[]> {
    signal?.throwIfAborted()
    if (closed) throw closedProvider('embedder', name)
    worker ??= start()
    const id = next++
    let abort = () => {}
    const reply = await new Promise<EmbedReply>((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      abort = () => {
        waiting.delete(id)
        reject(signal!.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      worker!.postMessage({ id, texts } satisfies EmbedRequest)
    }).finally(() => signal?.removeEventListener('abort', abort))
    if ('problem' in reply) throw explain(reply, model)
    return split(reply, texts.length, dimension, name)
  }

  return {
    name,
    dimension,
    batch: BATCH,
    async embed(texts, signal) {
      signal?.throwIfAborted()
      if (closed) throw closedProvider('embedder', name)
      const vectors: Float32Array[] = texts.map(() => new Float32Array(dimension))
      const nonEmpty = texts.flatMap((whole, index) => {
        const text = whole.trim().slice(0, READ_UNITS).toWellFormed()
        return text ? [{ index, text }] : []
      })
      for (let begin = 0; begin < nonEmpty.length; begin += BATCH) {
        const part = nonEmpty.slice(begin, begin + BATCH)
        const embedded = await ask(
          part.map(({ text }) => text),
          signal,
        )
        part.forEach(({ index }, i) => (vectors[index] = embedded[i]!))
      }
      return vectors
    },
    async close() {
      closed = true
      await worker?.terminate()
    },
  }
}

/**
 * Splits a reply into unit vectors.
 * @throws CallFailed for a reply with an unexpected shape or dimension, or with components that are not finite
 */
function split({ dims, data }: { dims: number[]; data: Float32Array }, count: number, dimension: number, name: string) {
  const components = dims.at(-1)!
  if (dims.length !== 2 || dims[0] !== count || data.length !== count * components) {
    throw new CallFailed(`${name} returned no vectors: its output has the shape ${dims.join(' × ')}.`, false)
  }
  if (components !== dimension) {
    throw new CallFailed(
      `${name} returned vectors of ${components} components instead of ${dimension}. `
        + `Set EMBEDDING_DIMENSIONS=${components}, or another EMBEDDING_MODEL.`,
      false,
    )
  }
  if (!data.every(Number.isFinite)) {
    throw new CallFailed(`${name} returned a vector with components that are not finite.`, false)
  }
  return Array.from({ length: count }, (_, i) => unit(data.slice(i * components, (i + 1) * components)))
}

/** Converts a problem of the thread to an error with the next step. */
function explain({ problem, message }: { problem: string; message: string }, model: string): CallFailed {
  if (problem === 'not installed') {
    return new CallFailed(`EMBEDDER=transformers requires a package that is not installed: ${INSTALL}`, false)
  }
  const cause = message.replace(/\s+/g, ' ').replace(/\.$/, '').slice(0, 300)
  const failure = `The model ${JSON.stringify(model)} cannot be used: ${cause}.`
  return problem === 'unreachable'
    ? new CallFailed(
        `${failure} The model is downloaded from huggingface.co on first use. `
          + 'Without network access, set EMBEDDING_MODEL to a local directory.',
        true,
      )
    : new CallFailed(
        `${failure} Check EMBEDDING_MODEL: it must name a model with ONNX files, or a directory that contains one.`,
        false,
      )
}
