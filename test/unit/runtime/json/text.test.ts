// `stringify` copies the text of each JsonText unchanged. JSON.stringify prints the same value.

import { describe, expect, it } from 'vitest'
import { JsonText, stringify } from '../../../../src/runtime/json/text.ts'

const LIST = new JsonText('[{"a":1},{"a":"\\u0022"}]', 5)
const EMPTY = new JsonText('[]', 1)

describe('stringify', () => {
  it.each<[string, unknown, string]>([
    ['a value without a JsonText', { a: [1, null, 'b'], c: undefined }, '{"a":[1,null,"b"]}'],
    ['a JsonText', LIST, LIST.text],
    ['a JsonText in an object', { data: { edges: LIST, next: true } }, `{"data":{"edges":${LIST.text},"next":true}}`],
    ['several of them', [LIST, { a: EMPTY, b: LIST }, EMPTY], `[${LIST.text},{"a":[],"b":${LIST.text}},[]]`],
    ['a JsonText beside strings', ['', LIST, '"', EMPTY], `["",${LIST.text},"\\"",[]]`],
  ])('prints %s', (_, value, json) => {
    expect(stringify(value)).toBe(json)
    expect(JSON.parse(JSON.stringify(value))).toEqual(JSON.parse(json))
  })

  it('works after a value that cannot be serialised', () => {
    const circular: Record<string, unknown> = { list: LIST }
    circular.self = circular
    expect(() => stringify(circular)).toThrow(TypeError)
    expect(JSON.stringify(EMPTY)).toBe('[]')
    expect(stringify({ list: EMPTY })).toBe('{"list":[]}')
  })
})
