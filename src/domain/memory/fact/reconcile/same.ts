// Decides whether two facts are duplicates and whether they contradict each other. Both rules are conservative: similar
// vectors do not make facts duplicates if their numbers, names or negations differ; facts are contradictory only if one
// denies the other or if their predicate allows only one object at a time, or one per group of alternatives.

import { dot } from '../../../../runtime/unit-vector.ts'
import { words } from '../../../../text/words/words.ts'
import { normaliseText, type Statement } from '../content-hash.ts'
import { classify, type PredicateClass } from './predicate.ts'

/** Cosine thresholds for object vectors. */
export type Thresholds = {
  /**
   * Minimum for equal meaning. With the static embedder, "jazz" and "jazz music" reach it; "red wine" and "white wine"
   * do not.
   */
  same: number
  /** Minimum for alternatives of one kind, such as "tea" and "coffee", or "dark mode" and "light mode". */
  related: number
}

export const THRESHOLDS: Thresholds = { same: 0.92, related: 0.6 }

/** The features used to compare a fact. */
export type ComparedFact = {
  subject: string
  predicate: PredicateClass
  /** Subject and name of the predicate class. The rules find duplicates and contradictions only among equal slots. */
  slot: string
  /** The object's words in lower case, without articles and possessives, unless the object has no other words. */
  words: string[]
  /** `words`, joined by spaces. Precomputed, like `wordSet`, because n facts need about n²/2 comparisons. */
  phrase: string
  wordSet: ReadonlySet<string>
  /** The normalised object in lower case. */
  object: string
  /** Numbers in the object, sorted and joined. */
  numbers: string
  /** Capitalised words of the object except the first word, in lower case. */
  names: ReadonlySet<string>
  /** Whether the object contains a negation. */
  isNegative: boolean
  /** Vector of the object; null if the fact has none or it is all zeros. */
  vector: Float32Array | null
}

const ARTICLES_AND_POSSESSIVES = new Set(['a', 'an', 'the', 'my', 'his', 'her', 'their'])
const NAME = /(?<=\S\s+)\p{Lu}[\p{L}\p{N}'’-]*/gu
const NEGATIVE = /\b(?:no|not|never|without|non|except)\b|n['’]t\b/i

const slotOf = (foldedSubject: string, { name }: PredicateClass) => `${foldedSubject}\n${name}`

export function toComparedFact(fact: Statement & { vector: Float32Array | null }): ComparedFact {
  const { subject, predicate, object, vector } = fact
  const folded = normaliseText(object).toLowerCase()
  const all = words(object)
  const kept = all.filter((word) => !ARTICLES_AND_POSSESSIVES.has(word))
  const foldedSubject = normaliseText(subject).toLowerCase()
  const predicateClass = classify(predicate)
  const objectWords = kept.length > 0 ? kept : all
  return {
    subject: foldedSubject,
    predicate: predicateClass,
    slot: slotOf(foldedSubject, predicateClass),
    words: objectWords,
    phrase: objectWords.join(' '),
    wordSet: new Set(objectWords),
    object: folded,
    numbers: [...folded.matchAll(/\p{N}+/gu)]
      .map(([number]) => number)
      .sort()
      .join(),
    names: new Set([...object.matchAll(NAME)].map(([name]) => name.toLowerCase())),
    isNegative: NEGATIVE.test(object),
    // An all-zero vector has no direction to compare.
    vector: vector?.some((component) => component !== 0) ? vector : null,
  }
}

function isSubset(part: Iterable<string>, whole: ReadonlySet<string>): boolean {
  for (const word of part) if (!whole.has(word)) return false
  return true
}

/** Returns the cosine of the object vectors; 0 if a fact has no vector or the dimensions differ. */
function cosine(a: ComparedFact, b: ComparedFact): number {
  return a.vector && b.vector && a.vector.length === b.vector.length ? dot(a.vector, b.vector) : 0
}

function sameObject(a: ComparedFact, b: ComparedFact, { same }: Thresholds): boolean {
  if (a.object === b.object) return true
  if (a.words.length > 0 && a.phrase === b.phrase) return true
  if (a.numbers !== b.numbers || a.isNegative !== b.isNegative) return false
  return isSubset(a.names, b.wordSet) && isSubset(b.names, a.wordSet) && cosine(a, b) >= same
}

/** Whether one object is a more precise form of the other: "Berlin" and "Berlin, Germany", "3 May" and "3 May 1990". */
function refines(a: ComparedFact, b: ComparedFact): boolean {
  if (a.words.length === 0 || b.words.length === 0) return false
  return isSubset(a.words, b.wordSet) || isSubset(b.words, a.wordSet)
}

/** Returns fact `a` with the subject of fact `b`. */
export const withSubjectOf = (a: ComparedFact, { subject }: ComparedFact): ComparedFact => ({
  ...a,
  subject,
  slot: slotOf(subject, a.predicate),
})

/** Whether the two facts are duplicates. Symmetric, not transitive. */
export function isSame(a: ComparedFact, b: ComparedFact, thresholds: Thresholds = THRESHOLDS): boolean {
  if (a.slot !== b.slot || a.predicate.isDenied !== b.predicate.isDenied) return false
  if (sameObject(a, b, thresholds)) return true
  return a.predicate.cardinality === 'ONE' && a.isNegative === b.isNegative && refines(a, b)
}

/** Whether the objects are alternatives: they end in the same word, or their cosine reaches `related`. */
function isRelated(a: ComparedFact, b: ComparedFact, { related }: Thresholds): boolean {
  const last = a.words.at(-1)
  return (last !== undefined && last === b.words.at(-1)) || cosine(a, b) >= related
}

/** Whether the two facts contradict each other by the rules. Symmetric; false for duplicates. */
export function contradicts(a: ComparedFact, b: ComparedFact, thresholds: Thresholds = THRESHOLDS): boolean {
  if (a.slot !== b.slot) return false
  const isAlwaysCompatible = a.predicate.isDenied === b.predicate.isDenied && a.predicate.cardinality === 'MANY'
  if (isAlwaysCompatible || isSame(a, b, thresholds)) return false
  if (a.predicate.isDenied !== b.predicate.isDenied) {
    const cardinality = a.predicate.isDenied ? b.predicate.cardinality : a.predicate.cardinality
    return sameObject(a, b, thresholds) || (cardinality === 'ONE' && refines(a, b))
  }
  if (a.predicate.cardinality === 'ONE') return true
  return a.predicate.cardinality === 'ONE_PER_KIND' && isRelated(a, b, thresholds)
}

/**
 * Whether the pair is open, so that a model should judge it: the rules find neither a duplicate nor a contradiction,
 * the subjects are equal, and the predicates have the same class or the cosine of the object vectors reaches `related`.
 */
export function isOpen(a: ComparedFact, b: ComparedFact, thresholds: Thresholds = THRESHOLDS): boolean {
  if (a.subject !== b.subject || (a.slot !== b.slot && cosine(a, b) < thresholds.related)) return false
  return !isSame(a, b, thresholds) && !contradicts(a, b, thresholds)
}
