// The analysis of clauses: verb, tense, negation and the text after the verb.

import { describe, expect, it } from 'vitest'
import {
  ABILITY,
  FORMER,
  FUTURE,
  PAST_PROGRESSIVE,
  PAST_TENSE,
  PERFECT,
  PERFECT_PROGRESSIVE,
  predicationOf,
  PRESENT,
  PROGRESSIVE,
} from '../../../../../src/providers/rules/sentences/predication.ts'

describe('a clause in the first person', () => {
  it.each([
    ['I really do love tea', 'love', PRESENT, false, 'tea'],
    ['we live in Rome', 'live', PRESENT, false, 'in Rome'],
    ["I'm living in Rome", 'live', PROGRESSIVE, false, 'in Rome'],
    ['I have two kids', 'have', PRESENT, false, 'two kids'],
    ["I've got two kids", 'have', PRESENT, false, 'two kids'],
    ["I don't really like cats", 'like', PRESENT, true, 'cats'],
    ['I never eat meat', 'eat', PRESENT, true, 'meat'],
    ['I no longer work at Acme', 'work', PRESENT, true, 'at Acme'],
    ['I moved to Rome', 'move', PAST_TENSE, false, 'to Rome'],
    ['I just quit my job', 'quit', PAST_TENSE, false, 'my job'],
    ['I read Dune', 'read', PRESENT, false, 'Dune'],
    ['I just read Dune', 'read', PAST_TENSE, false, 'Dune'],
    ['I was visiting Rome', 'visit', PAST_PROGRESSIVE, false, 'Rome'],
    ["I've never been to Rome", 'be', PERFECT, true, 'to Rome'],
    ["I haven't tried sushi", 'try', PERFECT, true, 'sushi'],
    ["I've been swimming for years", 'swim', PERFECT_PROGRESSIVE, false, 'for years'],
    ['I used to live in Rome', 'live', FORMER, false, 'in Rome'],
    ["I'm going to visit Rome", 'visit', FUTURE, false, 'Rome'],
    ["I'm going to church", 'go', PROGRESSIVE, false, 'to church'],
    ["I can't swim", 'swim', ABILITY, true, ''],
    ["I'm not a fan of jazz", 'be', PRESENT, true, 'a fan of jazz'],
    ["I'm currently a student", 'be', PRESENT, false, 'a student'],
    ['I do yoga', 'do', PRESENT, false, 'yoga'],
  ])('%s', (clause, verb, tense, isDenied, rest) => {
    expect(predicationOf(clause)).toMatchObject({ verb, tense, isDenied, rest })
  })

  it.each([
    'I would live in Rome',
    'I could move',
    'I might go',
    "I'd love tea",
    'I hardly eat meat',
    'I had lived in Rome',
    "I won't move",
    'I frobnicate',
    'I',
    'Ida lives in Rome',
    'You live in Rome',
    '',
  ])('is not read if it asserts nothing plainly, or has no known verb: %j', (clause) => {
    expect(predicationOf(clause)).toBeNull()
  })
})
