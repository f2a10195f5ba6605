// Counts the work of one operation while it runs: completed values, bytes read, bytes answered, and time. Stops the
// operation when one of them exceeds its limit. A stopped operation starts no further reads and completes no further
// fields. A read that is already running is not interrupted; its result is dropped.

import type { ExecutionResult, GraphQLError } from 'graphql'
import type { Clock } from '../../../runtime/clock.ts'
import { ReadTimeout, QueueFull } from '../../../errors.ts'
import type { Platform } from '../../../domain/kernel/platform.ts'
import { yieldToEventLoop } from '../../../runtime/yield.ts'
import type { Viewer } from '../../../domain/kernel/view.ts'
import { AnswerShare, FREE_BYTES } from './answer-share.ts'
import { extentOf } from './extent.ts'
import { clientGone, serverBusy, timedOut, tooCostly, type OperationLimits } from './limits.ts'

/** Maximum number of concurrent reads of one operation, so that one request cannot use every connection. */
const CONCURRENT_READS = 4
/** Factor by which the count of lists may exceed the limit of values before it stops the operation, because it may be too high. */
const COUNT_TOLERANCE = 2
/** Number of list items after which the executor completes the next list in a new iteration of the event loop. */
const ITEMS_PER_ITERATION = 1_000
/** Appended to the error of a mutation, because a client that repeats the operation may execute its mutations twice. */
const EXECUTED = 'Mutations of this operation may have been executed.'

/** Size of a read, in bytes, after which the operation yields, so that an iteration completes at most one of them. */
const LARGE_READ_BYTES = 32 * 1024

/** Processor time that the process uses to read a byte and to answer with it, ms (measured with pages of 4 MB). */
const MS_PER_BYTE = 8 / 2 ** 20

type PromiseOrValue<T> = Promise<T> | T
type OperationKind = 'query' | 'mutation' | 'subscription'

/** The gates, connections and memory that the operations of all viewers share, and the viewer of this operation. */
type Shared = Pick<Platform, 'gates' | 'reads' | 'answers'> & { viewer: Viewer }

/** The client of an operation. */
export type Client = {
  /** Whether the client has disconnected; operations other than mutations then stop at the next read. */
  isGone(): boolean
  /**
   * Releases the answer when it has been written to the connection, or the connection is closed. Absent if the answer is
   * not sent to one client; it then takes no share of the memory for answers.
   */
  holdAnswer?(answer: HeldAnswer): void
}

/** The share of an operation in the memory for answers. */
export type HeldAnswer = { readonly bytes: number; release(): void }

const nextIteration = () => new Promise<void>((resolve) => setImmediate(resolve))

const isPromise = <T>(value: PromiseOrValue<T>): value is Promise<T> => value instanceof Promise

/** The work of one query or mutation, or of the current event of a subscription. Creating an instance is cheap. */
export class Work {
  readonly #limits: OperationLimits
  readonly #clock: Clock
  readonly #client: Client | undefined
  readonly #shared: Shared | undefined
  /** The operation's share of the memory for answers; null while its data is small. */
  #share: AnswerShare | null = null
  #isMutation = false
  #failure: GraphQLError | null = null
  /** Makes `within` return the failure; null while no operation with a time limit runs. */
  #interrupt: (() => void) | null = null
  #completing = 0
  #bytesRead = 0
  #bytesAnswered = 0
  #reading = 0
  /** Bytes of the largest read so far; null before the first one has finished. */
  #largestRead: number | null = null
  #waiting: (() => void)[] = []
  #itemsInIteration = 0
  /** Resolves in the last of the requested iterations; null if none is pending. */
  #iteration: Promise<void> | null = null

  /**
   * @param clock determines when the time limit ends
   * @param client absent for the events of a conversation, which are rendered for several clients
   * @param shared absent in tests
   */
  constructor(limits: OperationLimits, clock: Clock, client?: Client, shared?: Shared) {
    this.#limits = limits
    this.#clock = clock
    this.#client = client
    this.#shared = shared
  }

