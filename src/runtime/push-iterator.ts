// Converts pushed values into an async iterable. When the buffer is full, either the producer must wait, or the oldest
// value is dropped. Each value is delivered at most once, in the order in which the values were pushed.

export type PushIterator<T> = {
  push(value: T): void
  /** Whether at least `limit` values or `maxBytes` bytes are buffered. The producer should then wait for `drained`. */
  isFull(): boolean
  /** Resolves when the buffer is empty or the iteration has ended. */
  drained(): Promise<void>
  /** Ends the iteration after the buffered values, with `error` if given. Later calls have no effect. */
  end(error?: unknown): void
  /** Returns the iterator of the only consumer. Ending it drops the buffered values and calls `stop`. */
  iterate(stop: () => void): AsyncIterableIterator<T>
}

type Pending<T> = { resolve(result: IteratorResult<T>): void; reject(error: unknown): void }

type Options<T> = {
  /** 'report' buffers every value, even above `limit`; 'drop-oldest' buffers at most `limit`. Defaults to 'report'. */
  whenFull?: 'report' | 'drop-oldest'
  /** Sum of `sizeOf` of the buffered values at which the buffer is full. Defaults to no limit. */
  maxBytes?: number
  /** Returns the size of a value, in bytes. Defaults to 0. */
  sizeOf?: (value: T) => number
  /** Returns one value in place of the last buffered value and the pushed one; null to keep both, as by default. */
  join?: (last: T, pushed: T) => T | null
}

/** @param limit number of buffered values at which the buffer is full */
export function createPushIterator<T>(
  limit: number,
  { whenFull = 'report', maxBytes = Infinity, sizeOf = () => 0, join = () => null }: Options<T> = {},
): PushIterator<T> {
  const buffered: { value: T; bytes: number }[] = []
  let bytes = 0
  /** Waiting calls of `next`. Empty while values are buffered. */
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
      if (buffered.length === 0) return ended ? finish({ resolve, reject }) : void pending.push({ resolve, reject })
      const next = buffered.shift()!
      bytes -= next.bytes
      resolve({ done: false, value: next.value })
      if (buffered.length === 0 && drained.length > 0) settleDrained()
    })
  }

  return {
    push(value) {
      if (ended) return
      if (pending.length > 0) return pending.shift()!.resolve({ done: false, value })
      if (whenFull === 'drop-oldest' && buffered.length >= limit) bytes -= buffered.shift()!.bytes
      const joined = buffered.length > 0 ? join(buffered.at(-1)!.value, value) : null
      if (joined !== null) bytes -= buffered.pop()!.bytes
      const added = { value: joined ?? value, bytes: sizeOf(joined ?? value) }
      buffered.push(added)
      bytes += added.bytes
    },
    isFull: () => !ended && (buffered.length >= limit || bytes >= maxBytes),
    drained: () =>
      new Promise((resolve) => {
        if (ended || buffered.length === 0) resolve()
        else drained.push(resolve)
      }),
    end,
    iterate(stop) {
      const iterator: AsyncIterableIterator<T> = {
        next,
        async return() {
          stop()
          end()
          buffered.length = 0
          bytes = 0
          return { done: true, value: undefined }
        },
        [Symbol.asyncIterator]: () => iterator,
      }
      return iterator
    },
  }
}
