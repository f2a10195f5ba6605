// Scores word matches by Okapi BM25. A turn is scored together with its neighbours in the same session, because an
// answer seldom repeats the words of its question. Pure. All counts include only texts that the viewer sees.

/**
 * Usual parameters of BM25 (Robertson and Zaragoza). Values of K1 from 0.9 to 2 and of B from 0.4 to 0.75 change recall
 * by less than half a percentage point.
 */
const K1 = 1.2
const B = 0.75

/** Number of neighbouring turns on each side whose words count towards the score of a turn. */
export const REACH = 3
/** Returns the weight of a turn's words by its distance from the scored turn, in turns: 1, 1/2, 1/3 and so on. */
export const weightAt = (distance: number) => 1 / (1 + distance)

/** Occurrences of each query term in a text, by the term's index. Terms that do not occur may be absent. */
export type Counts = ReadonlyMap<number, number>

/** Statistics of the texts of one kind (turns, facts or summaries) in the searched scope. */
export type Statistics = {
  /** Number of texts. */
  texts: number
  /** Number of texts that contain each query term, by the term's index. */
  documentFrequencies: readonly number[]
  /** Average number of terms in the texts that contain any query term. */
  averageLength: number
}

/** Returns the inverse document frequency of each term, in Lucene's form, which is never negative. */
export const inverseDocumentFrequencies = ({ texts, documentFrequencies }: Statistics): number[] =>
  documentFrequencies.map((count) => Math.log(1 + Math.max(0, texts - count + 0.5) / (count + 0.5)))

/**
 * Returns the length normalisation of a text. Both lengths are numbers of terms. Either both or neither include
 * the neighbours.
 */
export const normOf = (length: number, averageLength: number): number => K1 * (1 - B + (B * length) / averageLength)

/** Returns the part of a text's BM25 score for `count` occurrences of a term. @param norm see `normOf` */
export const termScore = (idf: number, count: number, norm: number): number => (idf * count * (K1 + 1)) / (count + norm)

/** Returns the BM25 score. See `normOf` for the lengths. */
export function bm25(idf: readonly number[], counts: Counts, length: number, averageLength: number): number {
  const norm = normOf(length, averageLength)
  let score = 0
  for (const [term, count] of counts) score += termScore(idf[term]!, count, norm)
  return score
}

/** Estimates the average length of a turn with neighbours, assuming that every turn has REACH on each side. */
export function averageLengthWithNeighbours(averageLength: number): number {
  let weights = 1
  for (let distance = 1; distance <= REACH; distance++) weights += 2 * weightAt(distance)
  return weights * averageLength
}

/** Returns the share of the query's terms that are in `terms`, weighted by inverse document frequency: 0 to 1. */
export function queryShare(idf: readonly number[], terms: ReadonlySet<number>): number {
  const all = idf.reduce((sum, weight) => sum + weight, 0)
  let part = 0
  for (const term of terms) part += idf[term]!
  return all === 0 ? 0 : part / all
}
