// Elongated words, which chats contain, are folded to their usual spelling.

import { expect, it } from 'vitest'
import fc from 'fast-check'
import { folded } from '../../../../src/text/words/elongation.ts'

it.each([
  ['soooo', 'so'],
  ['yesss nooo', 'yes no'],
  ['goood', 'good'],
  ['tooo', 'too'],
  ['loooove', 'love'],
  ['cooool', 'cool'],
  ['heyyyy!', 'hey!'],
  ['funnny', 'funny'],
  ['wellll', 'well'],
  ['amaaazing', 'amazing'],
  ['birthdayyy', 'birthday'],
  ['schifffahrt', 'schiffahrt'],
  ['дааа', 'да'],
  ['xviii', 'xviii'],
  ['mmm www', 'mmm www'],
  ['ㅋㅋㅋ', 'ㅋㅋㅋ'],
  ['1000', '1000'],
  ['food', 'food'],
])('%s is folded to %s', (text, expected) => {
  expect(folded(text)).toBe(expected)
})

it('does not change a folded text', () => {
  const text = fc.array(fc.constantFrom('o', 's', 'e', 'l', 'x', ' ', 'д', 'y', 'n'), { maxLength: 40 })
  fc.assert(fc.property(text, (letters) => folded(folded(letters.join(''))) === folded(letters.join(''))))
})
