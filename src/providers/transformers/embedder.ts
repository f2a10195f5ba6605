// Embeds with a local sentence model such as all-MiniLM-L6-v2 through transformers.js, an optional package that is
// loaded only here, in a thread. If the package or the model is missing, the error names the next step.

import { isAbsolute, resolve } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../../thread.ts'
import { CallFailed, closedProvider } from '../ports/call-failed.ts'
import { unit, type Embedder } from '../ports/embedder.ts'
import type { EmbedReply, EmbedRequest, WorkerData } from './worker.ts'

export type TransformersSettings = {
  /** Name on the Hugging Face hub, or a directory if it begins with / or a dot. */
  model: string
  dimension: number
  /** Replaces the package in tests. */
  library?: string
}

const LIBRARY = '@huggingface/transformers'
const INSTALL = `npm install ${LIBRARY}@4`

/** Texts per message. A batch is padded to its longest text, so a larger one only costs memory. */
const BATCH = 16
/** Maximum UTF-16 units of a text that are embedded; all-MiniLM-L6-v2 reads 512 tokens, about 2,500 units. */
const READ_UNITS = 8_192

type Waiting = { resolve(reply: EmbedReply): void; reject(error: Error): void }

/** Creates the embedder. The thread starts, and the model is loaded, with the first texts. */
export function createTransformersEmbedder(settings: TransformersSettings): Embedder {
  const { model, dimension, library = LIBRARY } = settings
  // The name implies weights of type fp32: another type would need another name.
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

  /** Sends one message to the thread and waits for the answer. After an abort the thread still computes it. */
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
      const nonEmpty = texts.flatMap((whole, at) => {
        const text = whole.trim().slice(0, READ_UNITS).toWellFormed()
        return text ? [{ at, text }] : []
      })
      for (let begin = 0; begin < nonEmpty.length; begin += BATCH) {
        const part = nonEmpty.slice(begin, begin + BATCH)
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

/** Splits the answer into vectors. */
function split({ dims, data }: { dims: number[]; data: Float32Array }, count: number, dimension: number, name: string) {
  const made = dims.at(-1)!
  if (dims.length !== 2 || dims[0] !== count || data.length !== count * made) {
    throw new CallFailed(`${name} returned no vectors: its output has the shape ${dims.join(' × ')}.`, false)
  }
  if (made !== dimension) {
    throw new CallFailed(
      `${name} returned vectors of ${made} components instead of ${dimension}. `
        + `Set EMBEDDING_DIMENSIONS=${made}, or another EMBEDDING_MODEL.`,
      false,
    )
  }
  if (!data.every(Number.isFinite)) {
    throw new CallFailed(`${name} returned a vector with components that are not numbers.`, false)
  }
  return Array.from({ length: count }, (_, i) => unit(data.slice(i * made, (i + 1) * made)))
}

function explain({ problem, message }: { problem: string; message: string }, model: string): CallFailed {
  if (problem === 'not installed') {
    return new CallFailed(`EMBEDDER=transformers requires a package that is not installed: ${INSTALL}`, false)
  }
  const cause = message.replace(/\s+/g, ' ').replace(/\.$/, '').slice(0, 300)
  const failure = `The model ${JSON.stringify(model)} cannot be used: ${cause}.`
  return problem === 'unreachable'
    ? new CallFailed(`${failure} It is downloaded from huggingface.co once; EMBEDDING_MODEL may be a directory.`, true)
    : new CallFailed(
        `${failure} Check EMBEDDING_MODEL: it must be a model with ONNX files, or a directory of one.`,
        false,
      )
}
