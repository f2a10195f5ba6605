// Measures how long work waits in a queue. The measure is the shortest wait of a period, as in CoDel (RFC 8289 §4.1):
// it is near 0 if the queue was empty once, however long a burst was, and large only if the queue never becomes empty.

/** A queue, or several of them, whose waits are measured. */
export type DelaySource = {
  /** Returns the shortest wait since the last call, in ms, and starts a new period. `now` is `performance.now()`. */
  take(now: number): number
}

export class QueueDelay implements DelaySource {
  #waiting = 0
  #shortest = Infinity
  /** Time of the last change that shows progress: work left the queue, or entered it while it was empty. */
  #progressAt = 0
  /** The result of the previous period. */
  #previous = 0

  /** Work starts to wait. Pass the result to `leave`. */
  enter(): number {
    const now = performance.now()
    if (this.#waiting === 0) this.#progressAt = now
    this.#waiting += 1
    return now
  }

  /** Work stops waiting. */
  leave(enteredAt: number): void {
    const now = performance.now()
    this.#waiting -= 1
    this.#progressAt = now
    this.record(now - enteredAt)
  }

  /** Adds a wait that was measured otherwise. */
  record(ms: number): void {
    if (ms < this.#shortest) this.#shortest = ms
  }

  take(now: number): number {
    const shortest = this.#shortest
    this.#shortest = Infinity
    if (shortest !== Infinity) this.#previous = shortest
    else if (this.#waiting === 0) this.#previous = 0
    // Nothing left the queue, so its first work has waited since the last progress, or longer.
    else this.#previous = Math.max(this.#previous, now - this.#progressAt)
    return this.#previous
  }
}

/** The queues of a process in which requests wait, by name. */
export type QueueDelays = {
  /** Appends before the statement that writes them. */
  readonly appends: QueueDelay
  /** Statements before their connection, by pool. The embedded database has one pool: `writeConnections`. */
  readonly appendConnections: QueueDelay
  readonly readConnections: QueueDelay
  readonly writeConnections: QueueDelay
  readonly replicaConnections: QueueDelay
}

export const createQueueDelays = (): QueueDelays => ({
  appends: new QueueDelay(),
  appendConnections: new QueueDelay(),
  readConnections: new QueueDelay(),
  writeConnections: new QueueDelay(),
  replicaConnections: new QueueDelay(),
})
