// Compaction: summarises the oldest turns step by step until the uncovered turns are within the policy. Runs
// automatically when a conversation exceeds its policy or has `threadSummaryEvery` uncovered turns, and on demand, up
// to a given turn or under a given policy.

import { z } from 'zod'
import { InvalidInput, NotAllowed, NotFound } from '../../../errors.ts'
import type { Halt } from '../../background/job/worker.ts'
import type { Platform } from '../../kernel/platform.ts'
import {
  authorize,
  requireConversation,
  requirePermits,
  requireWriter,
  trusted,
} from '../../kernel/rights/authorize.ts'
import { id, parse } from '../../kernel/input.ts'
import { getTurns } from '../../turn/turn.ts'
import { readParticipants } from '../../../store/sql/conversation/participant/read-participants.ts'
import { seesAllPublic, viewIn, type Viewer } from '../../kernel/view.ts'
import { policyColumns, policyInput, summarizerFor, type StoredPolicy } from '../../conversation/compaction-policy.ts'
import {
  coverSpan,
  findSpan,
  foldLevel,
  PASS_TOKENS,
  readCompactionState,
  type CompactionState,
  type CoverStep,
} from './step.ts'
import { getCoveringSummaries, getSummaries, type Summary } from './summary.ts'
import type { SpanMeasure } from './span.ts'

/** Number of failed steps after which a compaction ends. A step fails if the conversation changes concurrently. */
const ATTEMPTS = 4

/** Whether the uncovered turns exceed the policy. A single turn never exceeds it. */
const isDue = ({ triggerTurns, triggerTokens }: StoredPolicy, uncovered: { turns: number; tokens: number }): boolean =>
  uncovered.turns > 1 && (uncovered.turns > triggerTurns || uncovered.tokens > triggerTokens)

type CompactionStep = { measure: SpanMeasure; policy: StoredPolicy }
/** Returns the steps to try in this state, in order; only the first possible one runs. */
type PlanSteps = (state: CompactionState) => CompactionStep[]

/** Limits a step to the oldest half of the turns, without the newest turn, and to PASS_TOKENS if possible. */
const oldestHalf = ({ turns }: CompactionState): SpanMeasure => ({
  min: 1,
  max: Math.floor(turns / 2),
  limit: turns - 1,
  through: Infinity,
  tokens: PASS_TOKENS,
})

/** Limits a step to exactly the oldest `count` turns; to more only to keep a tool call together with its result. */
const oldest = (count: number): SpanMeasure => ({
  min: count,
  max: count,
  limit: Infinity,
  through: Infinity,
  tokens: Infinity,
})

/** Returns the first of the steps that can cover turns and is not NEVER; null if there is none. */
async function firstPossible(
  deps: Platform,
  state: CompactionState,
  steps: readonly CompactionStep[],
): Promise<CoverStep | null> {
  for (const { measure, policy } of steps) {
    const { strategy, summarizerModel } = policy
    const span = strategy === 'NEVER' ? [] : await findSpan(deps, state, measure)
    if (strategy !== 'NEVER' && span.length > 0)
      return { span, strategy, summarizer: summarizerFor(deps, summarizerModel) }
  }
  return null
}

/**
 * Runs steps until `plan` returns no possible step, ATTEMPTS steps have failed, or `halt` ends the compaction. Returns
 * the ids of the written summaries, in order.
 * @throws ProviderFailed, or the reason of `halt.stop`; summaries written before are kept
 */
