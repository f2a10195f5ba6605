// Compaction: keeps what stands verbatim in a conversation within its policy, by step after step over the oldest turns. By
// itself, when a conversation is beyond its policy, or so many turns stand; on demand, through a turn or by another policy.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../errors.ts'
import type { Halt } from '../job/worker.ts'
import type { Platform } from '../platform.ts'
import { id, parse } from '../input.ts'
import { getTurns } from '../turn/turn.ts'
import type { Viewer } from '../view.ts'
import { policyColumns, policyInput, summarizerFor, type StoredPolicy } from '../compaction-policy.ts'
import { coverSpan, findSpan, foldLevel, PASS_TOKENS, readCompactionState, type CompactionState } from './step.ts'
import { getCoveringSummaries, getSummaries, type Summary } from './summary.ts'
import type { SpanMeasure } from './span.ts'

/** Attempts of a step in a conversation that keeps moving. */
const ATTEMPTS = 4

/** Whether so much stands verbatim that the policy wants less of it. One turn alone always stands. */
const isDue = ({ triggerTurns, triggerTokens }: StoredPolicy, left: { turns: number; tokens: number }): boolean =>
  left.turns > 1 && (left.turns > triggerTurns || left.tokens > triggerTokens)

type CompactionStep = { measure: SpanMeasure; policy: StoredPolicy }
/** What is wanted, the first of it that can be done. */
type StepsWanted = (state: CompactionState) => CompactionStep[]

/** The oldest half, at most a pass of it at once, and never the newest turn. */
const oldestHalf = ({ turns }: CompactionState): SpanMeasure => ({
  least: 1,
  most: Math.floor(turns / 2),
  limit: turns - 1,
  through: Infinity,
  tokens: PASS_TOKENS,
})

/** The oldest `count`, all of them; more only where a call would be parted from its result. */
const oldest = (count: number): SpanMeasure => ({
  least: count,
  most: count,
  limit: Infinity,
  through: Infinity,
  tokens: Infinity,
})

async function firstPossible(deps: Platform, state: CompactionState, steps: readonly CompactionStep[]) {
  for (const { measure, policy } of steps) {
    const { strategy, summarizerModel } = policy
    const span = strategy === 'NEVER' ? [] : await findSpan(deps, state, measure)
    if (strategy !== 'NEVER' && span.length > 0) return { span, policy: { strategy, summarizerModel } }
  }
  return null
}

/**
 * Steps until none is wanted, it is to halt, or there is nothing to be covered yet. The ids of what it wrote, in order.
 * @throws ProviderFailed, or the reason of `stop`; what was written before stays
 */
async function run(
  deps: Platform,
  conversationId: string,
  wanted: StepsWanted,
  halt: Partial<Halt> = {},
): Promise<string[]> {
  const written: string[] = []
  let attempts = 0
  const goesOn = () => !halt.stop?.aborted && !halt.enough?.()
  while (goesOn()) {
    const state = await readCompactionState(deps, conversationId)
    if (!state) return written
    const found = await firstPossible(deps, state, wanted(state))
    if (!found) return written
    const {
      span,
      policy: { strategy, summarizerModel },
    } = found
    const summarizer = summarizerFor(deps, summarizerModel)
    const made = await coverSpan(deps, state, strategy, summarizer, span, halt.stop)
    if (made) written.push(made)
    else if (++attempts >= ATTEMPTS) return written
    if (made && strategy === 'HIERARCHICAL') {
      for (let folding = true; folding && goesOn();) {
        const now = await readCompactionState(deps, conversationId)
        const folded = now && (await foldLevel(deps, now, summarizer, halt.stop))
        if (folded) written.push(folded)
        folding = folded !== null
      }
    }
  }
  return written
}

/**
 * What is done without being asked; how many summaries it wrote. As often as so many turns stand as are to be
 * summarised at a time, the oldest of them are. Then the conversation is brought within its own policy, as far as it goes.
 * @throws ProviderFailed
 */
export async function compactDue(deps: Platform, conversationId: string, halt: Partial<Halt> = {}): Promise<number> {
  const { threadSummaryEvery: every } = deps.automatic
  const written = await run(
    deps,
    conversationId,
    (state) => {
      const steps: CompactionStep[] = []
      if (every > 0 && state.turns >= every) steps.push({ measure: oldest(every), policy: state })
      if (isDue(state, state)) steps.push({ measure: oldestHalf(state), policy: state })
      return steps
    },
    halt,
  )
  return written.length
}

const compactInput = z.object({ conversationId: id('conversation'), policy: policyInput.nullish() })
export type CompactInput = z.input<typeof compactInput>

