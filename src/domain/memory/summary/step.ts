// One compaction step: reads the oldest uncovered turns, summarises them, and writes the summary if the conversation
// has not changed meanwhile. Nothing is locked during the model call. Steps may run concurrently, be repeated or crash;
// at any time, each committed turn without an audience is covered by at most one current summary.

import {
  cutToTokens,
  truncateToTokens,
  type Summarizer,
  type SummaryRequest,
} from '../../../providers/ports/summarizer.ts'
import { readCompaction, readCurrentOf, type CompactionRow } from '../../../store/sql/memory/summary/read-compaction.ts'
import type { SummaryRow } from '../../../store/sql/memory/summary/read-summaries.ts'
import {
  readLaterAnswers,
  readUncoveredTurns,
  type UncoveredTurn,
} from '../../../store/sql/memory/summary/read-uncovered-turns.ts'
import { writeSummary } from '../../../store/sql/memory/summary/write-summary.ts'
import type { Platform } from '../../kernel/platform.ts'
import { askProvider } from '../../../providers/ports/call-failed.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import { newId } from '../../kernel/id.ts'
import { toSpanCandidate, toSummarizerTurn } from './convert-turn.ts'
import { splitIntoPasses, spanOf, unanswered, type SpanMeasure } from './span.ts'

/** Maximum number of turn tokens per summarizer call. */
export const PASS_TOKENS = 8_000
/** Maximum size of a summary, as a fraction of the tokens of the turns that it covers. */
const SUMMARY_FRACTION = 1 / 3
/** Number of tokens that every summary may have, because a third of a few short turns is too little for a sentence. */
const MIN_SUMMARY_TOKENS = 16
/** Maximum number of tokens of a rolling or folded summary. @internal Exported for a benchmark. */
export const SUMMARY_TOKENS = 1_000
/** Maximum number of tokens of a hierarchical summary of turns. */
const SPAN_TOKENS = 400
/**
 * Number of summaries on a level at which the oldest FOLD_AT / 2 are folded (merged into one of the next level).
 * @internal Exported for tests.
 */
export const FOLD_AT = 8

/**
 * Maximum number of turns and of tokens that a step reads. If no turn can be covered because a call's result follows
 * the turns read, the step reads again with both limits multiplied by the next of READ_FACTORS.
 */
const READ_TURNS = 1_000
const READ_TOKENS = 2 * PASS_TOKENS
const READ_FACTORS = [1, 4, 16]
/** Number of turns read in addition to `measure.min`, to find the results of tool calls. */
const EXTRA_TURNS = 100

/** The conversation's state at the beginning of a step. */
export type CompactionState = CompactionRow & { current: SummaryRow[] }

/** Reads the state of a conversation; null if the tenant has no such conversation. */
export async function readCompactionState(
  { db }: Pick<Platform, 'db'>,
  tenant: string,
  conversationId: string,
): Promise<CompactionState | null> {
  const current = await readCurrentOf(db, tenant, conversationId)
  const row = await readCompaction(db, tenant, conversationId)
  return row && { ...row, current }
}

/** Returns the turns that the next summary covers within `measure`; empty if no turn can be covered yet. */
export async function findSpan(
  { clock, db }: Pick<Platform, 'clock' | 'db'>,
  { tenant, conversationId, through }: CompactionState,
  measure: SpanMeasure,
): Promise<UncoveredTurn[]> {
  const uncovered = { conversationId, after: through }
  const now = clock.Date.now()
  // If `measure` requires a number of turns, read that many regardless of their tokens.
  const isCounted = measure.min > 1
  const maxTurns = isCounted ? measure.min + EXTRA_TURNS : READ_TURNS
  for (const factor of READ_FACTORS) {
    const tokens = isCounted ? Number.MAX_SAFE_INTEGER : factor * READ_TOKENS
    const turns = await readUncoveredTurns(db, tenant, uncovered, { turns: factor * maxTurns, tokens })
    const candidates = turns.map((turn) => toSpanCandidate(turn, now))
    const pending = unanswered(candidates)
    const later = pending.length
      ? await readLaterAnswers(db, tenant, { conversationId, after: turns.at(-1)!.position }, pending)
      : []
    const length = spanOf(candidates, later, measure)
    if (length > 0 || later.length === 0) return turns.slice(0, length)
  }
  return []
}

/** A summary, and the name of the model that wrote it. */
type Written = { content: string; model: string }

/** Calls the summarizer once. Cuts a reply longer than `maxTokens` after a sentence. @throws ProviderFailed */
async function summarizePass(
  { tokens, log }: Platform,
  summarizer: Summarizer,
  request: SummaryRequest,
  stop?: AbortSignal,
): Promise<Written> {
  const { content, model } = await askProvider(log, 'summarise', summarizer.model, () =>
    summarizer.summarize(request, stop),
  )
  return { content: await cutToTokens(content, request.maxTokens, tokens.count), model }
}

