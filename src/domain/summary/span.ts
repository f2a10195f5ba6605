// Chooses which of the oldest uncovered turns the next summary covers. Pure. A summary never separates a tool call from
// its results, and never covers a streaming turn or any turn after it.

/** A turn that a summary may cover. */
export type SpanCandidate = {
  rootSeq: number
  tokenCount: number
  isOpen: boolean
  /** Ids of the tool calls that it makes, and of those that it answers. */
  calls: readonly string[]
  answers: readonly string[]
  /** Whether its tool calls may still be answered. */
  isWaiting: boolean
}

export type SpanMeasure = {
  /** Minimum number of turns; fewer are not covered. */
  least: number
  /** Maximum number of turns; exceeded only to keep a call together with its result. */
  most: number
  /** Hard maximum number of turns, and hard maximum root seq. If they would split a call, fewer turns are covered. */
  limit: number
  through: number
  /** Maximum number of tokens; exceeded only if the first possible boundary lies beyond it. */
  tokens: number
}

/** For each turn, the index of the last turn that must stay with it: the last answer to its calls, or Infinity. */
function reaches(turns: readonly SpanCandidate[], answeredLater: ReadonlySet<string>): number[] {
  const reach = turns.map((_, i) => i)
  /** For each call id, the last turn that made it: models reuse ids. */
  const makers = new Map<string, number>()
  const answered = new Set<string>()
  const key = (maker: number, call: string) => `${maker} ${call}`
  turns.forEach((turn, i) => {
    for (const call of turn.answers) {
      const maker = makers.get(call)
      if (maker === undefined) continue
      reach[maker] = Math.max(reach[maker]!, i)
      answered.add(key(maker, call))
    }
    for (const call of turn.calls) makers.set(call, i)
  })
  turns.forEach((turn, i) => {
    const pending = turn.calls.filter((call) => !answered.has(key(i, call)))
    const isLast = (call: string) => makers.get(call) === i
    if (pending.some((call) => turn.isWaiting || (isLast(call) && answeredLater.has(call)))) reach[i] = Infinity
  })
  return reach
}

/** Returns the ids of calls that none of the turns answers. */
export function unanswered(turns: readonly SpanCandidate[]): string[] {
  const answers = new Set(turns.flatMap((turn) => turn.answers))
  return [...new Set(turns.flatMap((turn) => turn.calls))].filter((call) => !answers.has(call))
}

/**
 * Returns how many of the first turns the next summary covers; 0 for none.
 * @param turns the oldest uncovered turns, in order
 * @param answeredLater ids of calls answered by turns after these
 */
export function spanOf(
  turns: readonly SpanCandidate[],
  answeredLater: ReadonlySet<string>,
  measure: SpanMeasure,
): number {
  const reach = reaches(turns, answeredLater)
  let best = 0
  let tokens = 0
  let furthest = -1
  for (let i = 0; i < turns.length; i++) {
    const turn = turns[i]!
    if (turn.isOpen || i >= measure.limit || turn.rootSeq > measure.through) break
    tokens += turn.tokenCount
    if (best >= measure.least && (i >= measure.most || tokens > measure.tokens)) break
    furthest = Math.max(furthest, reach[i]!)
    if (furthest === Infinity) break
    if (furthest === i) best = i + 1
  }
  return best >= measure.least ? best : 0
}

/** Splits the turns into parts of at most `tokens` tokens. A turn with more is a part of its own. */
export function passes<T extends { tokenCount: number }>(turns: readonly T[], tokens: number): T[][] {
  const parts: T[][] = []
  let sum = Infinity
  for (const turn of turns) {
    if (sum + turn.tokenCount > tokens) {
      parts.push([])
      sum = 0
    }
    parts.at(-1)!.push(turn)
    sum += turn.tokenCount
  }
  return parts
}