/** What compacting did. */
export type Compaction = {
  /** The summaries it wrote that still stand and that the viewer may have, oldest first. */
  summaries: Summary[]
  turnsCovered: number
  /** Tokens of summaries and uncovered turns: what the conversation costs in a context. */
  tokensBefore: number
  tokensAfter: number
}

const costOf = ({ tokens, current }: CompactionState) => current.reduce((sum, each) => sum + each.tokenCount, tokens)

async function stateOf(deps: Platform, viewer: Viewer, conversationId: string): Promise<CompactionState> {
  const state = await readCompactionState(deps, conversationId)
  if (state?.tenant !== viewer.tenant) throw new NotFound('conversation', conversationId)
  return state
}

/**
 * Compacts at once: as the policy given says, which is not kept, the conversation's own filling in what it leaves out. Without
 * one the oldest half is covered whether the conversation is due or not.
 * @throws InvalidInput @throws NotFound @throws ProviderFailed
 */
export async function compact(deps: Platform, viewer: Viewer, input: CompactInput): Promise<Compaction> {
  const { conversationId, policy: given } = parse(compactInput, input)
  policyColumns(deps, given, 'policy')
  const before = await stateOf(deps, viewer, conversationId)
  const policy: StoredPolicy = {
    triggerTurns: given?.triggerTurns ?? before.triggerTurns,
    triggerTokens: given?.triggerTokens ?? before.triggerTokens,
    summarizerModel: given?.summarizerModel ?? before.summarizerModel,
    // Who asks for it does not mean NEVER, unless they say so.
    strategy: given?.strategy ?? (before.strategy === 'NEVER' ? 'ROLLING' : before.strategy),
  }
  // The first half is covered step by step too, so it is counted down.
  let owed = given ? 0 : Math.floor(before.turns / 2)
  let uncovered = before.turns
  const written = await run(deps, conversationId, (state) => {
    owed -= Math.max(0, uncovered - state.turns)
    uncovered = state.turns
    if (isDue(policy, state)) return [{ measure: oldestHalf(state), policy }]
    return owed > 0 && state.turns > 1 ? [{ measure: { ...oldestHalf(state), most: owed }, policy }] : []
  })
  const after = await stateOf(deps, viewer, conversationId)
  const made = new Set(written)
  const summaries = (await getCoveringSummaries(deps, viewer, conversationId)).filter((each) => made.has(each.id))
  const covered = (state: CompactionState) => state.current.reduce((sum, each) => sum + each.turns, 0)
  return {
    summaries,
    turnsCovered: Math.max(0, covered(after) - covered(before)),
    tokensBefore: costOf(before),
    tokensAfter: costOf(after),
  }
}

const summarizeInput = z.object({ conversationId: id('conversation'), through: id('turn').nullish() })
export type SummarizeInput = z.input<typeof summarizeInput>

/**
 * Covers everything up to and with the turn `through`, or all there is; less where a call would be parted from its
 * result or something is still being written. The summary that then covers the last of it; it was there before,
 * perhaps.
 * @throws InvalidInput where there is nothing to summarise, or the viewer may not have what covers it
 * @throws NotFound @throws ProviderFailed
 */
export async function summarize(deps: Platform, viewer: Viewer, input: SummarizeInput): Promise<Summary> {
  const { conversationId, through } = parse(summarizeInput, input)
  await stateOf(deps, viewer, conversationId)
  let place = Infinity
  if (through != null) {
    const turn = (await getTurns(deps, viewer, [through])).get(through)
    if (turn?.conversationId !== conversationId) throw new NotFound('turn', through)
    place = turn.rootSeq
  }
  await run(deps, conversationId, (state) => {
    if (state.through >= place || state.turns === 0) return []
    const strategy = state.strategy === 'NEVER' ? 'ROLLING' : state.strategy
    const measure = { least: 1, most: Infinity, limit: Infinity, through: place, tokens: PASS_TOKENS }
    return [{ measure, policy: { ...state, strategy } }]
  })
  const { current } = await stateOf(deps, viewer, conversationId)
  const covering = current.findLast(({ fromSeq }) => fromSeq <= place)
  if (!covering) {
    throw InvalidInput.at(
      'through',
      'there is nothing to summarise up to there yet: turns for everyone, complete, '
        + 'with the results of their tool calls',
    )
  }
  const summary = (await getSummaries(deps, viewer, [covering.id])).get(covering.id)
  if (summary) return summary
  // An edit between the two reads makes the summary stale, so that it has no key.
  const after = await stateOf(deps, viewer, conversationId)
  if (after.current.every((each) => each.id !== covering.id)) return summarize(deps, viewer, input)
  throw InvalidInput.at('conversationId', 'the conversation is summarised, but you do not see all turns of the summary')
}
