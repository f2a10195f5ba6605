// Finds the tool calls that results answer. A call is identified by its turn and its callId, because two agents, or one
// agent twice, may use the same callId. The SQL function find_calls finds calls of stored turns; this file finds the
// calls of turns that are written together, and describes the failures of both.

import { InvalidInput } from '../../../errors.ts'
import type { ToolCallRef, ToolResultRef } from '../../../store/sql/turn/append-call.ts'
import type { ResultFault } from '../../../store/sql/turn/append-turns.ts'

/** The calls and results of a turn to write. `audience` is null for every participant. */
export type GivenTurn = {
  actor: string
  audience: readonly string[] | null
  calls: readonly ToolCallRef[]
  results: readonly ToolResultRef[]
}

const quoted = (values: readonly string[]) => values.map((value) => JSON.stringify(value)).join(' or ')

/** Returns the reason that a result answers no call. Models and the AI SDK reject a result of another tool. */
export function resultProblem(outcome: 'no_call' | 'other_name' | 'ambiguous', fault: ResultFault): string {
  const { callId, name, turnId, found } = fault
  const call = `${JSON.stringify(callId)}${turnId === null ? '' : ` of turn ${turnId}`}`
  switch (outcome) {
    case 'no_call':
      return `answers tool call ${call}, which is not in the conversation`
    case 'other_name':
      return `has a result of ${JSON.stringify(name)} for the call ${call}, which calls ${quoted(found)}`
    case 'ambiguous':
      return `answers tool call ${call}, which several turns made. Set callTurnId to one of ${found.join(', ')}.`
  }
}

/**
 * Returns the results of each turn of a batch; `place` is the index of the turn in the batch that made the call. A
 * result without `turnId` answers the only call with its callId in earlier turns of the batch that its author sees. If
 * there are several such calls, it answers the only one that has no result in the batch. Other results get no place:
 * their calls are found when the batch is written.
 * @throws InvalidInput for a result of another tool, or of one of several calls
 */
export function placeResults(
  turns: readonly GivenTurn[],
  path: (index: number) => string,
): (readonly ToolResultRef[])[] {
  const callsById = new Map<string, { place: number; name: string }[]>()
  const answered = new Map<string, number[]>()
  const keyOf = (place: number, callId: string) => `${place} ${callId}`
  return turns.map(({ actor, calls, results }, index) => {
    const isSeen = (place: number) => turns[place]!.audience?.includes(actor) ?? true
    const isWaiting = (place: number, callId: string) => !(answered.get(keyOf(place, callId)) ?? []).some(isSeen)
    const placed = results.map((result): ToolResultRef => {
      const { callId, name, turnId } = result
      if (result.place !== undefined) return { ...result, place: index }
      const seen = turnId ? [] : (callsById.get(callId) ?? []).filter(({ place }) => isSeen(place))
      if (seen.length === 0) return result
      const made = seen.filter((call) => call.name === name)
      if (made.length === 0) {
        const found = [...new Set(seen.map((call) => call.name))]
        throw InvalidInput.at(path(index), resultProblem('other_name', { callId, name, turnId: null, found }))
      }
      const waiting = made.filter(({ place }) => isWaiting(place, callId))
      const [call, ...others] = waiting.length > 0 ? waiting : made
      if (others.length > 0) {
        throw InvalidInput.at(
          path(index),
          `answers tool call ${JSON.stringify(callId)}, which several turns of this batch made. `
            + 'Append the calls first, then name one of their turns in callTurnId.',
        )
      }
      return { part: result.part, callId, name, place: call!.place }
    })
    for (const { place, callId } of placed) {
      if (place === undefined) continue
      answered.set(keyOf(place, callId), [...(answered.get(keyOf(place, callId)) ?? []), index])
    }
    for (const { callId, name } of calls) {
      callsById.set(callId, [...(callsById.get(callId) ?? []), { place: index, name }])
    }
    return placed
  })
}
