// Titles by rules: for requests, for talks between people, and null for texts without a topic.

import { describe, expect, it } from 'vitest'
import { cutTitle, TITLE_CHARACTERS, titleOf } from '../../../src/text/title.ts'

const of = (...texts: string[]) => titleOf(texts.map((text, n) => ({ speaker: n % 2 ? 'Caroline' : 'Mel', text })))

describe('the title of turns', () => {
  it.each<[title: string, texts: string[]]>([
    ['Plan a trip to Lisbon in May', ['Can you help me plan a trip to Lisbon in May?']],
    ['How do I reset my password', ['How do I reset my password?']],
    ['Invoice 4711 shows the wrong VAT number', ['My invoice 4711 shows the wrong VAT number, please correct it.']],
    ['Write a poem about autumn leaves in Kyoto', ['Hello! Write a poem about autumn leaves in Kyoto']],
    ['Export button does nothing on Safari 17', ['# Bug report\n\nThe export button does nothing on Safari 17.']],
    [
      'Charity race for mental health',
      ['Hey Caroline, how are you?', 'I finally got the charity race for mental health.'],
    ],
    ['LGBTQ+ pride parade', ['Since our last chat, things happened.', 'Last week I went to an LGBTQ+ pride parade.']],
    [
      'Picnic with the wife and kids',
      ['So sorry to hear about it.', "I'm doing well, I just had a picnic with the wife and kids."],
    ],
    [
      'Summarise for the board meeting on Friday',
      ['Summarise https://example.com/a.pdf for the board meeting on Friday'],
    ],
    ['Wie kann ich meinen Vertrag kündigen', ['Wie kann ich meinen Vertrag kündigen? Ich habe die Frist verpasst.']],
    ['请帮我写一封辞职信', ['请帮我写一封辞职信']],
  ])('is %j', (title, texts) => {
    expect(of(...texts)).toBe(title)
  })

  it.each<string[][]>([
    [['Hey Mel! Good to see you!', 'Hey Caroline! How are you doing?']],
    [['hi', 'Hello! How can I help you today?']],
    [['Good morning! Hope you are having a good morning so far!', 'Thanks, you too!']],
    [['Hey good afternoon', 'How goes it?']],
    [['ok', '👍', '', '   ']],
    [['x'.repeat(500)]],
    [['```\nconst answer = 42 // the code of a program\n```']],
    [[]],
  ])('is null for %j, which has no topic', (texts) => {
    expect(of(...texts)).toBeNull()
  })

  it('is one line of a limited length, cut between words, for any text', () => {
    const long =
      'The committee of the northern harbour approved the extension of the second sailing school building yesterday'
    const title = of(long)!
    expect(title).toMatch(/^Committee of the northern harbour approved .*…$/)
    const texts = [
      long,
      '𝄞 music '.repeat(100),
      'word\u2028line\ttab and spaces',
      '\ud83d broken half',
      '<b>bold</b> **moves** [link](http://x)',
    ]
    for (const text of texts) {
      const made = of(text)
      if (made === null) continue
      expect([...made].length).toBeLessThanOrEqual(TITLE_CHARACTERS)
      expect(made).not.toMatch(/[\n\r\t]|https?:/)
      expect(made.isWellFormed()).toBe(true)
    }
  })

  it('takes a time linear in the length of the turns', () => {
    // A pattern that backtracks would exceed the timeout of the test.
    for (const text of [
      'I am so '.repeat(5_000),
      'we have to to to '.repeat(3_000),
      ', '.repeat(20_000),
      '- '.repeat(20_000),
    ]) {
      expect(() => of(text)).not.toThrow()
    }
  })
})

it('cutTitle keeps a short title and cuts a long one between words', () => {
  expect(cutTitle('Harbour permit')).toBe('Harbour permit')
  expect(cutTitle('harbour '.repeat(20).trim())).toMatch(/^(harbour )+harbour…$/)
  expect([...cutTitle('𝄞'.repeat(200))]).toHaveLength(TITLE_CHARACTERS)
})