/** Summarises the turns in passes of at most PASS_TOKENS; truncates a longer turn to it. @throws ProviderFailed */
async function summarizeTurns(
  deps: Platform,
  summarizer: Summarizer,
  { previous, turns, maxTokens }: Omit<SummaryRequest, 'turns'> & { turns: readonly UncoveredTurn[] },
  stop?: AbortSignal,
): Promise<Written> {
  let result = { content: previous ?? '', model: summarizer.model }
  for (const pass of splitIntoPasses(turns, PASS_TOKENS)) {
    const inputs = pass.map(toSummarizerTurn)
    if (pass.length === 1) inputs[0]!.text = await truncateToTokens(inputs[0]!.text, PASS_TOKENS, deps.tokens.count)
    const request = { previous: result.content || null, turns: inputs, maxTokens }
    result = await summarizePass(deps, summarizer, request, stop)
  }
  return result
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)

const joined = (summaries: readonly SummaryRow[]) =>
  summaries.length ? summaries.map(({ content }) => content).join('\n') : null

const tokensIn = (rows: readonly { tokenCount: number }[]) => rows.reduce((sum, { tokenCount }) => sum + tokenCount, 0)

/**
 * Returns the maximum number of tokens of a summary that covers the turns and replaces the given summaries: the tokens
 * of these summaries and SUMMARY_FRACTION of the turns' tokens, so that compaction reduces the number of tokens. Only a
 * summary of at most MIN_SUMMARY_TOKENS may exceed this fraction.
 */
const maxTokensFor = (replaced: readonly SummaryRow[], span: readonly UncoveredTurn[], cap: number) =>
  Math.min(cap, Math.max(MIN_SUMMARY_TOKENS, tokensIn(replaced) + Math.floor(tokensIn(span) * SUMMARY_FRACTION)))

/** A summary to write. */
type NewSummary = Written & {
  level: number
  /** The last position that it covers. */
  to: number
  replaces: readonly SummaryRow[]
  /** The turns that no current summary covers. */
  turns: readonly UncoveredTurn[]
}

/** Writes a summary and returns its id; null if the conversation changed meanwhile or was deleted. */
async function write(
  deps: Platform,
  { conversationId, tenant, current }: CompactionState,
  { level, to, content, model, replaces, turns }: NewSummary,
): Promise<string | null> {
  const id = newId('summary')
  const text = content.trim() || '(Nothing was said.)'
  const { outcome, seq } = await writeSummary(deps.db, {
    tenant,
    conversationId,
    id,
    level,
    to,
    content: text,
    tokens: await deps.tokens.count(text),
    model,
    current: idsOf(current),
    replaces: idsOf(replaces),
    turns: idsOf(turns),
  })
  if (outcome !== 'written') return null
  announceEntries(deps, [{ tenant, conversationId, first: seq, last: seq }])
  return id
}

/** The turns to cover, and how. */
export type CoverStep = { span: readonly UncoveredTurn[]; strategy: 'ROLLING' | 'HIERARCHICAL'; summarizer: Summarizer }

/**
 * Covers the turns with one new summary. With ROLLING, it also replaces all current summaries; with HIERARCHICAL, they
 * stay current. Returns the id of the new summary; null if the conversation changed meanwhile, so nothing was written.
 * @throws ProviderFailed
 */
export async function coverSpan(
  deps: Platform,
  state: CompactionState,
  { span, strategy, summarizer }: CoverStep,
  stop?: AbortSignal,
): Promise<string | null> {
  const replaces = strategy === 'ROLLING' ? state.current : []
  const maxTokens = maxTokensFor(replaces, span, strategy === 'ROLLING' ? SUMMARY_TOKENS : SPAN_TOKENS)
  const summary = await summarizeTurns(deps, summarizer, { previous: joined(replaces), turns: span, maxTokens }, stop)
  return write(deps, state, { ...summary, level: 0, to: span.at(-1)!.position, replaces, turns: span })
}

/**
 * Merges the oldest FOLD_AT / 2 summaries of a level into one of the next level, if the level has FOLD_AT summaries and
 * the oldest ones are adjacent. Returns the id of the new summary; null if there is no such level, or if the
 * conversation changed meanwhile.
 * @throws ProviderFailed
 */
export async function foldLevel(
  deps: Platform,
  state: CompactionState,
  summarizer: Summarizer,
  stop?: AbortSignal,
): Promise<string | null> {
  const levels = new Map<number, SummaryRow[]>()
  for (const each of state.current) levels.set(each.level, [...(levels.get(each.level) ?? []), each])
  for (const [level, all] of levels) {
    if (all.length < FOLD_AT) continue
    const oldest = all.slice(0, FOLD_AT / 2)
    const indexes = oldest.map((each) => state.current.indexOf(each))
    // Fold only adjacent summaries. Summaries of a level are adjacent, because levels descend from the oldest to the
    // newest summary, unless the strategy has changed.
    if (indexes.at(-1)! - indexes[0]! !== oldest.length - 1) continue
    const half = Math.max(MIN_SUMMARY_TOKENS, Math.floor(tokensIn(oldest) / 2))
    const maxTokens = Math.min(SUMMARY_TOKENS, half)
    const summary = await summarizePass(deps, summarizer, { previous: joined(oldest), turns: [], maxTokens }, stop)
    const to = oldest.at(-1)!.toPosition
    return write(deps, state, { ...summary, level: level + 1, to, replaces: oldest, turns: [] })
  }
  return null
}
