// Small talk: sentences without content, and the removal of a greeting from a sentence.

import { describe, expect, it } from 'vitest'
import { isSmallTalk, namesOf, withoutHail } from '../../../src/text/small-talk.ts'

const NAMES = namesOf(['Caroline', 'Melanie Brown'])

describe('small talk', () => {
  it.each([
    'Hey Mel!',
    'Hi!',
    'Good to see you!',
    'How have you been?',
    "What's up with you?",
    'Long time no talk!',
    'Thanks so much, Melanie!',
    'Caroline, thanks!',
    'You’re welcome.',
    'Talk to you soon!',
    'See you later, Caroline.',
    'Have a great day!',
    "That's really cool.",
    "Wow, Caroline, that's awesome!",
    'Totally agree, Mel.',
    'Congrats!',
    'Hey Mel, great to chat with you again!',
    'Ok.',
    '🌟',
    'hiiii',
    'Its great to meet you 😄',
    'im doing good',
  ])('is the whole of %j', (sentence) => expect(isSmallTalk(sentence, NAMES)).toBe(true))

  it.each([
    'I moved to Porto.',
    'Hey Mel, I moved to Porto.',
    'Yes, Friday.',
    'Thanks for the 500 euros.',
    "That's a great dane.",
    'How is the budget?',
    'Good to know that the server is down.',
    'See you at the harbour at nine.',
    'Hope',
    'Have the invoice ready.',
    'Wow, the price rose by 20 %.',
    'Mark, thanks!',
  ])('is not the whole of %j', (sentence) => expect(isSmallTalk(sentence, NAMES)).toBe(false))

  it.each([
    ['Hey Caroline, since we talked I ran a race.', 'Since we talked I ran a race.'],
    ['Hi! We moved.', 'We moved.'],
    ['Wow, the price rose.', 'The price rose.'],
    ['History repeats itself.', 'History repeats itself.'],
    ['Hi-fi speakers cost less.', 'Hi-fi speakers cost less.'],
    ['Good morning', ''],
  ])('is removed from the beginning of %j', (sentence, rest) => expect(withoutHail(sentence)).toBe(rest))
})
