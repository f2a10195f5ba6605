// Decides whether two facts are duplicates and whether they contradict each other. Conservative in both: similar
// vectors do not make facts duplicates if their numbers, names or negations differ; facts are contradictory only if one
// denies the other or if their predicate allows one object, or one of a kind, at a time.

import { dot } from '../../providers/ports/embedder.ts'
import { words } from '../../text/words.ts'
import { normaliseText, type Statement } from './content-hash.ts'
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
  /** The object's words, lower case, without articles. */
  words: string[]
  /** The object, lower case. */
  object: string
  /** Numbers in the object, sorted and joined. */
  numbers: string
  /** Capitalised words of the object except the first word. */
  names: ReadonlySet<string>
  isNegative: boolean
  vector: Float32Array | null
}

const ARTICLES = new Set(['a', 'an', 'the', 'my', 'his', 'her', 'their'])
const NAME = /(?<=\S\s+)\p{Lu}[\p{L}\p{N}'’-]*/gu
const NEGATIVE = /\b(?:no|not|never|without|non|except)\b|n['’]t\b/i

export function toComparedFact(fact: Statement & { vector: Float32Array | null }): ComparedFact {
  const { subject, predicate, object, vector } = fact
  const folded = normaliseText(object).toLowerCase()
  const all = words(object)
  const kept = all.filter((word) => !ARTICLES.has(word))
  return {
    subject: normaliseText(subject).toLowerCase(),
    predicate: classify(predicate),
    words: kept.length > 0 ? kept : all,
    object: folded,
    numbers: [...folded.matchAll(/\p{N}+/gu)]
      .map(([number]) => number)
      .sort()
      .join(),
    names: new Set([...object.matchAll(NAME)].map(([name]) => name.toLowerCase())),
    isNegative: NEGATIVE.test(object),
    // An all-zero vector is similar to nothing.
    vector: vector?.some((component) => component !== 0) ? vector : null,
  }
}

const isWithin = (few: Iterable<string>, many: readonly string[] | ReadonlySet<string>) => {
  const set = new Set(many)
  return [...few].every((word) => set.has(word))
}

/** Returns the cosine of the objects; 0 if one has no vector or the dimensions differ. */
function cosine(a: ComparedFact, b: ComparedFact): number {
  return a.vector && b.vector && a.vector.length === b.vector.length ? dot(a.vector, b.vector) : 0
}

function sameObject(a: ComparedFact, b: ComparedFact, { same }: Thresholds): boolean {
  if (a.object === b.object) return true
  const haveSameWords = a.words.length > 0 && a.words.join(' ') === b.words.join(' ')
  if (haveSameWords) return true
  if (a.numbers !== b.numbers || a.isNegative !== b.isNegative) return false
  if (!isWithin(a.names, b.words) || !isWithin(b.names, a.words)) return false
  return cosine(a, b) >= same
}

/** Whether one object is a more precise form of the other: "Berlin" and "Berlin, Germany", "3 May" and "3 May 1990". */
function refines(a: ComparedFact, b: ComparedFact): boolean {
  if (a.words.length === 0 || b.words.length === 0) return false
  return a.words.length < b.words.length ? isWithin(a.words, b.words) : isWithin(b.words, a.words)
}

const sameSlot = (a: ComparedFact, b: ComparedFact) => a.subject === b.subject && a.predicate.name === b.predicate.name

/** Whether the two facts are duplicates. Symmetric, not transitive. */
export function isSame(a: ComparedFact, b: ComparedFact, thresholds: Thresholds = THRESHOLDS): boolean {
  if (!sameSlot(a, b) || a.predicate.isDenied !== b.predicate.isDenied) return false
  if (sameObject(a, b, thresholds)) return true
  return a.predicate.cardinality === 'ONE' && a.isNegative === b.isNegative && refines(a, b)
}

/** Whether the objects are alternatives: they end in the same word, or their cosine reaches `related`. */
function isRelated(a: ComparedFact, b: ComparedFact, { related }: Thresholds): boolean {
  const last = a.words.at(-1)
  return (last !== undefined && last === b.words.at(-1)) || cosine(a, b) >= related
}

/** Whether the facts are contradictory by the rules. Symmetric; false for duplicates. */
export function contradicts(a: ComparedFact, b: ComparedFact, thresholds: Thresholds = THRESHOLDS): boolean {
  if (!sameSlot(a, b) || isSame(a, b, thresholds)) return false
  if (a.predicate.isDenied !== b.predicate.isDenied) {
    const cardinality = a.predicate.isDenied ? b.predicate.cardinality : a.predicate.cardinality
    return sameObject(a, b, thresholds) || (cardinality === 'ONE' && refines(a, b))
  }
  if (a.predicate.cardinality === 'ONE') return true
  return a.predicate.cardinality === 'ONE_OF_A_KIND' && isRelated(a, b, thresholds)
}

/**
 * Whether a model should judge the pair: the rules leave it open, the subjects are equal, and the predicates have the
 * same class or the objects are related.
 */
export function isOpen(a: ComparedFact, b: ComparedFact, thresholds: Thresholds = THRESHOLDS): boolean {
  if (a.subject !== b.subject || isSame(a, b, thresholds) || contradicts(a, b, thresholds)) return false
  return a.predicate.name === b.predicate.name || cosine(a, b) >= thresholds.related
}