  /** Size of the last answer that was checked, in bytes. */
  get bytesAnswered(): number {
    return this.#bytesAnswered
  }
  /** Counts values that the executor will complete, at most. Throws if the operation is stopped. */
  complete(values: number): void {
    this.#completing += values
    if (this.#completing > this.#limits.values * COUNT_TOLERANCE) this.#exceed('values')
    if (this.#failure !== null) throw this.#failure
  }

  /** Waits until another read may start, reads, and counts the bytes. Rejects if the operation is stopped. */
  async read<T>(load: () => PromiseOrValue<T>): Promise<T> {
    while (!this.#mayRead() && this.#failure === null) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    if (this.#share) await this.#granted(this.#share)
    this.#stopIfGone()
    if (this.#failure !== null) throw this.#failure
    this.#reading += 1
    try {
      const { loaded, bytes } = await this.#admitted(load)
      this.#bytesRead += bytes
      this.#largestRead = Math.max(this.#largestRead ?? 0, bytes)
      if (this.#bytesRead > this.#limits.answerBytes) this.#exceed('answerBytes')
      else this.#takeShare((share) => share.take(this.#bytesRead), this.#bytesRead)
      // The assertion is needed because TypeScript does not know that the field can change during the read.
      const failure = this.#failure as GraphQLError | null
      if (failure !== null) throw failure
      if (bytes > LARGE_READ_BYTES) await yieldToEventLoop()
      return loaded
    } finally {
      this.#reading -= 1
      for (const resume of this.#waiting.splice(0, CONCURRENT_READS)) resume()
    }
  }

  /** Calls `load` when the gate of the tenant's reads admits it. @throws ReadTimeout @throws QueueFull */
  async #admitted<T>(load: () => PromiseOrValue<T>): Promise<{ loaded: T; bytes: number }> {
    if (!this.#shared) return this.#load(load)
    const { gates, viewer, reads } = this.#shared
    try {
      return await gates.reads.run(viewer.tenant, async (charge) => {
        // The operation may have been stopped while it waited.
        this.#stopIfGone()
        if (this.#failure !== null) throw this.#failure
        const read = await this.#load(load)
        charge(read.bytes * MS_PER_BYTE)
        return read
      })
    } catch (error) {
      throw reads.isTimeout(error) ? new ReadTimeout(reads.timeoutMs) : error
    }
  }

  /**
   * Returns the data with its size. Counts only the bytes: most values of a row are not selected, and a selected value
   * is counted when it completes.
   */
  async #load<T>(load: () => PromiseOrValue<T>): Promise<{ loaded: T; bytes: number }> {
    const loaded = await load()
    const remaining = this.#limits.answerBytes - this.#bytesRead
    return { loaded, bytes: extentOf(loaded, { values: Infinity, bytes: remaining }).bytes }
  }

  #stopIfGone(): void {
    if (!this.#isMutation && this.#client?.isGone()) this.#stop(clientGone())
  }

  /**
   * Returns the data, whose fields the executor completes next. After ITEMS_PER_ITERATION list items, the returned
   * promise resolves in a new iteration of the event loop, so that other requests are served in between.
   */
  pace<T>(data: T): PromiseOrValue<T> {
    const list = Array.isArray(data) ? data : (data as { items?: unknown } | null)?.items
    const items = Array.isArray(list) ? list.length : 1
    this.#itemsInIteration += items
    if (this.#itemsInIteration > ITEMS_PER_ITERATION) {
      this.#itemsInIteration = items
      const iteration = (this.#iteration ?? Promise.resolve()).then(nextIteration)
      this.#iteration = iteration
      void iteration.then(() => {
        if (this.#iteration === iteration) this.#iteration = null
      })
    }
    return this.#iteration === null ? data : this.#iteration.then(() => data)
  }

  /** Executes the operation. Returns its result, or the error that stopped it. A mutation has no time limit. */
  within(kind: OperationKind, execute: () => PromiseOrValue<ExecutionResult>): PromiseOrValue<ExecutionResult> {
    this.#isMutation = kind === 'mutation'
    const failed = (error: unknown): ExecutionResult => {
      this.#share?.release()
      if (this.#failure === null) throw error
      return { errors: [this.#failure] }
    }
    let result: PromiseOrValue<ExecutionResult>
    try {
      result = execute()
    } catch (error) {
      return failed(error)
    }
    if (!isPromise(result)) return this.#answered(result)
    const finished = result.then((value) => this.#answered(value), failed)
    return this.#isMutation ? finished : this.#limitTime(finished)
  }

  /** Returns the result once the memory for it is granted, or an error. */
  #answered(result: ExecutionResult): PromiseOrValue<ExecutionResult> {
    const answer = this.checked(result)
    const bytes = this.#failure === null ? this.#bytesAnswered : 0
    this.#takeShare((share) => share.fit(bytes), bytes)
    if (!this.#share) return answer
    return this.#granted(this.#share).then(() => (this.#failure === null ? answer : { errors: [this.#failure] }))
  }

  /** Takes the operation's share of the memory for answers. Stops the operation if too many others wait for theirs. */
  #takeShare(take: (share: AnswerShare) => void, bytes: number): void {
    if (!this.#share) {
      if (bytes <= FREE_BYTES || !this.#shared || !this.#client?.holdAnswer) return
      const share = new AnswerShare(this.#shared.answers, this.#shared.viewer, this.#limits.answerBytes)
      this.#share = share
      this.#client.holdAnswer({
        release: () => share.sent(this.#isMutation),
        get bytes() {
          return share.bytes
        },
      })
    }
    try {
      take(this.#share)
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Waits for the memory for the answer. Stops the operation if another one gets it instead. */
  #granted(share: AnswerShare): Promise<void> {
    return share.granted().catch((error: unknown) => this.#refuse(error))
  }

  /** Stops the operation because its answer gets no memory. Throws any other error. */
  #refuse(error: unknown): void {
    if (!(error instanceof QueueFull)) throw error
    this.#stop(serverBusy(error, this.#isMutation ? EXECUTED : ''))
  }

  /** Returns the result, or an error if the operation was stopped or the result is too large. */
  checked(result: ExecutionResult): ExecutionResult {
    if (this.#failure === null) {
      const { values, answerBytes } = this.#limits
      const extent = extentOf(result.data, { values, bytes: answerBytes })
      this.#bytesAnswered = extent.bytes
      if (extent.values > values) this.#exceed('values')
      else if (extent.bytes > answerBytes) this.#exceed('answerBytes')
    }
    return this.#failure === null ? result : { errors: [this.#failure] }
  }

  /** Resets the counts and the failure, because the limits apply to each event of a subscription separately. */
  renew(): void {
    this.#completing = 0
    this.#bytesRead = 0
    this.#failure = null
    this.#share?.release()
  }

  /** Whether a read may start. Reads run one at a time while several of them might exceed the limit together. */
  #mayRead(): boolean {
    if (this.#reading === 0) return true
    if (this.#largestRead === null || this.#reading >= CONCURRENT_READS) return false
    return this.#largestRead * CONCURRENT_READS <= this.#limits.answerBytes - this.#bytesRead
  }

  #limitTime(finished: Promise<ExecutionResult>): Promise<ExecutionResult> {
    const { timeMs } = this.#limits
    const timer = this.#clock.setTimeout(() => this.#stop(timedOut(timeMs)), timeMs)
    const interrupted = new Promise<ExecutionResult>((resolve) => {
      this.#interrupt = () => resolve({ errors: [this.#failure!] })
    })
    return Promise.race([finished, interrupted]).finally(() => {
      this.#clock.clearTimeout(timer)
      this.#interrupt = null
    })
  }

  #exceed(limit: 'values' | 'answerBytes'): void {
    this.#stop(tooCostly(limit, this.#limits[limit], null, this.#isMutation ? EXECUTED : ''))
  }

  #stop(error: GraphQLError): void {
    this.#failure ??= error
    this.#share?.release()
    for (const resume of this.#waiting.splice(0)) resume()
    this.#interrupt?.()
  }
}
