// The elements of a JSON list are found in whatever chunks its text arrives.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonElements } from '../../../src/text/json-elements.ts'

async function* chunksOf(text: string, size: number) {
  for (let from = 0; from < text.length; from += size) yield text.slice(from, from + size)
}

async function elements(text: string, size: number): Promise<string[]> {
  const found: string[] = []
  for await (const each of jsonElements(chunksOf(text, size))) found.push(each)
  return found
}

describe('the elements of a list', () => {
  it('are those that JSON.parse finds', async () => {
    const list = fc.array(
      fc.oneof(fc.object(), fc.string(), fc.integer(), fc.constant('[{"\\"]}'), fc.array(fc.string())),
    )
    await fc.assert(
      fc.asyncProperty(list, fc.integer({ min: 1, max: 40 }), fc.boolean(), async (value, size, isPretty) => {
        const text = JSON.stringify(value, null, isPretty ? 2 : 0)
        const found = await elements(text, size)
        expect(found.map((each) => JSON.parse(each))).toEqual(JSON.parse(text))
      }),
    )
  })

  it.each([
    ['{"a": [1, 2]}', ['{"a": [1, 2]}']],
    ['  [] ', []],
    ['', []],
    ['[1, {"a"', ['1', ' {"a"']],
    ['[1, 2', ['1', ' 2']],
    ['[', ['[']],
    ['[1] rest', ['1', ' rest']],
  ])('of %j are %j', async (text, found) => {
    expect(await elements(text, 3)).toEqual(found)
  })
})
