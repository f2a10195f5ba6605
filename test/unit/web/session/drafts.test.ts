// Drafts: how they are stored, and messages that become drafts again.

import { describe, expect, it } from 'vitest'
import { parseDraft, withReturned } from '../../../../src/web/session/drafts.ts'

const EMPTY = { text: '', audience: [] }

describe('a stored draft', () => {
  it.each([
    ['has its audience', '{"text":"hi","audience":["bob"]}', { text: 'hi', audience: ['bob'] }],
    ['is empty if nothing is stored', null, EMPTY],
    ['is none if it is not JSON', 'hi', EMPTY],
    ['is none without an audience', '{"text":"hi"}', EMPTY],
    ['is none if it is another value', '"hi"', EMPTY],
    ['has only names in its audience', '{"text":"hi","audience":["bob",7]}', { text: 'hi', audience: ['bob'] }],
  ])('%s', (_, stored, expected) => {
    expect(parseDraft(stored)).toEqual(expected)
  })
})

describe('a message that was not sent', () => {
  it.each([
    ['replaces an empty draft', ['one', ['bob']], [' ', []], ['one', ['bob']]],
    ['precedes the text of a draft', ['one', []], ['two', []], ['one\n\ntwo', []]],
    ['stays private before a public draft', ['one', ['bob']], ['two', []], ['one\n\ntwo', ['bob']]],
    ['becomes private before a private draft', ['one', []], ['two', ['bob']], ['one\n\ntwo', ['bob']]],
    ['is for the readers of both', ['one', ['bob', 'cy']], ['two', ['cy', 'di']], ['one\n\ntwo', ['cy']]],
    ['is for its author if nobody may read both', ['one', ['bob']], ['two', ['cy']], ['one\n\ntwo', ['ada']]],
  ] as [string, [string, string[]], [string, string[]], [string, string[]]][])('%s', (_, message, draft, expected) => {
    const draftOf = ([text, audience]: [string, string[]]) => ({ text, audience })
    expect(withReturned(draftOf(draft), draftOf(message), 'ada')).toEqual(draftOf(expected))
  })
})
