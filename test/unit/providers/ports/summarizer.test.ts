// Cutting a reply of a summarizer to its maximum.

import { describe, expect, it } from 'vitest'
import { cutToTokens } from '../../../../src/providers/ports/summarizer.ts'

/** One token for each word. */
const count = (text: string) => text.split(' ').filter(Boolean).length

describe('a summary over its maximum', () => {
  it.each([
    ['One two. Three four.', 4, 'One two. Three four.'],
    ['One two three. Four five six.', 4, 'One two three.'],
    ['He said "no." Then he left.', 4, 'He said "no."'],
    ['- one two three\n- four five six', 5, '- one two three'],
    ['The price is 3.50 in all.', 4, 'The price is'],
    ['One. Two three four five six seven', 6, 'One. Two three four five six'],
    ['One two.', 0, ''],
  ])('%j, cut to %i tokens, is %j', async (text, max, cut) => {
    expect((await cutToTokens(text, max, count)).trimEnd()).toBe(cut)
  })
})