async function run(
  deps: Platform,
  { tenant, conversationId }: { tenant: string; conversationId: string },
  plan: PlanSteps,
  halt: Partial<Halt> = {},
): Promise<string[]> {
  const written: string[] = []
  let attempts = 0
  const mayContinue = () => !halt.stop?.aborted && !halt.shouldEnd?.()
  while (mayContinue()) {
    const state = await readCompactionState(deps, tenant, conversationId)
    if (!state) return written
    const step = await firstPossible(deps, state, plan(state))
    if (!step) return written
    const summaryId = await coverSpan(deps, state, step, halt.stop)
    if (summaryId) written.push(summaryId)
    else if (++attempts >= ATTEMPTS) return written
    if (summaryId && step.strategy === 'HIERARCHICAL') {
      for (let folding = true; folding && mayContinue();) {
        const latest = await readCompactionState(deps, tenant, conversationId)
        const folded = latest && (await foldLevel(deps, latest, step.summarizer, halt.stop))
        if (folded) written.push(folded)
        folding = folded !== null
      }
    }
  }
  return written
}

/**
 * Runs automatic compaction and returns the number of written summaries. Covers the oldest `threadSummaryEvery` turns
 * repeatedly while there are that many uncovered turns. Then covers turns until the conversation is within its policy.
 * @throws ProviderFailed
 */
