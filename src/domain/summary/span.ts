// Which of the oldest uncovered turns a next summary covers. Pure. A tool call and its results are on one side of every
// boundary, and nothing that is still being written is covered, nor anything after it.

/** A turn that a summary may cover. */
export type SpanCandidate = {
  rootSeq: number
  tokenCount: number
  isOpen: boolean
  /** Tool calls that it makes, and those that it answers. */
  calls: readonly string[]
  answers: readonly string[]
  /** Whether a call that it makes may still get its answer. */
  isWaiting: boolean
}

export type SpanMeasure = {
  /** Fewer turns are not covered. */
  least: number
  /** Turns to cover at most; more only where less would split a call from its result. */
  most: number
  /** Turns and places that are not to be exceeded, whatever it splits: then fewer are covered. */
  limit: number
  through: number
  /** Tokens to cover at most; more only where the first boundary lies beyond them. */
  tokens: number
}

/** The last place in the list that must stay together with each one: that of the last answer to its calls. */
function reaches(turns: readonly SpanCandidate[], answeredLater: ReadonlySet<string>): number[] {
  const reach = turns.map((_, i) => i)
  /** For each call's id, the turn that made it last: models use ids again. */
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
    const open = turn.calls.filter((call) => !answered.has(key(i, call)))
    const isLast = (call: string) => makers.get(call) === i
    if (open.some((call) => turn.isWaiting || (isLast(call) && answeredLater.has(call)))) reach[i] = Infinity
  })
  return reach
}

/** Calls of the turns that none of these turns answers. */
export function unanswered(turns: readonly SpanCandidate[]): string[] {
  const answers = new Set(turns.flatMap((turn) => turn.answers))
  return [...new Set(turns.flatMap((turn) => turn.calls))].filter((call) => !answers.has(call))
}

/**
 * How many of the turns, from the first on, the next summary covers; 0 for none.
 * @param turns the oldest uncovered ones, in order
 * @param answeredLater calls that are answered by later turns than these
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

/** The turns in parts of at most so many tokens; a turn that alone has more is a part of its own. */
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
