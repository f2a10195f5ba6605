// What a summariser reads of the parts of a turn.

import { expect, it } from 'vitest'
import { toSummarizerTurn } from '../../../../../src/domain/memory/summary/convert-turn.ts'
import type { UncoveredTurn } from '../../../../../src/store/sql/memory/summary/read-uncovered-turns.ts'

const at = new Date(0)
const textOf = (parts: unknown) =>
  toSummarizerTurn({ actor: 'ada', createdAt: at, text: '', parts } as UncoveredTurn).text
const file = { type: 'file', mediaType: 'image/png', url: 'https://a.example/b.png' }

it.each([
  [[{ type: 'text', text: 'Look!' }, file], 'Look!\n(file https://a.example/b.png, image/png)'],
  [[{ ...file, fileName: 'b.png', caption: 'A hedgehog' }], '(file b.png, image/png: A hedgehog)'],
  [[{ type: 'toolCall', callId: 'c', name: 'add', arguments: { a: 1 } }], '(calls add with {"a":1})'],
  [[{ type: 'toolResult', callId: 'c', name: 'add', result: 2 }], '(add answered 2)'],
  [[{ type: 'reasoning', reasoning: 'hm' }], ''],
])('of %j it reads %j', (parts, expected) => {
  expect(textOf(parts)).toBe(expected)
})
