// Turns pushed values into an async iterable. The buffer is bounded: when it is full, either the producer learns that it
// must wait, or the oldest value is dropped. Values come out in the order they were pushed, each once.

export type PushIterator<T> = {
  /** Adds a value. Returns false once `limit` values wait: a producer that must not lose any waits for `drained`. */
  push(value: T): boolean
  /** Resolves when no value waits, or when the iteration has ended. */
  drained(): Promise<void>
  /**
   * Ends the iteration after the values that wait; with an error, by throwing it. Only the first call has an effect.
   */
  end(error?: unknown): void
  /** The values, for one consumer. Ending the iteration drops the values that wait and calls `stop`. */
  iterate(stop: () => void): AsyncIterableIterator<T>
}

type Pending<T> = { resolve(result: IteratorResult<T>): void; reject(error: unknown): void }

/**
 * @param limit number of values that may wait for the consumer
 * @param whenFull 'report' keeps every value; 'drop-oldest' never holds more than `limit`
 */
export function createPushIterator<T>(limit: number, whenFull: 'report' | 'drop-oldest' = 'report'): PushIterator<T> {
  const waiting: T[] = []
  /** Calls of `next` that wait for a value. Never any while values wait. */
  const pending: Pending<T>[] = []
  let ended = false
  let failure: unknown
  let drained: (() => void)[] = []

  function settleDrained(): void {
    const resolves = drained
    drained = []
    for (const resolve of resolves) resolve()
  }

  const finish = ({ resolve, reject }: Pending<T>) =>
    failure === undefined ? resolve({ done: true, value: undefined }) : reject(failure)

  function end(error?: unknown): void {
    if (ended) return
    ended = true
    failure = error
    for (const each of pending.splice(0)) finish(each)
    settleDrained()
  }

  function next(): Promise<IteratorResult<T>> {
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) return ended ? finish({ resolve, reject }) : void pending.push({ resolve, reject })
      resolve({ done: false, value: waiting.shift()! })
      if (waiting.length === 0 && drained.length > 0) settleDrained()
    })
  }

  return {
    push(value) {
      if (ended) return true
      if (pending.length > 0) {
        pending.shift()!.resolve({ done: false, value })
        return true
      }
      if (whenFull === 'drop-oldest' && waiting.length >= limit) waiting.shift()
      waiting.push(value)
      return waiting.length < limit
    },
    drained: () =>
      new Promise((resolve) => {
        if (ended || waiting.length === 0) resolve()
        else drained.push(resolve)
      }),
    end,
    iterate(stop) {
      const iterator: AsyncIterableIterator<T> = {
        next,
        async return() {
          stop()
          end()
          waiting.length = 0
          return { done: true, value: undefined }
        },
        [Symbol.asyncIterator]: () => iterator,
      }
      return iterator
    },
  }
}
