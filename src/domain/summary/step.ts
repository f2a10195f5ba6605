// One step of compaction: reads the oldest turns that no summary covers, has them summarised, and writes that if the
// conversation has not moved meanwhile. Nothing is locked while a model thinks. Steps may run twice, at once, or break off:
// each committed turn without audience is covered by exactly one current summary, or by none, at any time.

import { beginningOf, type Said, type Summarizer } from '../../providers/ports/summarizer.ts'
import { readCompaction, readCurrentOf, type CompactionRow } from '../../store/sql/summary/read-compaction.ts'
import type { SummaryRow } from '../../store/sql/summary/read-summaries.ts'
import {
  readLaterAnswers,
  readUncoveredTurns,
  type UncoveredTurn,
} from '../../store/sql/summary/read-uncovered-turns.ts'
import { writeSummary } from '../../store/sql/summary/write-summary.ts'
import type { Platform } from '../platform.ts'
import { askProvider } from '../ask-provider.ts'
import { announceEntries } from '../publisher.ts'
import { newId } from '../id.ts'
import { saidIn, toSpanCandidate } from './said.ts'
import { passes, spanOf, unanswered, type SpanMeasure } from './span.ts'

/** Tokens of turns that a summarizer is given at once, at most. */
export const PASS_TOKENS = 8_000
/** Tokens of a summary at most: of a rolling one or one of summaries, and of one of a span. */
export const SUMMARY_TOKENS = 1_000
const SPAN_TOKENS = 400
/** So many summaries of a level, and the oldest half of them becomes one of the next. */
export const FAN = 8

/** Turns that are looked at for one step, and their tokens; more where a call is answered later than that. */
const LOOK_TURNS = 1_000
const LOOK_TOKENS = 2 * PASS_TOKENS
const WIDER = [1, 4, 16]
/** Turns beyond those that have to be covered, among which the results of their calls are looked for. */
const BEYOND = 100

/** The conversation as it is when a step begins. */
export type CompactionState = CompactionRow & { current: SummaryRow[] }

/** Null where the conversation is gone. */
export async function readCompactionState(
  { db }: Pick<Platform, 'db'>,
  conversationId: string,
): Promise<CompactionState | null> {
  const current = await readCurrentOf(db, conversationId)
  const row = await readCompaction(db, conversationId)
  return row && { ...row, current }
}

/** The turns that the next summary covers, as `measure` allows; none where there are none, or it has to wait. */
export async function findSpan(
  { db }: Pick<Platform, 'db'>,
  { conversationId, through }: CompactionState,
  measure: SpanMeasure,
): Promise<UncoveredTurn[]> {
  const now = Date.now()
  // A number of turns is a number of turns, however long they are.
  const isCounted = measure.least > 1
  const most = isCounted ? measure.least + BEYOND : LOOK_TURNS
  for (const wider of WIDER) {
    const tokens = isCounted ? Number.MAX_SAFE_INTEGER : wider * LOOK_TOKENS
    const turns = await readUncoveredTurns(db, conversationId, through, wider * most, tokens)
    const candidates = turns.map((turn) => toSpanCandidate(turn, now))
    const open = unanswered(candidates)
    const later = open.length ? await readLaterAnswers(db, conversationId, turns.at(-1)!.rootSeq, open) : []
    const length = spanOf(candidates, new Set(later), measure)
    if (length > 0 || later.length === 0) return turns.slice(0, length)
  }
  return []
}

/** What the summarizer makes of it, kept to its tokens. @throws ProviderFailed */
async function make(
  { tokens, log }: Platform,
  summarizer: Summarizer,
  previous: string | null,
  turns: readonly Said[],
  maxTokens: number,
  stop?: AbortSignal,
): Promise<{ content: string; model: string }> {
  const { content, model } = await askProvider(log, 'summarise', summarizer.model, () =>
    summarizer.summarize({ previous, turns, maxTokens }, stop),
  )
  return { content: await beginningOf(content, maxTokens, tokens.count), model }
}

/** In passes. A turn that alone is longer than one is cut. @throws ProviderFailed */
async function condense(
  deps: Platform,
  summarizer: Summarizer,
  previous: string | null,
  turns: readonly UncoveredTurn[],
  maxTokens: number,
  stop?: AbortSignal,
): Promise<{ content: string; model: string }> {
  let made = { content: previous ?? '', model: summarizer.model }
  for (const pass of passes(turns, PASS_TOKENS)) {
    const said = pass.map(saidIn)
    if (pass.length === 1) said[0]!.text = await beginningOf(said[0]!.text, PASS_TOKENS, deps.tokens.count)
    made = await make(deps, summarizer, made.content || null, said, maxTokens, stop)
  }
  return made
}

const idsOf = (things: readonly { id: string }[]) => things.map(({ id }) => id)

const joined = (summaries: readonly SummaryRow[]) =>
  summaries.length ? summaries.map(({ content }) => content).join('\n') : null

/** A written summary's id; null where the conversation has moved on, or is gone. */
async function write(
  deps: Platform,
  { conversationId, tenant, current }: CompactionState,
  level: number,
  to: number,
  { content, model }: { content: string; model: string },
  replaces: readonly SummaryRow[],
  turns: readonly UncoveredTurn[],
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

/**
 * Covers those turns: by one summary that takes the place of all, or by one of their own. Its id, or null where the
 * conversation has moved on: then nothing was written.
 * @throws ProviderFailed
 */
export async function coverSpan(
  deps: Platform,
  state: CompactionState,
  strategy: 'ROLLING' | 'HIERARCHICAL',
  summarizer: Summarizer,
  span: UncoveredTurn[],
  stop?: AbortSignal,
): Promise<string | null> {
  const to = span.at(-1)!.rootSeq
  if (strategy === 'HIERARCHICAL') {
    return write(deps, state, 0, to, await condense(deps, summarizer, null, span, SPAN_TOKENS, stop), [], span)
  }
  const { current } = state
  const made = await condense(deps, summarizer, joined(current), span, SUMMARY_TOKENS, stop)
  return write(deps, state, 0, to, made, current, span)
}

/**
 * Makes one summary of the oldest ones of a level that has `FAN` of them. Its id, or null where no level has, or the
 * conversation has moved on.
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
    if (all.length < FAN) continue
    const oldest = all.slice(0, FAN / 2)
    const places = oldest.map((each) => state.current.indexOf(each))
    // Levels fall from the oldest summary to the newest, so they stand side by side; but strategies may have changed.
    if (places.at(-1)! - places[0]! !== oldest.length - 1) continue
    const most = Math.min(SUMMARY_TOKENS, SPAN_TOKENS * 2 ** (level + 1))
    const made = await make(deps, summarizer, joined(oldest), [], most, stop)
    return write(deps, state, level + 1, oldest.at(-1)!.toSeq, made, oldest, [])
  }
  return null
}
