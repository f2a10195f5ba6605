// Reconciliation of facts: named cases, and properties over random sets (order, accounting, idempotence).

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ActiveFact } from '../../../../../../src/domain/memory/fact/active-fact.ts'
import { contentHash } from '../../../../../../src/domain/memory/fact/content-hash.ts'
import { openPairs } from '../../../../../../src/domain/memory/fact/reconcile/judged-pairs.ts'
import { planSteps, type ReconciliationPlan } from '../../../../../../src/domain/memory/fact/reconcile/reconcile.ts'
import { TRUST } from '../../../../../../src/domain/kernel/rights/principal.ts'
import { runSteps } from '../../../../../../src/runtime/yield.ts'
import type { Verdict } from '../../../../../../src/providers/ports/fact-judge.ts'

type Given = [id: string, text: string, day: number, more?: Partial<ActiveFact>]

/** Parses a fact from a text of the form "Ada | lives in | Berlin", observed on the given day of May 2026. */
function fact([id, text, day, more]: Given): ActiveFact {
  const [subject = '', predicate = '', object = ''] = text.split(' | ')
  const statement = { subject, predicate, object }
  return {
    ...statement,
    id,
    confidence: 0.9,
    observedAt: mayDay(day),
    vector: null,
    trust: TRUST.HUMAN,
    contentHash: contentHash(statement),
    assertedAt: new Date(Date.UTC(2026, 4, 1)),
    restoredAt: null,
    validFrom: null,
    validTo: null,
    ...more,
  }
}
const facts = (...given: Given[]) => given.map(fact)
const pairsOf = (...given: Parameters<typeof openPairs>) => runSteps(openPairs(...given))
const reconcile = (...given: Parameters<typeof planSteps>) => runSteps(planSteps(...given))
const AGENT = { trust: TRUST.AGENT }
const mayDay = (day: number) => new Date(Date.UTC(2026, 4, day))
const unitVector = (radians: number) => new Float32Array([Math.cos(radians), Math.sin(radians)])

describe('duplicates', () => {
  it('become one fact with the clearest wording, the latest time and the greatest confidence', () => {
    const plan = reconcile(
      facts(
        ['a', 'Ada | lives in | Berlin', 1, { confidence: 0.5 }],
        ['b', 'ada | resides in | Berlin, Germany', 2, { confidence: 0.6 }],
        ['c', 'Ada | moved to | berlin', 3, { confidence: 0.4 }],
        ['d', 'Ada | likes | tea', 1],
      ),
    )
    expect(plan).toMatchObject({ kept: ['d'], contradicted: [], merged: [{ originals: ['a', 'b', 'c'] }] })
    expect(plan.merged[0]!.into).toMatchObject({
      key: 'merged:b',
      from: 'b',
      subject: 'ada',
      predicate: 'resides in',
      object: 'Berlin, Germany',
      confidence: 0.6,
      observedAt: new Date(Date.UTC(2026, 4, 3)),
      trust: TRUST.HUMAN,
      contentHash: contentHash({ subject: 'ada', predicate: 'resides in', object: 'Berlin, Germany' }),
    })
  })

  it('of less trust contribute no wording, time or confidence', () => {
    const { merged } = reconcile(
      facts(
        ['a', 'Ada | likes | tea', 1, { confidence: 0.5 }],
        ['b', 'Ada | likes | the tea', 9, { confidence: 1, ...AGENT }],
      ),
    )
    expect(merged).toMatchObject([
      {
        into: { from: 'a', confidence: 0.5, observedAt: new Date(Date.UTC(2026, 4, 1)), trust: TRUST.HUMAN },
        originals: ['a', 'b'],
      },
    ])
  })
})

