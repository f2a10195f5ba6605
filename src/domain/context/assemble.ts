// Assembles a context from its material, section by section; items that do not fit are listed with the reason. Reads
// nothing itself: recall is passed in, because it depends on the turns that the context has without it.
//
// Invariants: the budget is never exceeded; instructions and the newest turn are always included; a tool call and its
// results stay together; the same material gives the same context.

import { BudgetTooSmall, InvalidInput } from '../../errors.ts'
import { allot } from './allotment.ts'
import { openingSize, minus, plus, spaceOf, sum, tokensOf, NOTHING, type Shares, type Size } from './budget.ts'
import { chooseKept, chooseTurns, isInstruction } from './choose-turns.ts'
import { contentOf, textMessage, type Context, type ContextItem, type Message } from './message.ts'
import type { Perspective, ContextTurn } from './perspective.ts'
import type { RecalledTurn, QuotedFact, QuotedProfile } from './quote.ts'
import { ALREADY_INCLUDED, weighRecalled } from './recalled.ts'
import { weighFacts, weighProfiles } from './remembered.ts'
import {
  idsOf,
  leftOut,
  newestThatFit,
  sizesOf,
  weighMessage,
  weighTurns,
  type Tokens,
  type WeighedMessage,
} from './weigh.ts'

/** A summary that covers old turns. */
type CoveringSummary = { id: string; content: string; fromSeq: number; toSeq: number }

export type ContextMaterial = {
  systemPrompt: string | null
  /** Profiles of people in the conversation, the most important first. */
  profiles: QuotedProfile[]
  /** Facts of the conversation and about its people, the last observed first. */
  facts: QuotedFact[]
  /** Whether there are no other facts. */
  areAllFacts: boolean
  /** Summaries of the oldest turns, oldest first. */
  summaries: CoveringSummary[]
  /** Summaries too long for the budget. The turns they cover are in `recent`, unless a newer summary covers them. */
  tooLong: CoveringSummary[]
  /** Turns of any age that stay verbatim: instructions, pinned turns, turns that no summary may cover. By root seq. */
  kept: (ContextTurn & { pinned: boolean })[]
  /** The newest turns that no summary covers, by root seq; some of them may be kept turns too. */
  recent: ContextTurn[]
  /** Whether `recent` has all such turns. */
  complete: boolean
  perspective: Perspective
}

export type AssemblyRequest = {
  tokenBudget: number
  maxMessages: number | null
  maxChars: number | null
  recentTurns: number | null
  /** Whether the window is trimmed in steps (window.ts); otherwise it has all the newest turns that fit. */
  inSteps: boolean
  shares: Shares
  /**
   * Finds turns to quote; at most `k` of them are quoted. Null for no recall. `newest` is the text of the newest turn
   * addressed to the model, `included` the ids of the sources that are in the context already.
   */
  recall: { k: number; find(newest: string | null, included: ReadonlySet<string>): Promise<RecalledTurn[]> } | null
}

/**
 * @throws BudgetTooSmall if instructions and the newest turn exceed the token budget
 * @throws InvalidInput if they exceed maxMessages or maxChars
 */
export async function assemble(tokens: Tokens, material: ContextMaterial, request: AssemblyRequest): Promise<Context> {
  const { shares, recall } = request
  const all = spaceOf(request.tokenBudget, request.maxMessages ?? Infinity, request.maxChars ?? Infinity)
  const weighing = await weighTurns(tokens, material.perspective, material.recent, material.kept)
  const { turns, kept } = weighing
  const newest = weighing.newest.map((index) => turns[index]!)
  const newestSize = sizesOf(newest)

  const systemPrompt = await weighSystemPrompt(tokens, material.systemPrompt)
  const opening = [...turns, ...kept].some(({ role }) => role === 'ASSISTANT') ? await openingSize(tokens) : NOTHING
  const fixed = sum([opening, sizesOf(systemPrompt), sizesOf(kept.filter(isInstruction))])
  checkRequired(request, plus(fixed, newestSize), all)

  const limits = allot({ all, fixed, newest: newestSize, shares, withRecall: recall !== null })
  let spent = NOTHING
  const spend = (weighed: readonly WeighedMessage[]) => {
    spent = plus(spent, sizesOf(weighed))
  }
  const profiles = await weighProfiles(tokens, material.profiles, minus(limits.profile, spent))
  spend(profiles.messages)
  const facts = await weighFacts(tokens, material.facts, material.areAllFacts, minus(limits.facts, spent))
  spend(facts.messages)
  const summaries = await weighSummaries(tokens, material, minus(limits.summary, spent))
  spend(summaries.messages)
  const chosenKept = chooseKept(kept, minus(limits.pinned, spent))
  spend(chosenKept.taken)
  const chosen = chooseTurns(
    weighing,
    chosenKept,
    { ...request, rootSeqs: material.recent.map(({ rootSeq }) => rootSeq), complete: material.complete },
    minus(limits.window, spent),
  )

  const front = [
    ...systemPrompt,
    ...profiles.messages,
    ...facts.messages,
    ...summaries.messages,
    ...chosen.before,
    ...chosen.window,
  ]
  const included = new Set(idsOf([...front, ...newest]))
  const space = minus(all, sum([fixed, spent, chosen.size]))
  const recalled = recall
    ? await weighRecalled(tokens, await recall.find(newestText(turns), included), recall.k, included, space)
    : { messages: [], left: [] }
  return toContext(request.tokenBudget, { front, recalled: recalled.messages, newest }, opening, [
    ...profiles.left,
    ...facts.left,
    ...summaries.left,
    ...chosen.left,
    ...recalled.left,
  ])
}

