// Reconciliation after every change, over random histories of one visibility set: whatever is asserted, retracted, deleted
// and undone in any order, and however the passes fall, no contradictory facts stay active, and a reconciliation of all
// facts finds nothing more to change.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contentHash } from '../../../../../../src/domain/memory/fact/content-hash.ts'
import { type ActiveFact, isKeptApart } from '../../../../../../src/domain/memory/fact/active-fact.ts'
import { planSteps, type ReconciliationPlan } from '../../../../../../src/domain/memory/fact/reconcile/reconcile.ts'
import { relatedSteps } from '../../../../../../src/domain/memory/fact/reconcile/related.ts'
import { contradicts, isSame, toComparedFact } from '../../../../../../src/domain/memory/fact/reconcile/same.ts'
import { TRUST } from '../../../../../../src/domain/kernel/rights/principal.ts'
import { runSteps } from '../../../../../../src/runtime/yield.ts'

type Stored = ActiveFact & {
  isDue: boolean
  /** Why it was superseded; null while it is active. */
  reason: 'DUPLICATED' | 'CONTRADICTED' | 'RETRACTED' | 'UNDONE' | null
  by: string | null
}

const reconcile = (facts: readonly ActiveFact[]) => runSteps(planSteps(facts))
const at = (tick: number) => new Date(Date.UTC(2026, 4, 1) + tick)

/** A store of the facts of one visibility set, with the changes that the domain makes to it. */
class Store {
  readonly facts = new Map<string, Stored>()
  #ids = 0
  #ticks = 0

  active(): Stored[] {
    return [...this.facts.values()].filter(({ reason }) => reason === null)
  }

  #add(fact: Omit<ActiveFact, 'id'>): string {
    const id = `f${String(this.#ids++).padStart(4, '0')}`
    this.facts.set(id, { ...fact, id, isDue: true, reason: null, by: null })
    return id
  }

  /** Records, extracts or imports a statement: a repetition of an active fact renews it. */
  assert(statement: [string, string, string], day: number, trust: number): void {
    const [subject, predicate, object] = statement
    const assertedAt = at(++this.#ticks)
    const observedAt = at(day * 1000)
    const hash = contentHash({ subject, predicate, object })
    const equal = this.active().find((fact) => fact.contentHash === hash)
    if (!equal) {
      const texts = { subject, predicate, object, contentHash: hash, validFrom: null, validTo: null }
      this.#add({ ...texts, confidence: 1, observedAt, vector: null, trust, assertedAt, restoredAt: null })
    } else {
      const isLater = observedAt > equal.observedAt
      if (trust > equal.trust || (trust === equal.trust && isLater)) Object.assign(equal, { trust, observedAt })
      Object.assign(equal, { assertedAt, isDue: true })
    }
  }

  retract(fact: Stored): void {
    if (fact.reason === null) fact.reason = 'RETRACTED'
  }

  /** Makes superseded facts active, unless an equal fact is. */
  #reactivate(facts: Stored[]): Stored[] {
    return facts.filter((fact) => {
      if (this.active().some(({ contentHash: hash }) => hash === fact.contentHash)) return false
      Object.assign(fact, { reason: null, by: null, isDue: true })
      return true
    })
  }

  /** Deletes a fact with its last source. */
  delete(fact: Stored): void {
    this.facts.delete(fact.id)
    this.#reactivate([...this.facts.values()].filter(({ by }) => by === fact.id))
  }

  undo(fact: Stored): void {
    if (fact.reason !== 'DUPLICATED' && fact.reason !== 'CONTRADICTED') return
    const merged = fact.reason === 'DUPLICATED' ? this.facts.get(fact.by!) : undefined
    let restored = [fact]
    if (merged?.reason === null) {
      restored = [...this.facts.values()].filter(({ by, reason }) => by === merged.id && reason === 'DUPLICATED')
      const equal = restored.find(({ contentHash: hash }) => hash === merged.contentHash)
      if (equal) Object.assign(merged, { reason: 'UNDONE', by: equal.id })
    }
    const restoredAt = at(++this.#ticks)
    for (const each of this.#reactivate(restored)) each.restoredAt = restoredAt
  }

  apply({ merged, contradicted }: ReconciliationPlan): void {
    const ids = new Map<string, string>()
    for (const { into, originals } of merged) {
      const { key, from, ...rest } = into
      ids.set(key, this.#add({ ...rest, vector: null }))
      for (const id of originals) Object.assign(this.facts.get(id)!, { reason: 'DUPLICATED', by: ids.get(key) })
    }
    for (const { loser, winner } of contradicted) {
      Object.assign(this.facts.get(loser)!, { reason: 'CONTRADICTED', by: ids.get(winner) ?? winner })
    }
  }

  /** Runs one background pass over at most `n` due facts. Returns false if none is due. */
  pass(n: number): boolean {
    const due = this.active()
      .filter(({ isDue }) => isDue)
      .slice(0, n)
    if (due.length === 0) return false
    const related = runSteps(relatedSteps(this.active(), new Set(due.map(({ id }) => id))))
    for (const fact of due) fact.isDue = false
    this.apply(reconcile(related))
    return true
  }
}

const CITIES = ['Rome', 'Oslo', 'Oslo, Norway', 'Bern', 'the city of Rome']
const STATEMENTS: [string, string, string][] = [
  ...CITIES.map((city): [string, string, string] => ['Ada', 'lives in', city]),
  ...CITIES.map((city): [string, string, string] => ['Ada', 'moved away from', city]),
  ['Ada', 'resides in', 'Oslo'],
  ['Ada', 'likes', 'tea'],
  ['Ada', 'loves', 'the tea'],
  ['Ada', 'does not like', 'tea'],
  ['Ada', 'likes', 'coffee'],
  ['Ada', 'is aged', '30'],
  ['Ada', 'is aged', '31'],
]

const change = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      is: fc.constant('assert' as const),
      statement: fc.constantFrom(...STATEMENTS),
      day: fc.integer({ min: 1, max: 5 }),
      trust: fc.constantFrom(...Object.values(TRUST), 3),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      is: fc.constantFrom('retract' as const, 'delete' as const, 'undo' as const, 'undo' as const),
      which: fc.nat(100),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ is: fc.constantFrom('pass' as const, 'hand' as const), n: fc.integer({ min: 1, max: 3 }) }),
  },
)

