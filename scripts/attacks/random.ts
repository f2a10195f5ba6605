// A seeded random source, so that a run can be repeated.

export type Random = {
  /** An integer in [0, below). */
  below(below: number): number
  pick<T>(from: readonly T[]): T
  /** True with the given probability. */
  chance(probability: number): boolean
}

/** The generator "mulberry32". */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { below, pick: (from) => from[below(from.length)]!, chance: (probability) => next() < probability }
}
