// Turns as lines of text.

import { expect, it } from 'vitest'
import { textOfPart } from '../../../src/text/turn-lines.ts'

const file = (fileName: string | null, caption: string | null) =>
  ({ __typename: 'FilePart', url: 'https://a.example/b.png', fileName, caption }) as const

it.each([
  [file('b.png', null), '[file b.png]'],
  [file(null, null), '[file https://a.example/b.png]'],
  [file('b.png', 'A hedgehog'), '[file b.png: A hedgehog]'],
  [{ __typename: 'ToolCallPart', name: 'add', arguments: { a: 1 } } as const, '[calls add {"a":1}]'],
  [{ __typename: 'ToolResultPart', name: 'add', result: 2 } as const, '[result of add: 2]'],
  [{ __typename: 'TextPart' } as const, null],
  [{ __typename: 'DataPart' } as const, null],
])('%j is shown as %j', (part, expected) => {
  expect(textOfPart(part)).toBe(expected)
})
