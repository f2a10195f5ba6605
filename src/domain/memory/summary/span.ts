// Determines how many of the oldest uncovered turns the next summary covers: the span. Pure. A span never separates a
// tool call from its results, and ends before the first streaming turn. A call is identified by its turn and callId.

import type { CallRef } from '../../../store/sql/memory/summary/read-uncovered-turns.ts'

const keyOf = ({ position, callId }: CallRef) => `${position} ${callId}`

/** A turn that a summary may cover. */
export type SpanCandidate = {
  position: number
  tokenCount: number
  /** Whether the turn is still streaming. */
  isOpen: boolean
  /** The tool calls in the turn. */
  calls: readonly CallRef[]
  /** The tool calls whose results are in the turn. */
  answers: readonly CallRef[]
  /** Whether the turn's tool calls may still be answered. */
  isWaiting: boolean
}

/** Limits of a span. */
export type SpanMeasure = {
  /** Minimum number of turns. If fewer turns can be covered, the span is empty. */
  min: number
  /** Maximum number of turns; exceeded only to keep a call together with its result. */
  max: number
  /** Maximum number of turns, never exceeded: the span ends earlier to keep a call together with its result. */
  limit: number
  /** Maximum position of a covered turn, never exceeded. */
  through: number
  /** Maximum number of tokens; exceeded only if no smaller span is possible. */
  tokens: number
}

/**
 * Returns, for each turn, the index of the last turn that contains a result of its calls, or its own index; Infinity if
 * a result may still follow the given turns. A span must not end between a turn and that index.
 */
function reaches(turns: readonly SpanCandidate[], answeredLater: readonly CallRef[]): number[] {
  const reach = turns.map((_, i) => i)
  /** The index of the turn with each call. */
  const callTurns = new Map<string, number>()
  const answered = new Set<string>()
  turns.forEach((turn, i) => {
    for (const call of turn.calls) callTurns.set(keyOf(call), i)
    for (const call of turn.answers) {
      const callTurn = callTurns.get(keyOf(call))
      if (callTurn === undefined) continue
      reach[callTurn] = Math.max(reach[callTurn]!, i)
      answered.add(keyOf(call))
    }
  })
  const later = new Set(answeredLater.map(keyOf))
  turns.forEach((turn, i) => {
    const pending = turn.calls.map(keyOf).filter((call) => !answered.has(call))
    if (pending.some((call) => turn.isWaiting || later.has(call))) reach[i] = Infinity
  })
  return reach
}

/** Returns the turns' calls that have no result in any of the turns. */
export function unanswered(turns: readonly SpanCandidate[]): CallRef[] {
  const answers = new Set(turns.flatMap((turn) => turn.answers).map(keyOf))
  return turns.flatMap((turn) => turn.calls).filter((call) => !answers.has(keyOf(call)))
}

/**
 * Returns the number of turns, counted from the first, that the next summary covers; 0 for none.
 * @param turns the oldest uncovered turns, in order
 * @param answeredLater calls whose results are in turns after these
 */
export function spanOf(
  turns: readonly SpanCandidate[],
  answeredLater: readonly CallRef[],
  measure: SpanMeasure,
): number {
  const reach = reaches(turns, answeredLater)
  let best = 0
  let tokens = 0
  let furthest = -1
  for (let i = 0; i < turns.length; i++) {
    const turn = turns[i]!
    if (turn.isOpen || i >= measure.limit || turn.position > measure.through) break
    tokens += turn.tokenCount
    if (best >= measure.min && (i >= measure.max || tokens > measure.tokens)) break
    furthest = Math.max(furthest, reach[i]!)
    if (furthest === Infinity) break
    if (furthest === i) best = i + 1
  }
  return best >= measure.min ? best : 0
}

/** Splits the turns into passes of at most `tokens` tokens. A turn with more tokens gets a pass of its own. */
export function splitIntoPasses<T extends { tokenCount: number }>(turns: readonly T[], tokens: number): T[][] {
  const passes: T[][] = []
  let sum = Infinity
  for (const turn of turns) {
    if (sum + turn.tokenCount > tokens) {
      passes.push([])
      sum = 0
    }
    passes.at(-1)!.push(turn)
    sum += turn.tokenCount
  }
  return passes
}
