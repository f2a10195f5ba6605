// buildContext: builds the messages for a model from a conversation, within a budget. A manifest lists the included and
// the omitted items.

import { z } from 'zod'
import { readParticipants } from '../../../store/sql/conversation/participant/read-participants.ts'
import { InvalidInput } from '../../../errors.ts'
import { yieldToEventLoop } from '../../../runtime/yield.ts'
import type { RecallDeps } from '../recall/deps.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { HITS, MAX_HITS, MAX_TOKENS } from '../../kernel/call-defaults.ts'
import { between, id, name, parse } from '../../kernel/input.ts'
import { MAX_QUERY, type RecallOptions } from '../recall/recall.ts'
import { actAs, type Viewer } from '../../kernel/view.ts'
import { findAnswered } from './material/find-answered.ts'
import { findHits, toRecalled } from './material/find-hits.ts'
import { assemble } from './budget/assemble.ts'
import type { AddressedTurn } from './budget/assembly-input.ts'
import { DEFAULT_SHARES } from './budget/budget.ts'
import type { ContextDeps } from './deps.ts'
import { readMaterial } from './material/material.ts'
import { distinctNames } from './names.ts'
import type { Context } from './message.ts'
import { contextOptions, MAX_RECENT_TURNS, NEEDS_RECALL } from './options.ts'
import { findRelevantFacts } from './material/profiles-and-facts.ts'
import type { ContextEnd } from './material/recent-turns.ts'
import type { RecalledTurn } from './quote.ts'
import { isWideRecall, readsOutside, requireSources } from './sources.ts'
import { storeContext } from './store.ts'

/**
 * Number of hits requested in addition to `k`, because some hits may be in the context already. If all requested hits
 * are found but fewer than `k` are new, the search is repeated with a greater `k`.
 */
const SPARE_HITS = 5
/** Tokens per hit. If a budget has fewer, no space is left for the turns next to hits, and they are not read. */
const LEAST_HIT_TOKENS = 40

const buildContextInput = z
  .object({
    ...contextOptions,
    conversationId: id('conversation'),
    tokenBudget: between(1, MAX_TOKENS).nullish(),
    filterParticipants: z
      .array(name)
      .min(1, 'must name at least one participant; omit it to include all')
      .max(1000)
      .nullish(),
    as: name.nullish(),
    answering: id('turn').nullish(),
    maxMessages: between(1, 1_000_000).nullish(),
    maxChars: between(1, 100_000_000).nullish(),
  })
  .refine(...NEEDS_RECALL)
export type BuildContextInput = z.input<typeof buildContextInput>

/**
 * Returns the conversation if it is the only source of the context's data; null if the context may also contain facts
 * about people, profiles, or turns of other conversations.
 */
export const onlyConversation = (input: BuildContextInput): string | null =>
  readsOutside(input) ? null : input.conversationId

export type BuildOptions = {
  /**
   * The viewer who must also see the data from outside the conversation, and whose credential must permit it; by default,
   * the viewer of the context.
   */
  outside?: Viewer
  /**
   * Where the context ends; null, the default, for the newest turn. It then has no summary, no recalled turn and no fact
   * of the conversation from after the end, but profiles as they are.
   */
  end?: ContextEnd | null
  /** The participants who must all see the shared state, null for every participant; by default, only the viewer. */
  readers?: readonly string[] | null
}

/**
 * Builds a context within the budget: the system prompt, profiles, facts, summaries, instructions and pinned turns, the
 * recent turns, the shared state, recalled turns, and the newest turn. Marks the included facts as recalled. Stores the context if
 * `store` is true, and nothing else. For the same data and input, the context is the same. The budget, the strategy and
 * the options of recall default to those of the tenant.
 *
 * `strategy`, `filterParticipants` and `sinceSeq` select turns; they do not affect profiles and facts. The context ends
 * with the newest version of the turn `answering` (answered.ts), by default with the newest turn. Shared state is that of
 * the present, so a context of the past has none.
 * @throws InvalidInput, also for a turn `answering` that is not committed, or has no content, and if a context of the
 * past is to be stored @throws NotFound
 * @throws NotAllowed if rights.ts denies the call; to store the context, also if the conversation is MEMBERS and the
 * viewer has left it
 * @throws BudgetTooSmall if the system prompt, the newest turn and the turn `answering` exceed the budget
 */
