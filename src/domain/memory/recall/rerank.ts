// Reorders the best hits of a search by the scores of the reranker. If the reranker fails or takes too long, the hits
// keep the order of the search, so a recall never fails because of it.

import { versionKey } from '../../../store/vectors/vector-search.ts'
import { readTurnTexts } from '../../../store/sql/memory/recall/read-turn-texts.ts'
import { sentenceOf } from '../fact/write.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { RecallDeps } from './deps.ts'
import type { RankedMemory } from './memory.ts'

/** Time limit for scoring the hits of a recall, in milliseconds. */
const RERANK_TIMEOUT_MS = 3_000
/** Maximum length of the text of a hit, in characters. Most rerankers read about 512 tokens, and ignore the rest. */
const TEXT_CHARACTERS = 4_096

/** The scores of a recall without a reranker. */
export const NO_SCORES: ReadonlyMap<RankedMemory, number> = new Map()

export type Reranked = {
  /** The scored hits, best first; then the other hits, in the order of the search. */
  hits: Iterable<RankedMemory>
  /** The reranker's score of each hit that it scored. Empty if the reranker has failed. */
  scores: ReadonlyMap<RankedMemory, number>
}

/**
 * Scores the first hits, at most `candidates` of the reranker. Each page scores the same hits again, those of earlier
 * pages included, so that all pages have the same order; if all of them are on earlier pages, it scores none. At equal
 * scores, the hits keep the order of the search. Omits a turn that the viewer no longer sees.
 * @param hits the hits of the search, best first @param isUnread whether a hit is on no earlier page
 */
export async function rerank(
  { pool, reranking, log }: Pick<RecallDeps, 'pool' | 'reranking' | 'log'>,
  viewer: Viewer,
  query: string,
  { hits, isUnread }: { hits: Iterator<RankedMemory>; isUnread: (hit: RankedMemory) => boolean },
): Promise<Reranked> {
  const { reranker, candidates } = reranking!
  const first: RankedMemory[] = []
  for (let next; first.length < candidates && !(next = hits.next()).done;) first.push(next.value)
  if (!first.some(isUnread)) return { hits: followedBy(first, hits), scores: NO_SCORES }
  const texts = await textsOf(pool, viewer, first)
  const scored = first.filter((hit) => texts.has(hit))
  try {
    const scores = await reranker.score(
      query.trim(),
      scored.map((hit) => texts.get(hit)!),
      AbortSignal.timeout(RERANK_TIMEOUT_MS),
    )
    const scoreOf = new Map(scored.map((hit, i) => [hit, scores[i]!]))
    const ordered = scored.toSorted((a, b) => scoreOf.get(b)! - scoreOf.get(a)!)
    return { hits: followedBy(ordered, hits), scores: scoreOf }
  } catch (err) {
    log.warn(
      { err, reranker: reranker.name },
      'could not score the hits of a recall; returning them in their own order',
    )
    return { hits: followedBy(first, hits), scores: NO_SCORES }
  }
}

function* followedBy(first: readonly RankedMemory[], rest: Iterator<RankedMemory>): Generator<RankedMemory> {
  yield* first
  for (let next; !(next = rest.next()).done;) yield next.value
}

/** Returns the text of each hit: a turn with the name of its author, the sentence of a fact, the content of a summary. */
async function textsOf(
  pool: RecallDeps['pool'],
  viewer: Viewer,
  hits: readonly RankedMemory[],
): Promise<Map<RankedMemory, string>> {
  const turns = hits.flatMap(({ candidate }) => (candidate.kind === 'TURN' ? [candidate.turn] : []))
  const read = turns.length > 0 ? await readTurnTexts(pool, viewer, turns, TEXT_CHARACTERS) : []
  const texts = new Map(read.map((turn) => [versionKey(turn), `${turn.author}: ${turn.text}`]))
  const textOf = ({ candidate }: RankedMemory): string | undefined =>
    candidate.kind === 'FACT'
      ? sentenceOf(candidate.fact)
      : candidate.kind === 'SUMMARY'
        ? candidate.summary.content.slice(0, TEXT_CHARACTERS)
        : texts.get(versionKey(candidate.turn))
  return new Map(
    hits.flatMap((hit) => {
      const text = textOf(hit)
      return text === undefined ? [] : [[hit, text] as const]
    }),
  )
}
