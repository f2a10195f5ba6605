// The audience of a message that a person writes.

import { describe, expect, it } from 'vitest'
import { audienceOfReply, toggled } from '../../../../../src/web/transcript/composer/readers.ts'

describe('the audience of a reply', () => {
  it.each([
    ['to a public turn is not limited', 'bob', null, null],
    ['to a private turn has its readers and its author', 'bob', ['ada', 'bob', 'cy'], ['bob', 'cy']],
    ['to an own private turn has its readers', 'ada', ['bob', 'ada'], ['bob']],
    ['to a note to oneself has only oneself', 'ada', ['ada'], ['ada']],
  ])('%s', (_, actor, audience, expected) => {
    expect(audienceOfReply({ actor, audience }, 'ada')).toEqual(expected)
  })
})

describe('an audience', () => {
  it.each([
    ['gains an actor', ['bob'], 'cy', ['bob', 'cy']],
    ['loses an actor', ['bob', 'cy'], 'bob', ['cy']],
    ['becomes the author alone', ['bob', 'cy'], 'ada', ['ada']],
    ['is no longer the author alone', ['ada'], 'bob', ['bob']],
  ])('%s', (_, audience, actor, expected) => {
    expect(toggled(audience, actor, 'ada')).toEqual(expected)
  })
})
