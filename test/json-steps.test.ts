// Printing JSON in steps: equal to JSON.stringify, and in several iterations of the event loop.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringifyInSteps } from '../src/json-steps.ts'

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
