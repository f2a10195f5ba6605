// Text on a terminal: its width, its lines, and what is removed from it.

import { describe, expect, it } from 'vitest'
import { endOf, plain, widthOf, wrap } from '../../../src/command/text.ts'

describe('text on a terminal', () => {
  it.each([
    ['abc', 3],
    ['日本', 4],
    ['e\u0301', 1],
    ['🌱', 2],
    ['', 0],
  ])('%j takes %i columns', (text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  it.each<[string, number, string[]]>([
    ['one two three', 7, ['one two', 'three']],
    ['one two', 20, ['one two']],
    ['abcdefgh', 3, ['abc', 'def', 'gh']],
    ['a\n\nb', 5, ['a', '', 'b']],
    ['日本語', 4, ['日本', '語']],
    ['', 5, ['']],
  ])('%j is wrapped at %i columns to %j', (text, width, lines) => {
    expect(wrap(text, width)).toEqual(lines)
  })

  it('has no characters that control the terminal', () => {
    expect(plain('a\u001b]0;x\u0007b\r\nc\td\u009b1m\u202e')).toBe('a]0;xb\nc  d1m')
  })

  it('keeps the end of a text that is too long', () => {
    expect(endOf('bot: …', 'one two three', 12)).toBe('bot: … three')
    expect(widthOf(endOf('bot: …', '日本語日本語', 11))).toBeLessThanOrEqual(11)
  })
})