describe('what a pass changes', () => {
  const ended = { validTo: mayDay(5) }

  it('is compared again: a fact that its group leaves out because of its period joins a duplicate elsewhere', () => {
    const given = facts(
      ['a', 'Ada | no longer lives in | Rome', 1, AGENT],
      ['b', 'Ada | no longer lives in | Rome', 1, { ...AGENT, ...ended }],
      ['c', 'Ada | lives in | Oslo', 2],
    )
    // The verdict puts b in the group of c, whose period b may not change, because c is more trusted.
    const plan = reconcile(given, [{ a: 'b', b: 'c', relation: 'SAME' }])
    expect(plan).toMatchObject({ kept: ['c'], merged: [{ originals: ['a', 'b'], into: ended }], contradicted: [] })
  })

  it('may contradict the winner of an earlier pass: its losers then get the fact that won over it', () => {
    const angle = (degrees: number) => ({ ...AGENT, vector: unitVector((degrees * Math.PI) / 180) })
    const from = (day: number, to?: number) => ({ validFrom: mayDay(day), ...(to && { validTo: mayDay(to) }) })
    const given = facts(
      ['lost', 'Ada | prefers | iced sencha', 5, AGENT],
      ['won', 'Ada | prefers | plain green sencha', 10, { ...angle(0), ...from(10) }],
      ['similar', 'Ada | prefers | matcha', 4, { ...angle(20), ...from(4, 12) }],
      ['last', 'Ada | prefers | genmaicha', 11, { ...angle(-45), ...from(2, 6) }],
      ['other', 'Ada | prefers | mate', 1],
    )
    // In the first pass, the verdict keeps "similar" from "won", which wins over "lost". In the second, the two become
    // one fact, whose period has days in common with "last".
    const plan = reconcile(given, [{ a: 'similar', b: 'other', relation: 'SAME' }])
    expect(plan).toMatchObject({ kept: ['last', 'other'], merged: [] })
    expect(plan.contradicted).toEqual([
      { loser: 'lost', winner: 'last', from: mayDay(10) },
      { loser: 'similar', winner: 'last', from: null },
      { loser: 'won', winner: 'last', from: null },
    ])
  })
})

describe('of two contradictory facts', () => {
  it.each<[string, Given, Given]>([
    ['the later one wins', ['w', 'Ada | lives in | Oslo', 2, { confidence: 0 }], ['l', 'Ada | lives in | Rome', 1]],
    [
      'at equal times, the more confident one wins',
      ['w', 'Ada | age | 34', 1],
      ['l', 'Ada | age | 35', 1, { confidence: 0.8 }],
    ],
    [
      'at equal confidence, the one with the lower hash wins',
      ['w', 'Ada | works at | Initech', 1],
      ['l', 'Ada | works at | Globex', 1],
    ],
    ['a later negation wins', ['w', 'Ada | does not like | tea', 2], ['l', 'Ada | likes | tea', 1]],
    ['a later affirmation wins', ['w', 'Ada | likes | tea', 2], ['l', 'Ada | dislikes | tea', 1]],
    ['a later, more trusted one wins', ['w', 'Ada | age | 34', 2], ['l', 'Ada | age | 35', 1, AGENT]],
  ])('%s', (_, winner, loser) => {
    const given = facts(winner, loser)
    const [later, earlier] = given as [ActiveFact, ActiveFact]
    expect(reconcile(given)).toEqual({
      kept: ['w'],
      contradicted: [
        { loser: 'l', winner: 'w', from: later.observedAt > earlier.observedAt ? later.observedAt : null },
      ],
      merged: [],
      disputed: [],
      rejected: [],
    })
  })

  it('a less trusted one supersedes nothing: both stay active and are reported as disputed', () => {
    const plan = reconcile(facts(['a', 'Ada | lives in | Paris', 1], ['b', 'Ada | lives in | Rome', 2, AGENT]))
    expect(plan).toMatchObject({ kept: ['a', 'b'], contradicted: [], disputed: [{ a: 'b', b: 'a' }] })
  })

  it('all losers point to one active fact, which may be a merged one', () => {
    const plan = reconcile(
      facts(
        ['a', 'Ada | lives in | Rome', 1],
        ['b', 'Ada | lives in | Oslo', 2],
        ['c', 'Ada | lives in | Oslo, Norway', 3],
        ['d', 'Ada | lives in | Paris', 4],
        ['e', 'Ada | moved to | the Paris', 5],
      ),
    )
    expect(plan.merged).toMatchObject([{ originals: ['d', 'e'], into: { object: 'Paris' } }])
    const winner = plan.merged[0]!.into.key
    expect(plan.contradicted).toEqual(
      ['a', 'b', 'c'].map((loser) => ({ loser, winner, from: new Date(Date.UTC(2026, 4, 4)) })),
    )
    expect(plan.kept).toEqual([])
  })

  it('the first one is active again if its value is stated again after the second', () => {
    const plan = reconcile(
      facts(['a', 'Ada | lives in | Rome', 1], ['b', 'Ada | lives in | Oslo', 2], ['c', 'Ada | resides in | Rome', 3]),
    )
    expect(plan).toMatchObject({
      merged: [{ originals: ['a', 'c'] }],
      contradicted: [{ loser: 'b', winner: expect.stringMatching(/^merged:/) }],
    })
  })
})

