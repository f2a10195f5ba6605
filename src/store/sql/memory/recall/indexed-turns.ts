// The index entries of turns, column by column, because a search reads a few values of thousands of turns.

/** The index entry of a turn. */
export type IndexedTurn = {
  conversationId: string
  position: number
  seq: number
  /** Creation time, in ms since the epoch. */
  at: number
  actor: string
  /** Token count of the content. */
  tokens: number
  /** Bits of Cue (domain/memory/indexing/cues.ts). */
  cues: number
  /** Number of terms, repetitions included. */
  length: number
}

/** Index entries of one conversation. Arrays with the same index describe the same turn. */
export type IndexedTurns = {
  conversationId: string
  positions: Int32Array
  seqs: Int32Array
  times: Float64Array
  tokens: Int32Array
  cues: Uint8Array
  lengths: Int32Array
  /** Indexes in `names`. */
  actors: Uint16Array
  /** The actors of the turns. */
  names: string[]
}

/** Returns index entries whose values are all zero. */
export const emptyTurns = (conversationId: string, size: number): IndexedTurns => ({
  conversationId,
  positions: new Int32Array(size),
  seqs: new Int32Array(size),
  times: new Float64Array(size),
  tokens: new Int32Array(size),
  cues: new Uint8Array(size),
  lengths: new Int32Array(size),
  actors: new Uint16Array(size),
  names: [],
})

/** Returns a function that adds the names it is called with to `names`, each once, and returns their indexes. */
export function numbering(names: string[]): (name: string) => number {
  const numbers = new Map(names.map((name, number) => [name, number]))
  return (name) => {
    let number = numbers.get(name)
    if (number === undefined) numbers.set(name, (number = names.push(name) - 1))
    return number
  }
}

export const turnAt = (turns: IndexedTurns, index: number): IndexedTurn => ({
  conversationId: turns.conversationId,
  position: turns.positions[index]!,
  seq: turns.seqs[index]!,
  at: turns.times[index]!,
  actor: turns.names[turns.actors[index]!]!,
  tokens: turns.tokens[index]!,
  cues: turns.cues[index]!,
  length: turns.lengths[index]!,
})
