// Counts what is open, in total and by key, such as the sockets of each viewer.

export type Tally = {
  readonly total: number
  /** Counts one for the key, and returns a function that takes it back once; null if a maximum is reached. */
  enter(key: string): (() => void) | null
}

/** @param maximum per key, and of all keys together */
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
