// The agents that answer a turn of a chat.

import { expect, it } from 'vitest'
import { answering } from '../../../../src/command/chat/session.ts'

it.each<[string, string[] | null, string[]]>([
  ['Hello', null, ['fern', 'Moss']],
  ['Hello @fern', null, ['fern']],
  ['@moss and @fern', null, ['fern', 'Moss']],
  ['Hello @ada', null, []],
  ['Mail fern@example.org', null, ['fern', 'Moss']],
  ['psst', ['Moss'], ['Moss']],
  ['psst', ['ada'], []],
  ['psst @fern', ['fern', 'Moss'], ['fern']],
])('of the agents fern and Moss, a turn %j to %j is answered by %j', (text, audience, expected) => {
  expect(answering(['fern', 'Moss'], text, audience)).toEqual(expected)
})
