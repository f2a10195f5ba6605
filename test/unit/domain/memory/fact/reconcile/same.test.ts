// Detection of duplicate and contradictory facts, with the vectors of the static embedder.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  contradicts,
  isOpen,
  isSame,
  toComparedFact,
  withSubjectOf,
} from '../../../../../../src/domain/memory/fact/reconcile/same.ts'
import type { Embedder } from '../../../../../../src/providers/ports/embedder.ts'
import { createStaticEmbedder } from '../../../../../../src/providers/static/embedder.ts'

let embedder: Embedder
beforeAll(async () => {
  embedder = await createStaticEmbedder()
})
afterAll(() => embedder.close())

/** Returns the fact about Ada that a text of the form "predicate: object" states. */
async function compared(text: string) {
  const [predicate = '', object = ''] = text.split(': ')
  const [vector] = await embedder.embed([object])
  return toComparedFact({ subject: 'Ada', predicate, object, vector: vector! })
}
const relation = async (one: string, other: string) => {
  const [a, b] = await Promise.all([compared(one), compared(other)])
  const name = isSame(a, b) ? 'same' : contradicts(a, b) ? 'contradictory' : isOpen(a, b) ? 'open' : 'compatible'
  expect([isSame(b, a), contradicts(b, a), isOpen(b, a)]).toEqual([isSame(a, b), contradicts(a, b), isOpen(a, b)])
  return name
}

describe('two facts', () => {
  it.each([
    ['likes: jazz', 'enjoys: Jazz music'],
    ['likes: hiking in the mountains', 'loves: mountain hiking'],
    ['likes: the cinema', 'likes: cinema'],
    ['prefers: meetings in the morning', 'prefers: morning meetings'],
    ['lives in: Berlin', 'moved to: Berlin, Germany'],
    ['birthday: 3 May', 'was born on: May 3, 1990'],
    ['is named: Ada', 'name: Ada Lovelace'],
    ['age: 34', 'is aged: 34 years'],
    ['lives in: New York, New York', 'lives in: New York City, USA'],
  ])('%s and %s are the same', async (one, other) => {
    expect(await relation(one, other)).toBe('same')
  })

  it.each([
    ['lives in: Berlin', 'lives in: Paris'],
    ['lives in: Paris, France', 'resides in: Paris, Texas'],
    ['works at: Initech', 'employer: Globex'],
    ['age: 34', 'age: 35'],
    ['birthday: 3 May', 'birthday: 4 May'],
    ['is named: Ada', 'is named: Grace'],
    ['favorite color is: blue', 'favourite color: green'],
    ['likes: jazz', 'does not like: jazz music'],
    ['likes: mushrooms', 'hates: mushrooms'],
    ['lives in: Berlin', 'no longer lives in: Berlin'],
    ['works at: Initech', 'quit: Initech'],
    ['is married to: Bob', 'is divorced from: Bob'],
    ['prefers: tea', 'prefers: coffee'],
    ['prefers: dark mode', 'prefers: light mode'],
    ['prefers: aisle seats', 'prefers: window seats'],
  ])('%s and %s contradict each other', async (one, other) => {
    expect(await relation(one, other)).toBe('contradictory')
  })

  it.each([
    ['likes: red wine', 'likes: white wine'],
    ['likes: playing guitar', 'likes: playing piano'],
    ['has a daughter named: Emma', 'has a daughter named: Zoe'],
    ['bought: 3 red chairs', 'bought: 4 red chairs'],
    ['speaks: French', 'speaks: German'],
    ['no longer lives in: Berlin', 'no longer lives in: Paris'],
    ['no longer lives in: Berlin', 'lives in: Paris'],
    ['lived in: Rome', 'lives in: Paris'],
    ['prefers: tea', 'prefers: short answers'],
    ['likes: food without meat', 'likes: food with meat'],
    ['visited: Paris', 'is planning a trip to: Paris'],
  ])('%s and %s are compatible or undecided', async (one, other) => {
    expect(['open', 'compatible']).toContain(await relation(one, other))
  })

  it('are unrelated if the subjects differ', async () => {
    const ada = await compared('lives in: Berlin')
    const bob = withSubjectOf(await compared('lives in: Paris'), { ...ada, subject: 'bob' })
    expect([isSame(ada, bob), contradicts(ada, bob), isOpen(ada, bob)]).toEqual([false, false, false])
  })

  it('without vectors, or with vectors of different lengths, are compared by their words', async () => {
    const one = { ...(await compared('likes: jazz music')), vector: null }
    const other = { ...(await compared('likes: jazz')), vector: new Float32Array([1, 0]) }
    expect([isSame(one, other), isSame(one, { ...one })]).toEqual([false, true])
  })
})