describe('the verdicts of a model', () => {
  const given = facts(
    ['a', 'Ada | likes | early mornings', 1],
    ['b', 'Ada | likes | sleeping till noon', 2],
    ['c', 'Bob | likes | tea', 3],
    ['d', 'Ada | lives in | Rome', 4],
    ['e', 'Ada | lives in | Oslo', 5],
  )

  it('are requested for pairs that the rules leave undecided, up to the limit', () => {
    expect(pairsOf(given)).toEqual([{ a: 'a', b: 'b' }])
    expect(pairsOf([...given].reverse())).toEqual([{ a: 'a', b: 'b' }])
    expect(pairsOf(given, 0)).toEqual([])
  })

  it('may merge two facts or supersede one of them; rules decide which one', () => {
    expect(reconcile(given, [{ a: 'b', b: 'a', relation: 'SAME' }]).merged).toMatchObject([{ originals: ['a', 'b'] }])
    expect(reconcile(given, [{ a: 'a', b: 'b', relation: 'CONTRADICTORY' }]).contradicted).toEqual([
      { loser: 'a', winner: 'b', from: new Date(Date.UTC(2026, 4, 2)) },
      { loser: 'd', winner: 'e', from: new Date(Date.UTC(2026, 4, 5)) },
    ])
    expect(reconcile(given, [{ a: 'a', b: 'b', relation: 'COMPATIBLE' }])).toEqual(reconcile(given))
  })

  it.each<[ReconciliationPlan['rejected'][0]['why'], Verdict[]]>([
    ['UNKNOWN_ID', [{ a: 'a', b: 'z', relation: 'SAME' }]],
    ['NOT_ASKED', [{ a: 'a', b: 'a', relation: 'CONTRADICTORY' }]],
    ['NOT_ASKED', [{ a: 'a', b: 'c', relation: 'SAME' }]],
    ['NOT_ASKED', [{ a: 'd', b: 'e', relation: 'COMPATIBLE' }]],
    [
      'AMBIGUOUS',
      [
        { a: 'a', b: 'b', relation: 'SAME' },
        { a: 'b', b: 'a', relation: 'CONTRADICTORY' },
      ],
    ],
  ])('are rejected as %s: %j', (why, verdicts) => {
    const { rejected, ...plan } = reconcile(given, verdicts)
    expect(rejected).toHaveLength(verdicts.length)
    expect(rejected).toEqual(expect.arrayContaining(verdicts.map((verdict) => ({ verdict, why }))))
    expect({ ...plan, rejected: [] }).toEqual(reconcile(given))
  })
})

