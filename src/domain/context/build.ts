// buildContext: from a conversation of any length to the messages that a model is given, under a budget, explained.

import { z } from 'zod'
import { readParticipants } from '../../store/sql/participant/read-participants.ts'
import type { RecallDeps } from '../recall/deps.ts'
import { between, count, id, name, parse, share, storable } from '../input.ts'
import { recall } from '../recall/recall.ts'
import { actAs, type Viewer } from '../view.ts'
import { assemble } from './assemble.ts'
import { DEFAULT_SHARES } from './budget.ts'
import { readMaterial } from './material.ts'
import type { Context } from './message.ts'
import type { RecalledTurn } from './quote.ts'

const STRATEGIES = ['SIMPLE', 'SUMMARIZATION', 'HYBRID'] as const

/** Tokens that a context may have at most. */
const MOST_TOKENS = 2_000_000
/** Hits of one recall. */
const MOST_HITS = 100
/** More are asked for than are quoted, because some stand in the context anyway; many more only where these are. */
const SPARE_HITS = 5
/** UTF-16 units of a query, as recall takes it. */
const QUERY = 10_000

const buildContextInput = z
  .object({
    conversationId: id('conversation'),
    tokenBudget: between(1, MOST_TOKENS),
    recentTurns: count.nullish(),
    semanticRecall: z
      .object({
        k: between(1, MOST_HITS).nullish(),
        threshold: share.nullish(),
        scope: z.enum(['CONVERSATION', 'OWNER', 'TENANT']).nullish(),
      })
      .nullish(),
    includeFacts: z.boolean().nullish(),
    includeProfile: z.boolean().nullish(),
    filterParticipants: z.array(name).min(1, 'must name somebody; leave it out for everybody').max(1000).nullish(),
    as: name.nullish(),
    sinceSeq: count.nullish(),
    query: z
      .string()
      .min(1, 'must not be empty')
      .max(QUERY, `must be at most ${QUERY} characters`)
      .superRefine((query, context) => {
        const problem = storable(query)
        if (problem) context.addIssue({ code: 'custom', message: problem })
      })
      .nullish(),
    strategy: z.enum(STRATEGIES).nullish(),
    maxMessages: between(1, 1_000_000).nullish(),
    maxChars: between(1, 100_000_000).nullish(),
  })
  .refine(({ query, semanticRecall }) => query == null || semanticRecall != null, {
    path: ['query'],
    message: 'is what to recall for: give semanticRecall too',
  })
export type BuildContextInput = z.input<typeof buildContextInput>

/**
 * The messages, never more than the budget: the conversation's system prompt, what is known of people and of the conversation, what the
 * oldest turns come to, instructions and pinned turns, the recent turns, what was recalled, and the newest turn.
 * Nothing is stored but that facts were handed out, and the same conversation gives the same context.
 *
 * What is known is in it where it is asked for, with whatever strategy, filter or `sinceSeq`: those are about turns.
 * @throws InvalidInput @throws NotFound
 * @throws BudgetTooSmall where instructions and the newest turn alone take more
 */
export async function buildContext(deps: RecallDeps, asker: Viewer, input: BuildContextInput): Promise<Context> {
  const given = parse(buildContextInput, input)
  const viewer = actAs(asker, given.as)
  const strategy = given.strategy ?? 'HYBRID'
  const inSteps = strategy !== 'SIMPLE'
  const recentTurns = given.recentTurns ?? null
  const actors = given.filterParticipants ?? null
  const { conversationId } = given
  const material = await readMaterial(deps, viewer, {
    conversationId,
    as: given.as ?? null,
    tokenBudget: given.tokenBudget,
    sinceSeq: given.sinceSeq ?? null,
    actors,
    windowTurns: recentTurns === null ? null : recentTurns * (inSteps ? 2 : 1),
    withSummaries: strategy !== 'SIMPLE',
    withRecall: given.semanticRecall != null,
    withProfiles: given.includeProfile ?? false,
    withFacts: given.includeFacts ?? false,
  })
  const asked = given.semanticRecall

  async function find(newest: string | null, standing: ReadonlySet<string>): Promise<RecalledTurn[]> {
    const query = given.query ?? newest?.slice(0, QUERY).toWellFormed()
    if (!query?.trim()) return []
    const wanted = asked!.k ?? 5
    const ask = async (k: number) =>
      (
        await recall(deps, viewer, {
          query,
          conversationId,
          scope: asked!.scope,
          threshold: asked!.threshold,
          actors,
          k: Math.min(MOST_HITS, k),
          kinds: ['TURN'],
        })
      ).hits.flatMap(({ memory }) => (memory.kind === 'TURN' ? [memory.turn] : []))
    let found = await ask(wanted + SPARE_HITS)
    const isShort = found.filter((turn) => !standing.has(turn.id)).length < wanted
    if (isShort && found.length === wanted + SPARE_HITS) found = await ask(wanted + standing.size)
    const turns = found.filter(({ text }) => text.trim() !== '')
    const names = await namesOf(deps, viewer, material.names, conversationId, turns)
    return turns.map((turn) => ({
      id: turn.id,
      createdAt: turn.createdAt,
      text: turn.text,
      name: (turn.conversationId === conversationId && names.get(turn.actor)) || turn.actor,
    }))
  }

  const context = await assemble({ count: (text) => deps.tokens.recount(text) }, material, {
    tokenBudget: given.tokenBudget,
    maxMessages: given.maxMessages ?? null,
    maxChars: given.maxChars ?? null,
    recentTurns,
    inSteps,
    shares: DEFAULT_SHARES,
    recall: asked ? { k: asked.k ?? 5, find } : null,
  })
  deps.recalledFacts.note(context.messages.flatMap(({ kind, sources }) => (kind === 'FACT' ? sources : [])))
  return context
}

/** What the turns' speakers are called in the conversation, the names that are known already included. */
async function namesOf(
  { pool }: RecallDeps,
  { tenant }: Viewer,
  known: ReadonlyMap<string, string>,
  conversationId: string,
  turns: readonly { actor: string; conversationId: string }[],
): Promise<ReadonlyMap<string, string>> {
  const here = turns.filter((turn) => turn.conversationId === conversationId).map(({ actor }) => actor)
  const strangers = new Set(here.filter((actor) => !known.has(actor)))
  if (strangers.size === 0) return known
  const found = await readParticipants(pool, tenant, [conversationId], [...strangers])
  return new Map([...known, ...found.map(({ actor, displayName }) => [actor, displayName ?? actor] as const)])
}