/** Returns the message of the system prompt, or an empty array without one. */
async function weighSystemPrompt(tokens: Tokens, systemPrompt: string | null): Promise<WeighedMessage[]> {
  if (!systemPrompt?.trim()) return []
  const reason = "the conversation's system prompt"
  const about = { kind: 'SYSTEM_PROMPT', role: 'SYSTEM', sources: [], reason } as const
  return [await weighMessage(tokens, textMessage({ ...about, sources: [] }, systemPrompt))]
}

/** Throws unless instructions and the newest turn fit. */
function checkRequired({ tokenBudget }: AssemblyRequest, required: Size, all: Size): void {
  if (tokensOf(required) > tokenBudget) throw new BudgetTooSmall(tokenBudget, tokensOf(required))
  for (const [measure, path] of [
    ['messages', 'maxMessages'],
    ['chars', 'maxChars'],
  ] as const) {
    if (required[measure] <= all[measure]) continue
    throw InvalidInput.at(path, `is ${all[measure]}; instructions and the newest turn need ${required[measure]}`)
  }
}

/** Weighs the newest summaries that fit, and lists the others. */
async function weighSummaries(
  tokens: Tokens,
  { summaries, tooLong }: ContextMaterial,
  space: Size,
): Promise<{ messages: WeighedMessage[]; left: ContextItem[] }> {
  const toMessage = (summary: CoveringSummary) =>
    weighMessage(
      tokens,
      textMessage(
        { kind: 'SUMMARY', role: 'SYSTEM', sources: [summary.id], reason: 'summarises the oldest turns' },
        `Summary of the conversation so far:\n${summary.content}`,
      ),
    )
  const { taken, left } = newestThatFit(await Promise.all(summaries.map(toMessage)), space)
  const all = [...(await Promise.all(tooLong.map(toMessage))), ...left]
  const reason = 'no space for summaries of the oldest turns'
  return { messages: taken, left: all.length ? [leftOut('SUMMARY', all, reason)] : [] }
}

/** The text of the newest turn addressed to the model; null if there is none. */
function newestText(turns: readonly Message[]): string | null {
  const last = turns.findLast(({ role, parts }) => role === 'USER' && contentOf(parts).trim() !== '')
  return last ? contentOf(last.parts) : null
}

function toContext(
  tokenBudget: number,
  { front, recalled, newest }: Record<'front' | 'recalled' | 'newest', WeighedMessage[]>,
  opening: Size,
  left: ContextItem[],
): Context {
  const weighed = [...front, ...recalled, ...newest]
  const opens = weighed.find(({ role }) => role !== 'SYSTEM')?.role === 'ASSISTANT'
  const messages = weighed.map(({ size, ...message }) => ({
    ...message,
    content: contentOf(message.parts),
    tokens: tokensOf(size),
  }))
  const total = (some: readonly WeighedMessage[]) => tokensOf(plus(sizesOf(some), opens ? opening : NOTHING))
  return {
    messages,
    tokenBudget,
    tokens: total(weighed),
    truncated: left.some(({ reason }) => reason !== ALREADY_INCLUDED),
    items: [
      ...messages.map(({ kind, sources, tokens, reason }) => ({
        kind,
        sourceIds: sources,
        tokens,
        included: true,
        reason,
      })),
      ...left,
    ],
    stablePrefixTokens: total(recalled.length > 0 ? front : weighed),
  }
}
