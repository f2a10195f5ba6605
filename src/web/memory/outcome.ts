// The outcomes of the actions of the panel, in words, and the reasons why actions are refused.

import { countOf, formatNumber, percentOf } from '../kit/text.ts'
import type { TranscriptState } from '../../client/index.ts'
import type { Coverage, Plan, Reconciled } from './queries.ts'

/**
 * Whether the viewer is a participant that has not left. The transcript knows only some of the participants, so one
 * that it does not know has not left for all it knows.
 */
export const isPresent = ({ viewer, participants }: Pick<TranscriptState, 'viewer' | 'participants'>): boolean =>
  viewer !== null && !participants.some(({ actor, leftAt }) => actor === viewer && leftAt !== null)

/** Returns why the viewer cannot change the memory of the conversation; null if it can. */
export function refusalOf({ rights }: { rights: readonly string[] }, isPresent: boolean): string | null {
  if (!rights.includes('WRITE')) return 'Changing the memory needs the right write.'
  if (!isPresent && !rights.includes('MANAGE')) {
    return 'Changing the memory needs a participant of the conversation, or the right manage.'
  }
  return null
}

const SEARCHES: Record<Plan['vectorSearch'], string> = {
  APPROXIMATE: 'their vectors found by an index',
  EXACT: 'all vectors compared',
  NONE: 'found by words only',
}

export function planText({ candidates, vectorSearch, reranked }: Plan): string {
  const scored = reranked > 0 ? `, ${formatNumber(reranked)} of them scored by the reranker` : ''
  return `${countOf(candidates, 'memory', 'memories')} ranked, ${SEARCHES[vectorSearch]}${scored}.`
}

export function extractedText({ facts, hasMore }: { facts: readonly unknown[]; hasMore: boolean }): string {
  const found = facts.length === 0 ? 'No new facts were found.' : `${countOf(facts.length, 'new fact')} found.`
  return hasMore ? `${found} Some turns are not read yet: extract again to continue.` : found
}

export function reconciledText({ merged, contradicted, kept }: Reconciled): string {
  if (merged + contradicted === 0) return `No duplicates or contradictions among ${countOf(kept, 'fact')}.`
  const [made, refuted, left] = [merged, contradicted, kept].map(formatNumber)
  return `${made} merged from duplicates, ${refuted} contradicted, ${left} kept.`
}

/** The numbers are null if the viewer does not see all turns. */
export function compactedText({
  summaries,
  turnsCovered,
  tokensBefore,
  tokensAfter,
}: {
  summaries: readonly unknown[]
  turnsCovered: number | null
  tokensBefore: number | null
  tokensAfter: number | null
}): string {
  if (turnsCovered === null || tokensBefore === null || tokensAfter === null) {
    return summaries.length > 0 ? `${countOf(summaries.length, 'summary', 'summaries')} written.` : 'Compacted.'
  }
  if (turnsCovered === 0) return 'There was nothing to compact.'
  const saved = tokensBefore > 0 ? ` (${percentOf((tokensAfter - tokensBefore) / tokensBefore)})` : ''
  const [before, after] = [tokensBefore, tokensAfter].map(formatNumber)
  return `${countOf(turnsCovered, 'turn')} summarised: ${before} tokens before, ${after} after${saved}.`
}

export function policyText({ strategy, triggerTurns, triggerTokens, summarizerModel }: Coverage['compaction']): string {
  const by = summarizerModel === 'extractive' ? 'from sentences of the turns' : `by ${summarizerModel}`
  if (strategy === 'NEVER') return `Summaries are written on request only, ${by}.`
  return `Written ${by} when ${countOf(triggerTurns, 'turn')} or ${countOf(triggerTokens, 'token')} are not summarised.`
}
