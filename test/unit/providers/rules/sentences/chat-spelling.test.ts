// The spelling of chats, rewritten as written English.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spelledOut } from '../../../../../src/providers/rules/sentences/chat-spelling.ts'

describe('a line of a chat', () => {
  it.each([
    ['im from rome', "I'm from rome"],
    ['Ive been vegan since 2019', "I've been vegan since 2019"],
    ['i dont like cats', "i don't like cats"],
    ['i wanna learn welsh', 'i want to learn welsh'],
    ['imma open a bakery', "I'm going to open a bakery"],
    ['i use to play chess', 'i used to play chess'],
    ['my gfs name is Eve', "my girlfriend's name is Eve"],
    ['i love catsss', 'i love cats'],
    ['i looove dogs', 'i looove dogs'],
    ['thats nice lol i love tea', "that's nice ; i love tea"],
    ['lol i love tea', 'i love tea'],
    ['i love tea hahaha', 'i love tea ; '],
    ['i kinda like it ngl', 'i  like it '],
    ['IM is a company', 'IM is a company'],
    ['its ill', 'its ill'],
  ])('%j is read as %j', (line, expected) => {
    expect(spelledOut(line)).toBe(expected)
  })

  it('in written English is left unchanged', () => {
    const words = fc.constantFrom(
      'I',
      "don't",
      'live',
      'in',
      'Rome',
      'with',
      'two',
      'dogs',
      'and',
      'a',
      'book,',
      'too.',
    )
    fc.assert(
      fc.property(fc.array(words, { minLength: 1 }), (line) => {
        expect(spelledOut(line.join(' '))).toBe(line.join(' '))
      }),
    )
  })

  it('is rewritten only once', () => {
    const words = fc.constantFrom('im', 'dont', 'lol', 'catsss', 'gf', 'tea', 'ngl', 'u', 'sooo', 'haha', ';', 'I')
    fc.assert(
      fc.property(fc.array(words), (line) => {
        const once = spelledOut(line.join(' '))
        expect(spelledOut(once)).toBe(once)
      }),
    )
  })
})
