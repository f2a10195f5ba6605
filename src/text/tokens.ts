// Counts tokens as OpenAI's o200k models do. Short texts are counted at once; long ones in a worker thread, so that
// nobody's 256 KB hold up everybody's event loop.

import type { Worker } from 'node:worker_threads'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { startThread } from '../thread.ts'

export type TokenCounter = {
  /** How many tokens the text is. A number where that is quick, else a promise. */
  count(text: string): number | Promise<number>
  /**
   * The same, for texts that are counted again and again: short ones are remembered, the newest 4 million characters.
   */
  recount(text: string): number | Promise<number>
  close(): Promise<void>
}

/** Characters counted inline: some 2 ms. */
const INLINE = 16 * 1024

/** Counting slows down with the square of a run without a break, be it of letters or of spaces: longer ones are cut. */
const LONGEST_RUN = 1000
const OVERLONG = new RegExp(`\\S{${LONGEST_RUN}}|\\s{${LONGEST_RUN}}`, 'u')
const RUNS = new RegExp(`\\S{1,${LONGEST_RUN}}|\\s{1,${LONGEST_RUN}}`, 'gu')

/** Text like `<|endoftext|>` is text here, never a control token. */
const PLAIN = { disallowedSpecial: new Set<string>() }

/** The count, on the calling thread. Runs of over 1,000 characters are counted in pieces: at most a token more each. */
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

/** Characters of remembered texts, at which the older half is forgotten. */
const REMEMBERED = 2 * 1024 * 1024

/** Counts in two generations: what was asked for lately survives the forgetting of the older one. */
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
    started.on('exit', () => fail(new Error('the token counting thread ended')))
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