export async function buildContext(
  deps: ContextDeps,
  principal: Viewer,
  input: BuildContextInput,
  { outside, readers, end = null }: BuildOptions = {},
): Promise<Context> {
  authorize(principal, 'buildContext', input)
  const given = await withDefaults(deps, principal, parse(buildContextInput, input))
  const viewer = actAs(principal, given.as)
  const reader = outside ?? viewer
  await requireSources(deps, reader, 'buildContext', given)
  const { conversationId, strategy, recentTurns, semanticRecall: recallOptions } = given
  const inSteps = strategy !== 'SIMPLE'
  const actors = given.filterParticipants ?? null
  const wanted = recallOptions?.k ?? 0
  const neighbours = wanted * LEAST_HIT_TOKENS <= given.tokenBudget ? 1 : 0
  // Any number of the best hits may follow the end.
  const requested = end === null ? wanted + SPARE_HITS : MAX_HITS

  const search = (query: string, k: number, options: RecallOptions) =>
    findHits(
      deps,
      { viewer, by: isWideRecall(given) ? reader : viewer },
      { ...given, actors, query, k, neighbours, end },
      options,
    )

  const reading = readMaterial(deps, viewer, {
    conversationId,
    reader,
    as: given.as ?? null,
    tokenBudget: given.tokenBudget,
    sinceSeq: given.sinceSeq ?? null,
    actors,
    end,
    windowTurns: recentTurns * (inSteps ? 2 : 1),
    withSummaries: strategy !== 'SIMPLE',
    withPinned: strategy !== 'SUMMARIZATION',
    embedder: recallOptions && given.query == null && !isWideRecall(given) ? deps.embedding.serving().name : null,
    withProfiles: given.includeProfile ?? false,
    withFacts: given.includeFacts ?? false,
    states: given.includeSharedState ? { readers } : null,
  })
  // With a given query, the search runs while the database reads the material. The search uses the processor, so it
  // starts when the statements have been sent.
  const firstHits =
    recallOptions && given.query?.trim() ? yieldToEventLoop().then(() => search(given.query!, requested, {})) : null
  // If building fails before the hits are used, that error is reported and the error of the search is ignored.
  firstHits?.catch(() => {})
  const read = await reading
  const answered = given.answering == null ? null : await findAnswered(deps, viewer, conversationId, given.answering)
  const names = await namesOf(deps, viewer, { ...read, conversationId }, answered ? [answered] : [])
  const material = { ...read, answered, names, perspective: { ...read.perspective, names } }

  const queryOf = (addressed: AddressedTurn | null) =>
    (given.query ?? addressed?.text.slice(0, MAX_QUERY).toWellFormed())?.trim() || null

  async function find(addressed: AddressedTurn | null, included: ReadonlySet<string>): Promise<RecalledTurn[]> {
    const query = queryOf(addressed)
    if (query === null) return []
    const asked = given.query == null ? (answered ?? material.recent.find(({ id }) => id === addressed!.id)) : undefined
    const queryTurn = asked ? { conversationId, position: asked.position } : null
    const options = { queryTurn, scope: material.scope }
    let found = await (firstHits ?? search(query, requested, options))
    const isShort = found.hits.filter(({ turn }) => !included.has(turn.id)).length < wanted
    if (isShort && requested < MAX_HITS && found.found === requested)
      found = await search(query, wanted + included.size, options)
    const turns = found.hits.flatMap(({ turn, neighbours }) => [turn, ...neighbours])
    const allNames = await namesOf(deps, viewer, { ...material, conversationId }, turns)
    return toRecalled(found.hits, conversationId, allNames)
  }

  const findFacts = async (addressed: AddressedTurn | null) =>
    findRelevantFacts(deps, { viewer, reader }, { conversationId, users: read.factUsers, end }, queryOf(addressed))

  const assembled = await assemble({ count: (text) => deps.tokens.recount(text), sizes: deps.sizes }, material, {
    tokenBudget: given.tokenBudget,
    maxMessages: given.maxMessages ?? null,
    maxChars: given.maxChars ?? null,
    recentTurns,
    inSteps,
    shares: DEFAULT_SHARES,
    recall: recallOptions ? { k: wanted, find } : null,
    findFacts: given.includeFacts ? findFacts : null,
  })
  deps.recalledFacts.add(assembled.messages.flatMap(({ kind, sourceIds }) => (kind === 'FACT' ? sourceIds : [])))
  const { lastSeq: asOfSeq, profileFacts } = read
  const context: Context = { ...assembled, id: null, createdAt: null, asOfSeq, goneSourceIds: [], profileFacts }
  return given.store ? storeContext(deps, viewer, conversationId, context) : context
}

/**
 * Returns the input with the defaults of the tenant for the budget, the strategy and the recall.
 * @throws InvalidInput if a context of the past is to be stored
 */
async function withDefaults(deps: ContextDeps, { tenant }: Viewer, given: z.output<typeof buildContextInput>) {
  if (given.store && deps.moment)
    throw InvalidInput.at('store', 'must be false with `asOf`: only present contexts are stored')
  const defaults = await deps.defaults.of(tenant)
  const { semanticRecall } = given
  return {
    ...given,
    tokenBudget: given.tokenBudget ?? defaults.tokenBudget,
    recentTurns: given.recentTurns ?? MAX_RECENT_TURNS,
    // The state of the past is not kept.
    includeSharedState: (given.includeSharedState ?? true) && !deps.moment,
    strategy: given.strategy ?? defaults.contextStrategy,
    semanticRecall: semanticRecall && {
      ...semanticRecall,
      k: semanticRecall.k ?? defaults.recallHits ?? HITS.context,
      threshold: semanticRecall.threshold ?? defaults.recallThreshold,
    },
  }
}

/** Returns `names` and the names of the actors of the given turns. Ignores turns of other conversations. */
async function namesOf(
  { pool }: RecallDeps,
  viewer: Viewer,
  { conversationId, names }: { conversationId: string; names: ReadonlyMap<string, string> },
  turns: readonly { actor: string; conversationId: string }[],
): Promise<ReadonlyMap<string, string>> {
  const actors = turns.filter((turn) => turn.conversationId === conversationId).map(({ actor }) => actor)
  const unnamed = new Set(actors.filter((actor) => !names.has(actor)))
  if (unnamed.size === 0) return names
  const rows = await readParticipants(pool, viewer, [conversationId], [...unnamed])
  return distinctNames(rows, names)
}
