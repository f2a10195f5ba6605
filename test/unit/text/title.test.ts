// Titles by rules: for requests, for talks between people, and null for texts without a topic.

import { describe, expect, it } from 'vitest'
import { MINUTES_CASES } from '../providers/static/minutes-cases.ts'
import { cutTitle, TITLE_CHARACTERS, titleOf } from '../../../src/text/title.ts'

const of = (...texts: string[]) => titleOf(texts.map((text, n) => ({ speaker: n % 2 ? 'Caroline' : 'Mel', text })))

/** First turns with varied openings, and their titles. */
const OPENINGS: [title: string, text: string][] = [
  [
    'Walking and pictures of the old mill',
    'Earlier in the day I was out walking and took some pictures of the old mill.',
  ],
  ['Visited the new aquarium with the children', 'Yesterday we visited the new aquarium with the children.'],
  ['Painting of the harbour', 'Last weekend I finally finished my painting of the harbour, and it looks great.'],
  ['Cheap flight to Dublin in October', 'Hi there! I am looking for a cheap flight to Dublin in October.'],
  ['Fix my washing machine', 'hey!! im trying to fix my washing machine lol'],
  [
    'Quarterly report is almost done',
    'Good morning everyone. The quarterly report is almost done, but two tables are missing.',
  ],
  ['Write cover letter for nursing job', 'Could you please help me write a cover letter for a nursing job?'],
  ['Store fresh basil', 'What is the best way to store fresh basil?'],
  ['Bicycle tour along the Danube cost', 'How much does a bicycle tour along the Danube cost?'],
  ['Hiking trip in the Pyrenees', 'I just got back from a hiking trip in the Pyrenees, it was amazing.'],
  ['Thinking about our kitchen renovation', "So I've been thinking about our kitchen renovation."],
  ['Broken heating in the office', 'We need to talk about the broken heating in the office.'],
  ['Daughter starts school in September', 'My daughter starts school in September and I am rather nervous.'],
  ['Login page shows an error', 'The login page shows an error after the last update.'],
  ['Strike at the airport', 'Btw, have you heard about the strike at the airport?'],
  ["Can't log in to my account", "I can't log in to my account since this morning."],
  ['Quick question about the invoice from March', 'Just a quick question about the invoice from March.'],
  ['Good recipe for lentil soup', 'Do you know a good recipe for lentil soup?'],
  ['Plan the surprise party for Maria', "Let's plan the surprise party for Maria."],
  [
    'Change the delivery address of my order',
    "Thanks for your help yesterday. I'd like to change the delivery address of my order.",
  ],
  ['Recommend a book about Roman history', 'I was wondering if you could recommend a book about Roman history.'],
  [
    'Team decided to move release to Thursday',
    'Our team decided to move the release to Thursday because of the bug in the parser.',
  ],
  ['Server room was flooded', 'In the morning, the server room was flooded after a pipe broke.'],
  ['Parcel has not arrived yet', 'Sorry to bother you, but my parcel has not arrived yet.'],
  ['Job at the museum', 'Guess what! I got the job at the museum!'],
  ['Moved the concert into the church', 'Because of the rain, we moved the concert into the church.'],
  [
    'Listened to podcast about deep sea animals',
    'While I was cooking, I listened to a podcast about deep sea animals.',
  ],
  ['Summarise the minutes of the board meeting', 'Please summarise the minutes of the board meeting.'],
  ['Training for my first marathon', 'i need advice on training for my first marathon'],
  ['Long discussion about parking spaces', 'There was a long discussion about parking spaces in our street.'],
  ['Repaint the fence', 'I think we should repaint the fence before the winter comes.'],
  ['History of the Eiffel Tower', 'Tell me about the history of the Eiffel Tower.'],
  ['Moved to small house near sea', "It's been a while! I moved to a small house near the sea."],
  ['Learning the cello with an old teacher', 'Recently I started learning the cello with an old teacher.'],
  ['Children want a dog', 'The children really want a dog, and we are not sure about it.'],
  ['Draft of contract for boat rental', 'Here is the draft of the contract for the boat rental.'],
  // In other languages, the phrase is not shortened.
  [
    'Wir suchen für den Sommer eine ruhige Wohnung am See mit…',
    'Wir suchen für den Sommer eine ruhige Wohnung am See mit Garten und zwei Zimmern.',
  ],
]

describe('the title of turns', () => {
  it.each<[title: string, texts: string[]]>([
    ['Plan a trip to Lisbon in May', ['Can you help me plan a trip to Lisbon in May?']],
    ['How do I reset my password', ['How do I reset my password?']],
    ['Invoice 4711 shows the wrong VAT number', ['My invoice 4711 shows the wrong VAT number, please correct it.']],
    ['Write poem about autumn leaves in Kyoto', ['Hello! Write a poem about autumn leaves in Kyoto']],
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

  it.each(OPENINGS)('is %j for %j', (title, text) => {
    expect(of(text)).toBe(title)
  })

  it('has three to seven words in English, for each opening and each conversation', () => {
    const turns = MINUTES_CASES.map((each) => each.turns.map(([speaker, text]) => ({ speaker, text })))
    const titles = [
      ...OPENINGS.slice(0, -1).map(([, text]) => of(text)),
      ...turns.flatMap((each) => [2, 4, each.length].map((count) => titleOf(each.slice(0, count)))),
    ]
    expect(titles.length).toBeGreaterThan(90)
    for (const title of titles) {
      expect(title).toMatch(/^\S+(?: \S+){2,6}$/)
      expect([...title!].length).toBeLessThanOrEqual(TITLE_CHARACTERS)
      expect(title).not.toMatch(/\b(?:the|an?|of|to|and|in|with|from|my)$|…$/i)
    }
  })

  it('is one line of a limited length, cut between words, for any text', () => {
    const long =
      'The committee of the northern harbour approved the extension of the second sailing school building yesterday'
    const title = of(long)!
    expect(title).toBe('Committee of northern harbour approved extension')
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