export async function compactDue(
  deps: Platform,
  tenant: string,
  conversationId: string,
  halt: Partial<Halt> = {},
): Promise<number> {
  const { threadSummaryEvery: every } = deps.automatic
  const written = await run(
    deps,
    { tenant, conversationId },
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

/** Result of a compaction. */
export type Compaction = {
  /** The summaries written by this compaction that are still current and that the viewer may read, oldest first. */
  summaries: Summary[]
  /** Number of turns covered by this compaction. Null if the viewer does not see all turns without an audience. */
  turnsCovered: number | null
  /** Token count of the current summaries and the uncovered turns, before and after. Null if `turnsCovered` is. */
  tokensBefore: number | null
  tokensAfter: number | null
}

/** Returns the token count of the current summaries and the uncovered turns. */
const costOf = ({ tokens, current }: CompactionState) => current.reduce((sum, each) => sum + each.tokenCount, tokens)

async function requireState(deps: Platform, viewer: Viewer, conversationId: string): Promise<CompactionState> {
  await requireConversation(deps, viewer, conversationId)
  const state = await readCompactionState(deps, viewer.tenant, conversationId)
  if (!state) throw new NotFound('conversation', conversationId)
  return state
}

/**
 * Runs compaction immediately. Without a policy, covers the oldest half of the uncovered turns once, even if they are
 * within the conversation's policy. With a policy, whose fields override those of the conversation for this call,
 * covers the oldest half repeatedly until the rest is within the policy.
 * @throws InvalidInput @throws NotFound @throws ProviderFailed
 * @throws NotAllowed if the viewer has left a MEMBERS conversation, or without a right that rights.ts requires
 */
export async function compact(deps: Platform, viewer: Viewer, input: CompactInput): Promise<Compaction> {
  authorize(viewer, 'compact', input)
  const { conversationId, policy: given } = parse(compactInput, input)
  policyColumns(deps, given, 'policy')
  await requireWriter(deps.db.of(viewer.tenant), viewer, conversationId)
  await requirePermits(deps.db.of(viewer.tenant), viewer, 'compact', { conversationId })
  const before = await requireState(deps, viewer, conversationId)
  const policy: StoredPolicy = {
    triggerTurns: given?.triggerTurns ?? before.triggerTurns,
    triggerTokens: given?.triggerTokens ?? before.triggerTokens,
    summarizerModel: given?.summarizerModel ?? before.summarizerModel,
    // NEVER in the conversation's policy disables only automatic compaction; in the given policy, it applies.
    strategy: given?.strategy ?? (before.strategy === 'NEVER' ? 'ROLLING' : before.strategy),
  }
  // Number of turns still to cover: the oldest half may take several steps.
  let remaining = Math.floor(before.turns / 2)
  let uncovered = before.turns
  const written = await run(deps, { tenant: viewer.tenant, conversationId }, (state) => {
    remaining -= Math.max(0, uncovered - state.turns)
    uncovered = state.turns
    if (given) return isDue(policy, state) ? [{ measure: oldestHalf(state), policy }] : []
    return remaining > 0 && state.turns > 1 ? [{ measure: { ...oldestHalf(state), max: remaining }, policy }] : []
  })
  const after = await requireState(deps, viewer, conversationId)
  const writtenIds = new Set(written)
  const summaries = (await getCoveringSummaries(deps, trusted(viewer), conversationId)).filter((each) =>
    writtenIds.has(each.id),
  )
  const covered = (state: CompactionState) => state.current.reduce((sum, each) => sum + each.turns, 0)
  if (!(await seesAllTurns(deps, viewer, conversationId))) {
    return { summaries, turnsCovered: null, tokensBefore: null, tokensAfter: null }
  }
  return {
    summaries,
    turnsCovered: Math.max(0, covered(after) - covered(before)),
    tokensBefore: costOf(before),
    tokensAfter: costOf(after),
  }
}

/** Whether the viewer, who sees the conversation, sees all its turns without an audience. */
async function seesAllTurns({ pool }: Platform, viewer: Viewer, conversationId: string): Promise<boolean> {
  const [participant] = await readParticipants(pool, viewer, [conversationId], [viewer.actor])
  // A viewer who was never a participant sees the conversation only if it is OPEN.
  return seesAllPublic(viewIn('OPEN', participant))
}

const historyPartlyHidden = () =>
  new NotAllowed(
    'You do not see all turns of the conversation that have no audience. A participant who sees them can summarise.',
  )

const summarizeInput = z.object({ conversationId: id('conversation'), through: id('turn').nullish() })
export type SummarizeInput = z.input<typeof summarizeInput>

/**
 * Covers all turns up to and including `through` (default: the newest); fewer if that would separate a tool call from
 * its result or include a streaming turn. Returns the summary, new or existing, that covers the last of these turns.
 * @throws InvalidInput if there is nothing to summarise @throws NotFound @throws ProviderFailed
 * @throws NotAllowed if the viewer has left a MEMBERS conversation, or without a right that rights.ts requires; or if
 * the viewer does not see all turns without an audience (the error reveals nothing else about them)
 */
export async function summarize(deps: Platform, caller: Viewer, input: SummarizeInput): Promise<Summary> {
  authorize(caller, 'summarize', input)
  const { conversationId, through } = parse(summarizeInput, input)
  await requireWriter(deps.db.of(caller.tenant), caller, conversationId)
  await requirePermits(deps.db.of(caller.tenant), caller, 'summarize', { conversationId })
  const viewer = trusted(caller)
  if (!(await seesAllTurns(deps, viewer, conversationId))) throw historyPartlyHidden()
  let throughPosition = Infinity
  if (through != null) {
    const turn = (await getTurns(deps, viewer, [through])).get(through)
    if (turn?.conversationId !== conversationId) throw new NotFound('turn', through)
    throughPosition = turn.position
  }
  await run(deps, { tenant: viewer.tenant, conversationId }, (state) => {
    if (state.through >= throughPosition || state.turns === 0) return []
    const strategy = state.strategy === 'NEVER' ? 'ROLLING' : state.strategy
    const measure = { min: 1, max: Infinity, limit: Infinity, through: throughPosition, tokens: PASS_TOKENS }
    return [{ measure, policy: { ...state, strategy } }]
  })
  const { current } = await requireState(deps, viewer, conversationId)
  const covering = current.findLast(({ fromPosition }) => fromPosition <= throughPosition)
  if (!covering) {
    throw InvalidInput.at(
      'through',
      'there is nothing to summarise yet: only committed turns without an audience are summarised, '
        + 'once their tool calls have results',
    )
  }
  const summary = (await getSummaries(deps, viewer, [covering.id])).get(covering.id)
  if (summary) return summary
  // An edit between the two reads made the summary stale, so retry.
  const after = await requireState(deps, viewer, conversationId)
  if (after.current.every((each) => each.id !== covering.id)) return summarize(deps, viewer, input)
  // Meanwhile, the viewer has lost access to a part of the history.
  throw historyPartlyHidden()
}
