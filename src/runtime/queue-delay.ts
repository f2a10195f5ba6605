// Measures how long work waits in a queue. The measure is the shortest wait of a period, as in CoDel (RFC 8289 §4.1):
// near 0 if the queue was empty at any time in the period, and large only if the queue never became empty.

import { systemClock, type Clock } from './clock.ts'

/** One or more queues whose waits are measured. */
export type DelaySource = {
  /** Returns the shortest wait since the last call, ms, and starts a new period. `now` is `performance.now()`. */
  take(now: number): number
}

export class QueueDelay implements DelaySource {
  readonly #clock: Pick<Clock, 'performance'>
  #waiting = 0
  #shortest = Infinity
  /** Time of the last change that shows progress: work left the queue, or entered it while it was empty. */
  #progressAt = 0
  /** The result of the previous period. */
  #previous = 0

  constructor(clock: Pick<Clock, 'performance'> = systemClock) {
    this.#clock = clock
  }

  /** Call it when work starts to wait, and pass the returned time to `leave`. */
  enter(): number {
    const now = this.#clock.performance.now()
    if (this.#waiting === 0) this.#progressAt = now
    this.#waiting += 1
    return now
  }

  /** Call it when work stops waiting. */
  leave(enteredAt: number): void {
    const now = this.#clock.performance.now()
    this.#waiting -= 1
    this.#progressAt = now
    this.record(now - enteredAt)
  }

  /** Adds a wait that the caller has measured, ms. */
  record(ms: number): void {
    if (ms < this.#shortest) this.#shortest = ms
  }

  take(now: number): number {
    const shortest = this.#shortest
    this.#shortest = Infinity
    if (shortest !== Infinity) this.#previous = shortest
    else if (this.#waiting === 0) this.#previous = 0
    // Nothing left the queue, so its oldest work has waited at least since the last progress.
    else this.#previous = Math.max(this.#previous, now - this.#progressAt)
    return this.#previous
  }
}

/** The delays of the queues of a process in which requests wait, by name. */
export type QueueDelays = {
  /** Appends that wait for the statement that writes them. */
  readonly appends: QueueDelay
  /** Statements that wait for a connection, by pool. The embedded database has one pool: `writeConnections`. */
  readonly appendConnections: QueueDelay
  readonly readConnections: QueueDelay
  readonly writeConnections: QueueDelay
  readonly replicaConnections: QueueDelay
}

export const createQueueDelays = (clock: Pick<Clock, 'performance'>): QueueDelays => ({
  appends: new QueueDelay(clock),
  appendConnections: new QueueDelay(clock),
  readConnections: new QueueDelay(clock),
  writeConnections: new QueueDelay(clock),
  replicaConnections: new QueueDelay(clock),
})
