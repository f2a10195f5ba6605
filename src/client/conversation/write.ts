// Writes a model's stream to a streaming turn. Sends the text and the other parts as deltas in order, repeats each until it
// is acknowledged, sends heartbeats while the model is silent, and commits the turn, or aborts it and keeps its content.

import { fieldsOf, randomId, type AnsweringOptions, type ConversationName } from '../verbs/calls.ts'
import type { Connection } from '../transport/connection.ts'
import { ABORT_TURN, APPEND_DELTA, COMMIT_TURN, OPEN_TURN } from '../verbs/documents.ts'
import { ColloquyError } from '../transport/errors.ts'
import type { StreamedPartInput, StreamingTurnInput, Turn } from '../generated.ts'
import { linkedSignal, sleep } from '../transport/retry.ts'
import { checkSource, createPartReader, isObject, partsOf, type Source } from './stream-parts.ts'
import { createTaker, sourceError, type Rest, type Sender } from './take-pieces.ts'

export type WriteOptions = AnsweringOptions
  & Partial<StreamingTurnInput> & {
    /**
     * Duration of the turn's lease, s, 5 to 300. If the writer dies or cannot reach the server for longer, the turn is
     * aborted. Defaults to 8.
     */
    leaseSeconds?: number
    /**
     * Promise that must resolve before the turn is committed. If it rejects, or resolves to `error`, the turn is
     * aborted. Pass `result.finishReason` with a `textStream` of the AI SDK, because that stream does not report errors
     * of the model.
     */
    until?: PromiseLike<unknown>
    /** Whether the model's reasoning becomes parts of the turn, visible to all its viewers. Defaults to false. */
    reasoning?: boolean
    /** Called when the turn is open, before its first text. */
    onOpen?(turn: Turn): void
    /**
     * Interval of heartbeats, which renew the turn's lease while no text is being sent, ms. Defaults to a quarter of the
     * lease.
     */
    heartbeatMs?: number
  }

/** Maximum length of one delta, in UTF-16 units. */
const MAX_DELTA = 32_768
/** Maximum length of the text that waits to be sent, in UTF-16 units. Above it, the source is not read. */
const MAX_WAITING = 262_144
/** Time for which the abort of a turn is retried, ms. After that, the turn is aborted when its lease expires. */
const ABORT_MS = 5_000

type Write = { connection: Connection; turnId: string; writerToken: string; heartbeatMs: number }

/** A delta that waits to be sent; `part` is undefined for the text of the turn. */
type Waiting = { part?: StreamedPartInput | undefined; text: string }

/** Whether the delta only adds text to a part, or completes it. */
const onlyAdds = (part?: StreamedPartInput) => Object.keys(part ?? {}).every((key) => /^(number|isComplete)$/.test(key))

/** Sends the deltas of one turn. `failure` rejects with the first permanent error. */
function createSender({ connection, turnId, writerToken, heartbeatMs }: Write, signal: AbortSignal) {
  const waiting: Waiting[] = []
  /** Length of the waiting texts, in UTF-16 units. */
  let length = 0
  /** The ends of the acknowledged texts, by number of the part; 0 for the text of the turn. */
  const ends: number[] = []
  let sending: Promise<void> | null = null
  let fail: (error: unknown) => void
  const failure = new Promise<never>((_, reject) => (fail = reject))
  failure.catch(() => {})

  const append = (delta: { text: string; part?: StreamedPartInput | undefined; start?: number }) =>
    connection.mutate(APPEND_DELTA, { turnId, writerToken, ...delta }, { signal })
  async function send(): Promise<void> {
    while (waiting.length > 0) {
      const { part, text: whole } = waiting.shift()!
      const text = whole.slice(0, MAX_DELTA)
      const rest = whole.slice(MAX_DELTA)
      const number = part?.number ?? 0
      if (rest) waiting.unshift({ part: part && { number, isComplete: part.isComplete }, text: rest })
      length -= text.length
      const start = ends[number] ?? 0
      await append({ text, part: rest && part ? { ...part, isComplete: false } : part, start })
      ends[number] = start + text.length
    }
    sending = null
  }
  const start = (first: Promise<unknown>) =>
    first.then(send).catch((error: unknown) => {
      fail(error)
    })
  const beat = setInterval(() => {
    sending ??= start(append({ text: '' }))
  }, heartbeatMs)

  return {
    failure,
    add(text: string, part?: StreamedPartInput): void {
      const last = waiting.at(-1)
      length += text.length
      if (last && last.part?.number === part?.number && !last.part?.isComplete && onlyAdds(part)) {
        last.text += text
        if (part?.isComplete) last.part = { ...last.part, ...part }
      } else waiting.push({ text, part })
      sending ??= start(Promise.resolve())
    },
    /** Resolves when at most `limit` UTF-16 units wait to be sent; with 0, when all deltas are acknowledged. */
    async waitFor(limit: number): Promise<void> {
      while (length > limit || (limit === 0 && sending)) await Promise.race([failure, sending])
    },
    stop: () => clearInterval(beat),
  }
}

