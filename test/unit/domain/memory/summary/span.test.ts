// Selection of the turns that a summary covers: consecutive, with complete tool calls, without streaming turns, up to
// the requested number.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  splitIntoPasses,
  spanOf,
  unanswered,
  type SpanCandidate,
  type SpanMeasure,
} from '../../../../../src/domain/memory/summary/span.ts'
import type { CallRef } from '../../../../../src/store/sql/memory/summary/read-uncovered-turns.ts'

const positionOf = (index: number) => 2 * index + 1

/**
 * Turns of 10 tokens each: `a` is plain, `1` calls a tool, `-1` has the result of the newest call 1, `-1@3` that of the
 * call 1 in the turn at index 3, `o` is open.
 */
const turns = (line: string, isWaiting = true): SpanCandidate[] => {
  const words = line.split(' ')
  return words.map((word, i) => {
    const [, sign, callId, at] = /^(-?)(\d)(?:@(\d+))?$/.exec(word) ?? []
    const caller = at === undefined ? words.slice(0, i).lastIndexOf(callId!) : Number(at)
    return {
      position: positionOf(i),
      tokenCount: 10,
      isOpen: word === 'o',
      isWaiting,
      calls: callId && !sign ? [{ position: positionOf(i), callId }] : [],
      answers: callId && sign ? [{ position: positionOf(caller), callId }] : [],
    }
  })
}
const ALL: SpanMeasure = { min: 1, max: Infinity, limit: Infinity, through: Infinity, tokens: Infinity }
const span = (line: string, measure: Partial<SpanMeasure> = {}, later: CallRef[] = [], isWaiting = true) =>
  spanOf(turns(line, isWaiting), later, { ...ALL, ...measure })

describe('the span of a summary', () => {
  it.each<[string, string, Partial<SpanMeasure>, number]>([
    ['contains all turns', 'a a a', {}, 3],
    ['has the requested number of turns', 'a a a a', { max: 2 }, 2],
    ['has the requested number of tokens', 'a a a a', { tokens: 25 }, 2],
    ['has at least one turn of any length', 'a a', { tokens: 5 }, 1],
    ['ends at the given position', 'a a a a', { through: 5 }, 3],
    ['ends before an open turn', 'a a o a', {}, 2],
    ['is empty if the first turn is open', 'o a', {}, 0],
    ['ends before a call rather than separate it from its result', 'a a 1 -1 a', { max: 3 }, 2],
    ['extends to the result if it begins with the call', '1 a -1 a a', { max: 1 }, 3],
    ['extends to the last of several results', '1 -1 a -1 a', { max: 2 }, 4],
    ['never extends beyond the limit', '1 a -1 a', { max: 1, limit: 2 }, 0],
    ['contains overlapping calls together', '1 2 -1 -2 a', { max: 3 }, 4],
    ['ends before a call with a pending result', 'a a 1 a a', {}, 2],
    ['supports ids that are used again', '1 -1 a 1 -1 a', { max: 4 }, 3],
    ['extends to the result of the second use', '1 -1 1 a', {}, 2],
    ['keeps calls of two agents with one id with their own results', '1 1 -1@0 a -1@1 a', { max: 1 }, 5],
    ['ends between the results of two agents if the first pair is complete', '1 -1@0 1 a -1@2', { max: 3 }, 2],
    ['has the exact number of turns of any length', 'a a a a', { min: 3, max: 3, tokens: 5 }, 3],
    ['is empty if there are fewer turns', 'a a', { min: 3, max: 3 }, 0],
    ['is empty if a pending call leaves fewer turns', 'a a 1 a', { min: 3, max: 3 }, 0],
    ['exceeds the requested number to include a result', 'a a 1 -1 a', { min: 3, max: 3 }, 4],
  ])('%s: %s %o', (_, line, measure, length) => {
    expect(span(line, measure)).toBe(length)
  })

  it('includes a call without a result if it need not be awaited, unless the result is in a later turn', () => {
    expect(span('a 1 a a', {}, [], false)).toBe(4)
    expect(span('a 1 a a', {}, [{ position: positionOf(1), callId: '1' }], false)).toBe(1)
    expect(span('a 1 a a', {}, [{ position: positionOf(2), callId: '1' }], false)).toBe(4)
    expect(unanswered(turns('a 1 2 -1'))).toEqual([{ position: positionOf(2), callId: '2' }])
  })

  it('never separates a call from its result, and never includes an open turn', () => {
    const word = fc.constantFrom('a', 'a', 'o', '1', '2', '3', '-1', '-2', '-3', '-1@0', '-1@1', '-2@2')
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 300 }),
        fc.boolean(),
        (line, max, tokens, isWaiting) => {
          const all = turns(line.join(' '), isWaiting)
          const length = spanOf(all, [], { ...ALL, max, tokens })
          const keyOf = ({ position, callId }: CallRef) => `${position} ${callId}`
          const callers = new Map<string, number>()
          all.forEach(({ calls, answers, isOpen }, i) => {
            for (const call of answers) {
              const caller = callers.get(keyOf(call))
              if (caller !== undefined) expect(caller < length, line.join(' ')).toBe(i < length)
            }
            for (const call of calls) callers.set(keyOf(call), i)
            if (isOpen) expect(length).toBeLessThanOrEqual(i)
          })
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

describe('the passes of a summary', () => {
  it('are as long as allowed, in order; a longer turn is a pass of its own', () => {
    const of = (...tokens: number[]) => tokens.map((tokenCount) => ({ tokenCount }))
    const lengths = (...tokens: number[]) =>
      splitIntoPasses(of(...tokens), 10).map((pass) => pass.map((turn) => turn.tokenCount))
    expect(lengths()).toEqual([])
    expect(lengths(5, 5, 5)).toEqual([[5, 5], [5]])
    expect(lengths(20, 1, 9, 1)).toEqual([[20], [1, 9], [1]])
  })
})
