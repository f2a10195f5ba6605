// Searches the turns that a context may quote: the hits of a recall, and the turns next to them.

import { MAX_HITS } from '../../../kernel/call-defaults.ts'
import { asks } from '../../indexing/cues.ts'
import type { RecallDeps } from '../../recall/deps.ts'
import { recall, type RecallInput, type RecallOptions } from '../../recall/recall.ts'
import { SESSION_GAP_MS } from '../../recall/index/sequence.ts'
import { getTurns, type Turn } from '../../../turn/turn.ts'
import type { Viewer } from '../../../kernel/view.ts'
import type { RecalledTurn } from '../quote.ts'
import { precedes, type ContextEnd } from './recent-turns.ts'

/** A turn that was found, and the turns before and after it. */
export type Hit = { turn: Turn; neighbours: Turn[] }

type Search = {
  conversationId: string
  semanticRecall?: Pick<RecallInput, 'scope' | 'threshold'> | null | undefined
  query: string
  k: number
  /** Actors of the hits and of their neighbours; null for all. */
  actors: string[] | null
  /** Number of neighbours on each side of a hit. */
  neighbours: number
  /** Excludes the turns of the conversation after it; null excludes none. */
  end: ContextEnd | null
}

/**
 * Returns the hits that the viewer sees, best first. `found` is the number of hits before those are removed that only
 * `by`, who searches, sees, or that follow the end of the context.
 */
export async function findHits(
  deps: RecallDeps,
  { viewer, by }: { viewer: Viewer; by: Viewer },
  { conversationId, semanticRecall, query, k, actors, neighbours, end }: Search,
  options: RecallOptions,
): Promise<{ hits: Hit[]; found: number }> {
  const limits = { k: Math.min(MAX_HITS, k), neighbours, actors, kinds: ['TURN' as const] }
  const { hits } = await recall(deps, by, { ...semanticRecall, conversationId, query, ...limits }, options)
  const found = hits.flatMap(({ memory, neighbours: near }) =>
    memory.kind === 'TURN' ? [{ turn: memory.turn, neighbours: near }] : [],
  )
  const turns = found.flatMap(({ turn, neighbours: near }) => [turn, ...near])
  const seen = await seenBy(deps, viewer, by, turns)
  const isHit = (turn: Turn) =>
    seen.has(turn.id) && (turn.conversationId !== conversationId || precedes(end, turn.position))
  const isQuotable = (turn: Turn) => isHit(turn) && (actors === null || actors.includes(turn.actor))
  return {
    hits: found
      .filter(({ turn }) => isHit(turn))
      .map(({ turn, neighbours: near }) => ({ turn, neighbours: near.filter(isQuotable) })),
    found: found.length,
  }
}

/** Returns the ids of the turns, which `by` sees, that the viewer sees too. */
async function seenBy(
  deps: RecallDeps,
  viewer: Viewer,
  by: Viewer,
  turns: readonly Turn[],
): Promise<{ has(id: string): boolean }> {
  const ids = turns.map(({ id }) => id)
  return by.actor === viewer.actor || ids.length === 0 ? new Set(ids) : getTurns(deps, viewer, ids)
}

/**
 * Returns the hits with text as a context quotes them, with their neighbours in the same session.
 * @param names names of the actors of the conversation; other actors are their own names
 */
export function toRecalled(
  hits: readonly Hit[],
  conversationId: string,
  names: ReadonlyMap<string, string>,
): RecalledTurn[] {
  const toQuotable = (turn: Turn) => ({
    id: turn.id,
    position: turn.position,
    createdAt: turn.createdAt,
    text: turn.text,
    tokenCount: turn.tokenCount,
    name: (turn.conversationId === conversationId && names.get(turn.actor)) || turn.actor,
  })
  const hasText = ({ text }: Turn) => text.trim() !== ''
  return hits
    .filter(({ turn }) => hasText(turn))
    .map(({ turn, neighbours }) => {
      const isNear = ({ createdAt }: Turn) => Math.abs(createdAt.getTime() - turn.createdAt.getTime()) < SESSION_GAP_MS
      const isAsked = ({ text, position }: Turn) => position < turn.position && asks(text)
      const near = neighbours.filter((each) => hasText(each) && isNear(each))
      return { ...toQuotable(turn), neighbours: near.map((each) => ({ ...toQuotable(each), isAsked: isAsked(each) })) }
    })
}