/** Few words, so that random facts share them; vectors up to 3 radians apart, so that similarity is not transitive. */
const PREDICATES = [
  'lives in',
  'resides in',
  'no longer lives in',
  'likes',
  'dislikes',
  'prefers',
  'age',
  'visited',
  'left',
]
const OBJECTS = ['Rome', 'Rome, Italy', 'rome', 'Oslo', 'tea', 'green tea', 'coffee', '34', '35']
const angle = fc.integer({ min: 0, max: 24 }).map((step) => unitVector(step / 8))
const someDay = fc.option(fc.integer({ min: 1, max: 4 }).map(mayDay), { freq: 2 })
/** A fact may have ended before it was observed, and begin after it was observed. */
const somePeriod = { validFrom: someDay, validTo: fc.option(fc.integer({ min: 5, max: 6 }).map(mayDay)) }
const someFact = fc.record({
  subject: fc.constantFrom('Ada', 'ADA', 'Bob'),
  predicate: fc.constantFrom(...PREDICATES),
  object: fc.constantFrom(...OBJECTS),
  vector: fc.option(angle),
  confidence: fc.constantFrom(0.2, 0.5, 0.9),
  observedAt: fc.integer({ min: 1, max: 4 }).map(mayDay),
  ...somePeriod,
  trust: fc.constantFrom(...Object.values(TRUST)),
  assertedAt: fc.constant(new Date(Date.UTC(2026, 4, 1))),
  restoredAt: fc.constant(null),
})
const idOf = (i: number) => `f${String(i).padStart(2, '0')}`
const someFacts = fc
  .array(someFact, { maxLength: 16 })
  .map((list) => list.map((each, i): ActiveFact => ({ ...each, id: idOf(i), contentHash: contentHash(each) })))
const someVerdicts = fc.array(
  fc.record({
    a: fc.integer({ min: 0, max: 17 }).map(idOf),
    b: fc.integer({ min: 0, max: 17 }).map(idOf),
    relation: fc.constantFrom('SAME' as const, 'CONTRADICTORY' as const, 'COMPATIBLE' as const),
  }),
  { maxLength: 8 },
)

/** The active facts after the plan. The ids of merged facts sort in arbitrary order. */
function applied(before: ActiveFact[], { kept, merged }: ReconciliationPlan): ActiveFact[] {
  return [
    ...before.filter(({ id }) => kept.includes(id)),
    ...merged.map(({ into: { key, from, ...rest } }) => ({
      ...rest,
      id: `${key.at(-1)}${key}`,
      vector: before.find(({ id }) => id === from)!.vector,
    })),
  ]
}

describe('for any facts', () => {
  it('the order of the facts does not change the result', () => {
    const shuffled = someFacts.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }), someVerdicts),
    )
    fc.assert(
      fc.property(shuffled, ([list, other, verdicts]) => {
        expect(reconcile(other, [...verdicts].reverse())).toEqual(reconcile(list, verdicts))
        expect(pairsOf(other)).toEqual(pairsOf(list))
      }),
      { numRuns: 300 },
    )
  })

  it('each fact is accounted for once, and every loser points to an active fact that is trusted no less', () => {
    fc.assert(
      fc.property(someFacts, someVerdicts, (list, verdicts) => {
        const plan = reconcile(list, verdicts)
        const named = [
          ...plan.kept,
          ...plan.merged.flatMap(({ originals }) => originals),
          ...plan.contradicted.map(({ loser }) => loser),
        ]
        expect(named.sort()).toEqual(list.map(({ id }) => id))
        const trustOf = new Map([
          ...list.filter(({ id }) => plan.kept.includes(id)).map(({ id, trust }) => [id, trust] as const),
          ...plan.merged.map(({ into }) => [into.key, into.trust] as const),
        ])
        for (const { loser, winner } of plan.contradicted) {
          expect(trustOf.get(winner)).toBeGreaterThanOrEqual(list.find(({ id }) => id === loser)!.trust)
        }
        for (const { into, originals } of plan.merged) {
          const sources = list.filter(({ id }) => originals.includes(id))
          expect(sources.length).toBeGreaterThan(1)
          expect(into.trust).toBe(Math.max(...sources.map(({ trust }) => trust)))
          expect(sources.find(({ id }) => id === into.from)!.trust).toBe(into.trust)
        }
        for (const { a, b } of plan.disputed) expect(trustOf.get(a)).toBeLessThan(trustOf.get(b)!)
      }),
      { numRuns: 300 },
    )
  })

  it('a second pass over the result changes nothing', () => {
    fc.assert(
      fc.property(someFacts, someVerdicts, (list, verdicts) => {
        const once = applied(list, reconcile(list, verdicts))
        const again = reconcile(once)
        expect([again.merged, again.contradicted]).toEqual([[], []])
        expect(again.kept).toHaveLength(once.length)
      }),
      { numRuns: 300 },
    )
  })

  it('with equal trust, no periods and a predicate of one value, reconciling after each fact equals reconciling once', () => {
    const residences = someFacts.map((list) =>
      list.map((each, i) => {
        const statement = { subject: 'Ada', predicate: 'lives in', object: ['Rome', 'Oslo', 'Paris'][i % 3]! }
        const observedAt = new Date(each.observedAt.getTime() + i)
        const always = { validFrom: null, validTo: null }
        return {
          ...each,
          ...statement,
          ...always,
          observedAt,
          vector: null,
          trust: 2,
          contentHash: contentHash(statement),
        }
      }),
    )
    const objects = (list: ActiveFact[]) => list.map(({ object }) => object)
    fc.assert(
      fc.property(
        residences.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        ([list, arriving]) => {
          let active: ActiveFact[] = []
          for (const each of arriving) {
            const now = [...active, each]
            active = applied(now, reconcile(now))
          }
          expect(objects(active)).toEqual(objects(applied(list, reconcile(list))))
          expect(active).toHaveLength(Math.min(1, list.length))
        },
      ),
    )
  })
})