/** Reads the source to its end. @throws ColloquyError (SOURCE_FAILED); the sender's error; the reason of `stopped` */
async function pump(
  source: Source,
  sender: Sender & Pick<ReturnType<typeof createSender>, 'failure' | 'waitFor'>,
  { stopped, reasoning }: { stopped: Promise<never>; reasoning: boolean },
): Promise<Rest> {
  const rest: Rest = { parts: [] }
  const reader = createPartReader()
  const parts = partsOf(source)
  const take = createTaker(sender, rest, reasoning)
  let count = 0
  try {
    for (; ; count++) {
      const next = parts.next().catch((error: unknown) => Promise.reject(sourceError(error)))
      const { done, value } = await Promise.race([next, sender.failure, stopped])
      if (done) break
      reader.read(value).forEach(take)
      await Promise.race([sender.waitFor(MAX_WAITING), stopped])
    }
    reader.end(count).forEach(take)
    return rest
  } catch (error) {
    // Not awaited: a source that waits for its model may never return.
    void Promise.resolve(parts.return?.()).catch(() => {})
    throw error
  }
}

/** Returns the reason of the abort, which all viewers see. It never contains the text of the model's error. */
function abortReasonOf(error: unknown, signal?: AbortSignal | null): string {
  if (signal?.aborted)
    return typeof signal.reason === 'string' ? signal.reason.slice(0, 1_000) : 'Stopped by the writer.'
  if (error instanceof ColloquyError && error.code !== 'SOURCE_FAILED') return `The writer failed with ${error.code}.`
  return 'The source of the answer failed.'
}

async function abort({ connection, turnId, writerToken }: Write, reason: string): Promise<void> {
  const signal = AbortSignal.timeout(ABORT_MS)
  await connection.mutate(ABORT_TURN, { turnId, writerToken, reason }, { signal }).catch(() => {})
}

/** Waits for the option `until`. @throws ColloquyError (SOURCE_FAILED) if it rejects or resolves to `error` */
const untilSucceeded = async (until: PromiseLike<unknown> | undefined): Promise<void> => {
  const outcome = await Promise.resolve(until).catch((error: unknown) => Promise.reject(sourceError(error)))
  if (outcome === 'error') throw sourceError(new Error('The model failed.'))
}

/**
 * Writes a streaming turn from the source, and returns the committed turn. If the source fails, the signal is aborted,
 * or a call fails permanently, the turn is aborted with the content received until then.
 * @throws TypeError if `given` is not a source, before anything is written; a promise is checked when it resolves
 * @throws ColloquyError with the code SOURCE_FAILED, with the source's error as its cause; any other ColloquyError; the
 * reason of the signal
 */
export async function write(
  connection: Connection,
  name: ConversationName,
  given: Source | PromiseLike<Source>,
  options: WriteOptions = {},
): Promise<Turn> {
  const { signal, until, reasoning = false, onOpen, leaseSeconds = 8, heartbeatMs, claimToken, ...turn } = options
  if (!(isObject(given) && 'then' in given)) checkSource(given)
  // Handles a rejection that arrives before it is awaited.
  for (const promise of [given, until]) void Promise.resolve(promise).catch(() => {})
  const writerToken = randomId()
  const input = { role: 'ASSISTANT', clientId: randomId(), ...turn }
  const opening = { ...fieldsOf(name), writerToken, leaseSeconds, claimToken, turn: input }
  const opened = await connection.mutate(OPEN_TURN, opening, { signal })
  const sending = new AbortController()
  const beatMs = heartbeatMs ?? leaseSeconds * 250
  const writing: Write = { connection, turnId: opened.turn.id, writerToken, heartbeatMs: beatMs }
  const sender = createSender(writing, sending.signal)
  const interrupted = linkedSignal(signal)
  const stopped = new Promise<never>((_, reject) => {
    interrupted.signal.addEventListener('abort', () => reject(interrupted.signal.reason))
    if (interrupted.signal.aborted) reject(interrupted.signal.reason)
  })
  stopped.catch(() => {})
  try {
    onOpen?.(opened.turn)
    const source = await Promise.race([Promise.resolve(given).catch((e) => Promise.reject(sourceError(e))), stopped])
    const rest = await pump(source, sender, { stopped, reasoning })
    await Promise.race([untilSucceeded(until), sender.failure, stopped])
    await Promise.race([sender.waitFor(0), stopped])
    sender.stop()
    const end = {
      // A model may announce a call that it never completes, for example at its token limit.
      omitIncompleteCalls: true,
      parts: rest.parts.length > 0 ? rest.parts : undefined,
      tokenUsage: rest.tokenUsage,
      model: turn.model ?? rest.model,
    }
    const committed = await connection.mutate(COMMIT_TURN, { turnId: writing.turnId, writerToken, ...end }, { signal })
    return committed.turn
  } catch (error) {
    sender.stop()
    // Sends what was received before the abort, for at most ABORT_MS.
    await Promise.race([sender.waitFor(0).catch(() => {}), sleep(ABORT_MS)])
    sending.abort()
    await abort(writing, abortReasonOf(error, signal))
    throw error
  } finally {
    interrupted.release()
  }
}
