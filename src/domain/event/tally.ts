// Counts open resources in total and by key, for example the sockets of each viewer.

export type Tally = {
  readonly total: number
  /** Adds 1 to the key's count and returns a function that subtracts it again; null if a maximum is reached. */
  enter(key: string): (() => void) | null
}

/** @param maximum maximum count of each key, and of all keys together; `total` defaults to no limit */
export function createTally(maximum: { perKey: number; total?: number }): Tally {
  const counts = new Map<string, number>()
  let total = 0
  return {
    get total() {
      return total
    },
    enter(key) {
      const count = counts.get(key) ?? 0
      if (count >= maximum.perKey || total >= (maximum.total ?? Infinity)) return null
      counts.set(key, count + 1)
      total += 1
      let left = false
      return () => {
        if (left) return
        left = true
        total -= 1
        const rest = counts.get(key)! - 1
        if (rest > 0) counts.set(key, rest)
        else counts.delete(key)
      }
    },
  }
}
