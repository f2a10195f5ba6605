// Counts of requested terms, compared with the counts of a simple loop.

import { describe, expect, it } from 'vitest'
import { TermCounter, type TermCounts } from '../../../../src/text/words/hashed-terms.ts'

/** The counts of each text, by the term's number. */
const toMaps = ({ starts, terms, counts }: TermCounts) =>
  [...starts.subarray(1)].map((end, text) => {
    const entries = [...terms.keys()].slice(starts[text], end)
    expect(new Set(entries.map((entry) => terms[entry])).size).toBe(entries.length)
    return new Map(entries.map((entry) => [terms[entry]!, counts[entry]!]))
  })

function count(requested: ReadonlyMap<number, number>, texts: readonly (readonly number[])[]) {
  const counter = new TermCounter(requested, texts.length)
  for (const text of texts) {
    for (const term of text) counter.add(term)
    counter.endText()
  }
  return counter.finish()
}

describe('counting the requested terms of texts', () => {
  it('counts each text on its own, and no other terms', () => {
    const requested = new Map([
      [7, 0],
      [-8, 1],
    ])
    // 7 + 4,096 has the same position in the filter as 7.
    expect(toMaps(count(requested, [[7, 1, 7, -8], [], [7 + 4_096, 2], [-8]]))).toEqual([
      new Map([
        [0, 2],
        [1, 1],
      ]),
      new Map(),
      new Map(),
      new Map([[1, 1]]),
    ])
  })

  it('counts the same as a simple loop in 300 texts', () => {
    const requested = new Map(Array.from({ length: 32 }, (_, number) => [(number * 2_654_435_761) | 0, number]))
    const hashes = [...requested.keys(), 5, 6, 7]
    const texts = Array.from({ length: 300 }, (_, text) =>
      Array.from({ length: text % 40 }, (_, n) => hashes[(text * 31 + n * n) % hashes.length]!),
    )
    const expected = texts.map((text) => {
      const counts = new Map<number, number>()
      for (const term of text) {
        const number = requested.get(term)
        if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1)
      }
      return counts
    })
    expect(toMaps(count(requested, texts))).toEqual(expected)
  })
})
