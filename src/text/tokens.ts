// Counts tokens with OpenAI's o200k encoding. Short texts are counted inline, long ones in a worker thread, so that a
// long text does not block the event loop.

import { hash, randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../runtime/thread.ts'

type Encoding = typeof import('gpt-tokenizer/encoding/o200k_base')

const require = createRequire(import.meta.url)
let encoding: Encoding | null = null
/** Loads the tables, in 0.2 s, when the first text is counted, because they use 70 MB of memory. */
const loadEncoding = (): Encoding => (encoding ??= require('gpt-tokenizer/encoding/o200k_base') as Encoding)

export type TokenCounter = {
  /** Number of tokens. A promise if the text is counted in the worker thread. */
  count(text: string): number | Promise<number>
  /** As `count`, for texts that are counted repeatedly: caches the counts of short texts. */
  recount(text: string): number | Promise<number>
  close(): Promise<void>
}

/** Maximum UTF-16 units of a text that is counted inline, which takes about 2 ms. */
const INLINE = 16 * 1024

/**
 * Maximum characters of a run of spaces or of other characters. Longer runs are split, because counting takes quadratic
 * time in the length of a run.
 */
const MAX_RUN_UNITS = 1000
const OVERLONG = new RegExp(`\\S{${MAX_RUN_UNITS}}|\\s{${MAX_RUN_UNITS}}`, 'u')
const RUNS = new RegExp(`\\S{1,${MAX_RUN_UNITS}}|\\s{1,${MAX_RUN_UNITS}}`, 'gu')

/** Text such as `<|endoftext|>` counts as text, never as a control token. */
const PLAIN = { disallowedSpecial: new Set<string>() }

/**
 * The library caches rare words, as slices that keep the whole texts in memory. The cache is cleared after CACHED_UNITS
 * of text and after CACHED_MS, so that it stays small and does not keep erased content.
 */
const CACHED_UNITS = 4 * 1024 * 1024
const CACHED_MS = 10_000
let cachedUnits = 0
function clearCache(): void {
  encoding?.clearMergeCache()
  cachedUnits = 0
}

/** Counts on the calling thread. Each split of a run longer than MAX_RUN_UNITS adds at most one token. */
export function countInline(text: string): number {
  const { countTokens } = loadEncoding()
  if (cachedUnits > CACHED_UNITS) clearCache()
  if (cachedUnits === 0) setTimeout(clearCache, CACHED_MS).unref()
  cachedUnits += text.length + 1
  if (text.length < MAX_RUN_UNITS || !OVERLONG.test(text)) return countTokens(text, PLAIN)
  let tokens = 0
  let piece = ''
  for (const [run] of text.matchAll(RUNS)) {
    piece += run
    if (run.length >= MAX_RUN_UNITS) {
      tokens += countTokens(piece, PLAIN)
      piece = ''
    }
  }
  return tokens + countTokens(piece, PLAIN)
}

/** Maximum number of counts in one generation of the cache, about 1.5 MB. The cache has two generations. */
const GENERATION = 10_000

/**
 * Caches counts in two generations. When the older one is dropped, recently used entries are in the younger one. The
 * keys are salted hashes instead of texts, because a text may be erased later. Hashing takes a tenth of the time of
 * counting.
 */
function createCache(count: (text: string) => number): (text: string) => number {
  const salt = randomBytes(16).toString('base64')
  let young = new Map<string, number>()
  let old = new Map<string, number>()
  return (text) => {
    const key = hash('sha256', salt + text, 'base64')
    const cached = young.get(key)
    if (cached !== undefined) return cached
    const tokens = old.get(key) ?? count(text)
    if (young.size >= GENERATION) {
      old = young
      young = new Map()
    }
    young.set(key, tokens)
    return tokens
  }
}

type Waiting = { resolve(tokens: number): void; reject(error: Error): void }

/**
 * Time without long texts after which the thread ends, ms. The thread uses 100 MB of memory, and up to 200 MB after
 * many long texts. Without a thread, the next long text waits 0.25 s for a new one.
 */
const IDLE_MS = 10_000

/** A running thread, and the texts that it counts. */
type Thread = { worker: Worker; waiting: Map<number, Waiting> }

/**
 * Creates a counter. A long text starts the worker thread; the thread ends when it is idle.
 * @param idleMs see IDLE_MS
 */
export function createTokenCounter(idleMs = IDLE_MS): TokenCounter {
  let thread: Thread | null = null
  let next = 0

  function start(): Thread {
    const worker = startThread(new URL('./tokens-worker.ts', import.meta.url), { name: 'token-counter' })
    const started: Thread = { worker, waiting: new Map() }
    const { waiting } = started
    worker.unref()
    const idle = setTimeout(() => {
      if (waiting.size > 0) return void idle.refresh()
      if (thread === started) thread = null
      void worker.terminate()
    }, idleMs).unref()
    worker.on('message', ({ id, tokens }: { id: number; tokens: number }) => {
      idle.refresh()
      waiting.get(id)?.resolve(tokens)
      waiting.delete(id)
    })
    const fail = (error: Error) => {
      clearTimeout(idle)
      if (thread === started) thread = null
      for (const { reject } of waiting.values()) reject(error)
      waiting.clear()
    }
    worker.on('error', fail)
    worker.on('exit', () => fail(new Error('the token counting thread exited')))
    return started
  }

  function countInThread(text: string): Promise<number> {
    const { worker, waiting } = (thread ??= start())
    const id = next++
    return new Promise<number>((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      worker.postMessage({ id, text })
    })
  }

  const countCached = createCache(countInline)
  return {
    count: (text) => (text.length <= INLINE ? countInline(text) : countInThread(text)),
    recount: (text) => (text.length <= INLINE ? countCached(text) : countInThread(text)),
    async close() {
      await thread?.worker.terminate()
    },
  }
}