describe('facts with periods', () => {
  const day = (n: number) => new Date(Date.UTC(2026, 4, n))
  const from = (n: number) => ({ validFrom: day(n) })
  const until = (n: number) => ({ validTo: day(n) })

  it('do not contradict facts that are true at other times', () => {
    const plan = reconcile(
      facts(
        ['a', 'Ada | lives in | Rome', 20, { ...from(1), ...until(5) }],
        ['b', 'Ada | lives in | Oslo', 10, from(5)],
        // Observed after its end, so it was true before, whenever it began.
        ['c', 'Ada | lives in | Paris', 12, { validTo: new Date(Date.UTC(2020, 0, 1)) }],
      ),
    )
    expect([plan.kept, plan.contradicted]).toEqual([['a', 'b', 'c'], []])
  })

  it('end when the fact that contradicts them became true, or else was observed', () => {
    const contradictedBy = (more: Partial<ActiveFact>) =>
      reconcile(facts(['a', 'Ada | lives in | Rome', 3], ['b', 'Ada | lives in | Oslo', 10, more])).contradicted
    expect(contradictedBy({})).toEqual([{ loser: 'a', winner: 'b', from: day(10) }])
    expect(contradictedBy(from(7))).toEqual([{ loser: 'a', winner: 'b', from: day(7) }])
    // The first fact was not true before the second became true.
    expect(contradictedBy(from(2))).toEqual([{ loser: 'a', winner: 'b', from: null }])
  })

  it('are merged with the same statement about the same time, and state the period together', () => {
    const plan = reconcile(
      facts(
        ['a', 'Ada | lives in | Rome', 3, from(1)],
        ['b', 'Ada | lives in | Rome', 8, until(20)],
        ['c', 'Ada | lives in | Rome', 30],
      ),
    )
    expect(plan.merged.map(({ into, originals }) => [originals, into.validFrom, into.validTo])).toEqual([
      [['a', 'b'], day(1), day(20)],
    ])
    expect(plan.kept).toEqual(['c'])
    const { into } = plan.merged[0]!
    expect(into.contentHash).toBe(contentHash(into))
    expect(into.contentHash).not.toBe(contentHash({ ...into, validTo: null }))
  })

  it('keep their order of time, whatever the facts: a merged period ends after it begins', () => {
    fc.assert(
      fc.property(someFacts, (list) => {
        for (const { into } of reconcile(list).merged) {
          if (into.validFrom && into.validTo) expect(into.validFrom < into.validTo).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('the plan for 500 facts', () => {
  it('is made in at least three steps for each fact, so that it does not block the event loop', () => {
    const many = Array.from({ length: 500 }, (_, n) => fact([`f${n}`, `Ada | likes | thing ${n}`, 1]))
    let steps = 0
    const running = planSteps(many)
    for (let step = running.next(); !step.done; step = running.next()) steps += 1
    expect(steps).toBeGreaterThanOrEqual(1_500)
  })
})
