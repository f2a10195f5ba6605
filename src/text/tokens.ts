// Counts tokens with OpenAI's o200k encoding. Short texts are counted inline, long ones in a worker thread, so that a
// long text does not block the event loop.

import type { Worker } from 'node:worker_threads'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { startThread } from '../thread.ts'

export type TokenCounter = {
  /** Number of tokens. A promise for texts that are counted in the worker. */
  count(text: string): number | Promise<number>
  /** As `count`, for texts that are counted repeatedly: counts of short texts are cached, 4 million characters at most. */
  recount(text: string): number | Promise<number>
  close(): Promise<void>
}

/** Characters counted inline at most: about 2 ms. */
const INLINE = 16 * 1024

/** Counting takes quadratic time in the length of a run of letters or of spaces: longer runs are split. */
const LONGEST_RUN = 1000
const OVERLONG = new RegExp(`\\S{${LONGEST_RUN}}|\\s{${LONGEST_RUN}}`, 'u')
const RUNS = new RegExp(`\\S{1,${LONGEST_RUN}}|\\s{1,${LONGEST_RUN}}`, 'gu')

/** Text such as `<|endoftext|>` counts as text, never as a control token. */
const PLAIN = { disallowedSpecial: new Set<string>() }

/** Counts on the calling thread. Runs of over 1,000 characters are split: at most one token more for each split. */
export function countInline(text: string): number {
  if (text.length < LONGEST_RUN || !OVERLONG.test(text)) return countTokens(text, PLAIN)
  let tokens = 0
  let piece = ''
  for (const [run] of text.matchAll(RUNS)) {
    piece += run
    if (run.length >= LONGEST_RUN) {
      tokens += countTokens(piece, PLAIN)
      piece = ''
    }
  }
  return tokens + countTokens(piece, PLAIN)
}

/** Characters of one generation of the cache; the cache has two. */
const REMEMBERED = 2 * 1024 * 1024

/** A cache of counts in two generations: entries used recently survive when the older one is dropped. */
function createMemory(count: (text: string) => number): (text: string) => number {
  let young = new Map<string, number>()
  let old = new Map<string, number>()
  let chars = 0
  return (text) => {
    const known = young.get(text)
    if (known !== undefined) return known
    const tokens = old.get(text) ?? count(text)
    if ((chars += text.length) > REMEMBERED) {
      old = young
      young = new Map()
      chars = text.length
    }
    young.set(text, tokens)
    return tokens
  }
}

type Waiting = { resolve(tokens: number): void; reject(error: Error): void }

/** A counter with one worker thread, started by the first long text. */
export function createTokenCounter(): TokenCounter {
  let worker: Worker | null = null
  let next = 0
  const waiting = new Map<number, Waiting>()

  function start(): Worker {
    const started = startThread(new URL('./tokens-worker.ts', import.meta.url), { name: 'token-counter' })
    started.unref()
    started.on('message', ({ id, tokens }: { id: number; tokens: number }) => {
      waiting.get(id)?.resolve(tokens)
      waiting.delete(id)
    })
    const fail = (error: Error) => {
      if (worker === started) worker = null
      for (const { reject } of waiting.values()) reject(error)
      waiting.clear()
    }
    started.on('error', fail)
    started.on('exit', () => fail(new Error('the token counting thread exited')))
    return started
  }

  function countInThread(text: string): Promise<number> {
    worker ??= start()
    const id = next++
    return new Promise<number>((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      worker!.postMessage({ id, text })
    })
  }

  const remembered = createMemory(countInline)
  return {
    count: (text) => (text.length <= INLINE ? countInline(text) : countInThread(text)),
    recount: (text) => (text.length <= INLINE ? remembered(text) : countInThread(text)),
    async close() {
      await worker?.terminate()
    },
  }
}
