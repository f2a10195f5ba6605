// The words' side of ranking: Okapi BM25 over a turn together with what was said around it in the same sitting. An
// answer seldom repeats the words of its question, and a story runs over several turns. Pure: counts in, numbers out.
// All counts are of turns that the viewer sees.

/** Robertson and Zaragoza's usual values. 0.9 to 2 and 0.4 to 0.75 changed recall by less than half a point. */
const K1 = 1.2
const B = 0.75

/** Turns before and after whose words count towards a turn, at 1 / (1 + distance): a half, a third, a quarter. */
export const REACH = 3
export const weightAt = (distance: number) => 1 / (1 + distance)

/** The query's terms by number, and how often each stands in something. What does not stand in it may be missing. */
export type Counts = ReadonlyMap<number, number>

/** Of the searched scope: counts of its turns, or of its facts, or of its summaries. */
export type Statistics = {
  texts: number
  /** Of the query's terms by number: the texts that hold each. */
  holding: readonly number[]
  /** Terms in a text, on average over those that hold any of the query's. */
  averageLength: number
}

/** Inverse document frequency of each term, in Lucene's form, which is never negative. */
export const rarities = ({ texts, holding }: Statistics): number[] =>
  holding.map((held) => Math.log(1 + Math.max(0, texts - held + 0.5) / (held + 0.5)))

/** `length` and `averageLength` in terms: both of bare turns, or both of surrounded ones. */
export function bm25(rarity: readonly number[], counts: Counts, length: number, averageLength: number): number {
  const norm = K1 * (1 - B + (B * length) / averageLength)
  let score = 0
  for (const [term, count] of counts) score += (rarity[term]! * count * (K1 + 1)) / (count + norm)
  return score
}

/** The average length of a surrounded turn, from that of a bare one: each has nearly all its neighbours. */
export function averageSurrounded(averageLength: number): number {
  let weights = 1
  for (let distance = 1; distance <= REACH; distance++) weights += 2 * weightAt(distance)
  return weights * averageLength
}

/** The share of the query, weighed by rarity, that a set of its terms makes up: 0 to 1. */
export function coverage(rarity: readonly number[], held: ReadonlySet<number>): number {
  const all = rarity.reduce((sum, weight) => sum + weight, 0)
  let part = 0
  for (const term of held) part += rarity[term]!
  return all === 0 ? 0 : part / all
}
