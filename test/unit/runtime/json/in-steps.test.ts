// Printing and parsing JSON in steps: equal to JSON.stringify and JSON.parse, and in several iterations of the event
// loop.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseInSteps, stringifyInSteps } from '../../../../src/runtime/json/in-steps.ts'

const large = 'lörem "ipsum"\n '.repeat(20_000)

describe('printing JSON in steps', () => {
  it.each<[string, object]>([
    ['empty values', { list: [], object: {}, text: '' }],
    ['an empty list', []],
    ['times, null and omitted members', { at: new Date(0), none: null, omitted: undefined, large }],
    ['omitted items', [undefined, large, null]],
    ['large texts in lists', { list: [large, [large, { a: large, b: [] }]], last: large }],
    ['many small values', { list: Array.from({ length: 50_000 }, (_, n) => ({ n, text: `item ${n}` })), after: 1 }],
  ])('prints %s like JSON.stringify', async (_, value) => {
    expect(Buffer.concat(await stringifyInSteps(value)).toString()).toBe(JSON.stringify(value))
  })

  it('prints random values like JSON.stringify', async () => {
    const values = fc.tuple(fc.jsonValue(), fc.constantFrom('', large))
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        expect(Buffer.concat(await stringifyInSteps(value)).toString()).toBe(JSON.stringify(value))
      }),
    )
  })

  it('lets other callbacks run between steps', async () => {
    let iterations = 0
    let isDone = false
    const count = () => {
      iterations += 1
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    await stringifyInSteps(Array.from({ length: 40 }, () => large))
    isDone = true
    expect(iterations).toBeGreaterThan(2)
  })
})

describe('parsing JSON in steps', () => {
  /** Returns the outcome of parsing at once: the value as JSON, or the type of error. */
  async function outcome(parse: () => unknown): Promise<string> {
    try {
      return `value ${JSON.stringify(await parse())}`
    } catch (error) {
      return `throws ${(error as Error).name}`
    }
  }

  it.each([
    '{}',
    ' [ ] ',
    '{"a":{},"b":[],"c":""}',
    '{"a" : [1, 2 , {"b":"\\"}"}] ,\n"c":null}',
    '{"a":1,"b":2,"a":[1,2,3,4,5,6]}',
    '{"__proto__":{"a":1},"constructor":[1,2,3,4,5]}',
    '{"2":[1,2,3,4,5],"1":1,"b":2}',
    '[1,2,]',
    '[,1]',
    '[1 2]',
    '{"a":1,}',
    '{"a"}',
    '{a:1}',
    '{"a":[1,2,3,4,5}',
    '{"a":[1,2,3,4,5]]',
    '{"a":[1,2,3,4,5]} x',
    '{"a":[1,2,3,4,5]',
    '{"a":["unfinished]}',
    '{"a" "b":[1,2,3,4,5]}',
    '{"a":1 "b":[1,2,3,4,5]}',
    '{"a":[1,2,3,4,5],,"b":1}',
    '{"a":tru,"b":[1,2,3,4,5]}',
    '{"a":[1,2,3,4,5],"b":"\t"}',
    '{"a":\u00a0[1,2,3,4,5]}',
    '[[[[[[[[[[[[[[1,2,3]]]]]]]]]]]]]]',
    '[[[[[[[[[[[[[[1,2,3]]]]]]]]]]]]]',
    '',
    'x',
  ])('returns or throws the same as JSON.parse: %j', async (text) => {
    for (let units = 0; units <= text.length; units += 1) {
      expect(await outcome(() => parseInSteps(text, units))).toBe(await outcome(() => JSON.parse(text)))
    }
  })

  it('returns or throws the same as JSON.parse for random values and damaged texts', async () => {
    const damage = fc.record({
      at: fc.nat(),
      removed: fc.nat(2),
      added: fc.constantFrom('', '"', '{', ']', ',', ' ', '\\', ':'),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.json(),
        fc.nat(40),
        fc.boolean(),
        damage,
        async (json, units, isDamaged, { at, removed, added }) => {
          const from = at % (json.length + 1)
          const text = isDamaged ? json.slice(0, from) + added + json.slice(from + removed) : json
          expect(await outcome(() => parseInSteps(text, units))).toBe(await outcome(() => JSON.parse(text)))
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('lets other callbacks run between steps', async () => {
    let iterations = 0
    let isDone = false
    const count = () => {
      iterations += 1
      if (!isDone) setImmediate(count)
    }
    const text = JSON.stringify({
      list: Array.from({ length: 40_000 }, (_, n) => ({ n, text: `item ${n}` })),
      after: 1,
    })
    setImmediate(count)
    expect(await parseInSteps(text)).toEqual(JSON.parse(text))
    isDone = true
    expect(iterations).toBeGreaterThan(2)
  })
})