function run(store: Store, step: typeof change extends fc.Arbitrary<infer T> ? T : never): void {
  if (step.is === 'assert') return store.assert(step.statement, step.day, step.trust)
  if (step.is === 'pass') return void store.pass(step.n)
  if (step.is === 'hand') return store.apply(reconcile(store.active()))
  if (!('which' in step)) return
  const all = [...store.facts.values()]
  const candidates = step.is === 'undo' ? all.filter(({ reason }) => reason !== null) : all
  const fact = candidates[step.which % candidates.length]
  if (fact) store[step.is](fact)
}

describe('after any history and the passes that follow it', () => {
  it('no contradictory facts are active, and a reconciliation by hand changes nothing', () => {
    let undone = 0
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), (history, n) => {
        const store = new Store()
        for (const step of history) run(store, step)
        let passes = 0
        while (store.pass(n)) expect(++passes).toBeLessThan(200)
        const active = store.active()
        const { merged, contradicted } = reconcile(active)
        expect([merged, contradicted]).toEqual([[], []])
        const compared = active.map((fact) => ({ fact, form: toComparedFact(fact) }))
        for (const [i, a] of compared.entries()) {
          for (const b of compared.slice(i + 1)) {
            if (!contradicts(a.form, b.form) && !isSame(a.form, b.form)) continue
            // Only facts of different trust, and those that somebody keeps apart, may disagree.
            if (isKeptApart(a.fact, b.fact)) undone++
            else expect(a.fact.trust).not.toBe(b.fact.trust)
          }
        }
        for (const { reason, by } of store.facts.values()) {
          if (reason !== null && reason !== 'RETRACTED' && by !== null) expect(by).toMatch(/^f/)
        }
      }),
      { numRuns: 1_000 },
    )
    expect(undone).toBeGreaterThan(0)
  })

  it('a pass plans for the facts related to the due ones what a plan of all facts would', () => {
    const facts = fc
      .uniqueArray(
        fc.record({
          statement: fc.constantFrom(...STATEMENTS),
          day: fc.integer({ min: 1, max: 5 }),
          trust: fc.constantFrom(...Object.values(TRUST)),
        }),
        { selector: ({ statement }) => statement.join(), maxLength: 12 },
      )
      .map((list) => {
        const store = new Store()
        for (const { statement, day, trust } of list) store.assert(statement, day, trust)
        return store.active()
      })
    fc.assert(
      fc.property(facts, fc.nat(11), (list, place) => {
        const changed = list[place % Math.max(1, list.length)]
        if (!changed) return
        const related = runSteps(relatedSteps(list, new Set([changed.id])))
        const ids = new Set(related.map(({ id }) => id))
        const [part, whole] = [reconcile(related), reconcile(list)]
        expect(part.merged).toEqual(whole.merged.filter(({ originals }) => ids.has(originals[0]!)))
        expect(part.contradicted).toEqual(whole.contradicted.filter(({ loser }) => ids.has(loser)))
      }),
      { numRuns: 500 },
    )
  })
})
