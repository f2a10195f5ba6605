// Counts by key, for example the sockets of each viewer or the bytes of each address. A key whose count is 0 takes no
// memory.

export type Tally = {
  /** Sum of all counts. */
  readonly total: number
  /** The keys whose count is not 0. */
  keys(): MapIterator<string>
  /** Number of these keys. */
  readonly size: number
  of(key: string): number
  /** Adds to the key's count, or subtracts from it if `amount` is negative. */
  add(key: string, amount: number): void
  /** Adds 1 to the key's count and returns a function that subtracts it again once; null if a maximum is reached. */
  enter(key: string): (() => void) | null
}

/** @param maximum maximum count of each key, and of all keys together, for `enter`; no limit by default */
export function createTally({ perKey = Infinity, total = Infinity }: { perKey?: number; total?: number } = {}): Tally {
  const counts = new Map<string, number>()
  const of = (key: string) => counts.get(key) ?? 0
  let sum = 0
  function add(key: string, amount: number): void {
    sum += amount
    const count = of(key) + amount
    if (count === 0) counts.delete(key)
    else counts.set(key, count)
  }
  return {
    get total() {
      return sum
    },
    get size() {
      return counts.size
    },
    keys: () => counts.keys(),
    of,
    add,
    enter(key) {
      if (of(key) >= perKey || sum >= total) return null
      add(key, 1)
      let left = false
      return () => {
        if (left) return
        left = true
        add(key, -1)
      }
    },
  }
}
