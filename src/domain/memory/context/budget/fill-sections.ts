// Fills the sections that do not depend on the query: profiles, facts, summaries, kept turns and recent turns. They are
// the prefix of the context that stays the same from call to call.

import { allot, inStepsOf, type Section } from './allotment.ts'
import type { AnsweredTurn } from '../material/answered.ts'
import type { AssemblyRequest, ContextMaterial } from './assembly-input.ts'
import { fits, larger, minus, NOTHING, partOf, plus, smaller, spaceOf, sum, tokensOf, type Size } from './budget.ts'
import { chooseKept, chooseTurns, needOfWindow, type Choice, type ChosenTurns } from '../material/choose-turns.ts'
import { createFolding, foldFacts, REPEATED, type Repetition } from '../material/duplicates.ts'
import { demandOf, factQuoting, itemsOf, profileQuoting, quoteThatFit, type Quoted } from './fit-quotes.ts'
import { fitSummaries, needsOfSummaries, NO_SPACE_FOR_SUMMARIES } from './fit-summaries.ts'
import {
  idsOf,
  measureMessage,
  omittedItem,
  sizesOf,
  type MeasuredMessage,
  type MeasuredTurns,
  type Tokens,
} from './measure.ts'
import type { ContextItem } from '../message.ts'
import { summaryMessage, type QuotedFact, type QuotedProfile, type QuotedState } from '../quote.ts'

/** The measured turns, the messages that every context has, and the space that is left for the others. */
export type Fixed = {
  measured: MeasuredTurns
  /** The newest turn, with the tool call and results that belong to it. */
  newest: MeasuredMessage[]
  systemPrompt: MeasuredMessage[]
  /** The size of the user message that Anthropic's rendering may insert first (`openingSize`). */
  opening: Size
  /** The turn to answer; null if that is the newest turn. */
  answered: AnsweredTurn | null
  instructions: Choice
  /** The message of the shared state, which follows the turns, and the keys that do not fit. */
  state: Quoted<QuotedState>
  /** The space for the newest turn and all sections. */
  space: Size
}

/** The sections of a context before facts and turns are recalled. */
export type Sections = {
  /** The messages before the recalled part. */
  prefix: MeasuredMessage[]
  /** The newest turn, with the tool call and results that belong to it, and the turns between them. */
  newest: MeasuredMessage[]
  /** Manifest items, except those of profiles and turns. */
  omitted: ContextItem[]
  turns: ChosenTurns
  /** Profiles that are not in the context. */
  profiles: QuotedProfile[]
  /** Facts that are not in the context, most recently observed first. */
  facts: QuotedFact[]
  /** Says where the context contains a fact already. */
  fold: (fact: QuotedFact) => Repetition | null
  /** The space that is left. */
  space: Size
  /** The space that is left for relevant facts before any turn is recalled. */
  forFacts: Size
  /** Whether no turn precedes the window. */
  isWhole: boolean
}

/** Least size of the message of relevant facts: a few facts. */
const LEAST_FACTS = spaceOf(96, 1, 480)
/** The size of a recalled turn that is assumed if too few turns are known. */
const USUAL_TURN = { tokens: 64, chars: 256 }
/** Number of turns from which their mean size is computed. */
const KNOWN_TURNS = 8

/**
 * Returns the space for `k` recalled turns of the mean size of the given ones. Their mean is rounded up to a power of 2,
 * because the sections that precede the recalled turns are to keep their spaces from call to call.
 */
function needOfRecalled(k: number, { turns }: MeasuredTurns): Size {
  const rounded = (mean: number) => 2 ** Math.ceil(Math.log2(Math.max(1, mean)))
  const isKnown = turns.length >= KNOWN_TURNS
  const size = isKnown ? sizesOf(turns) : NOTHING
  const tokens = isKnown ? rounded(tokensOf(size) / turns.length) : USUAL_TURN.tokens
  const chars = isKnown ? rounded(size.chars / turns.length) : USUAL_TURN.chars
  return spaceOf(k * tokens, 1, k * chars)
}

/** Returns the space of each section. */
async function allotted(
  tokens: Tokens,
  material: ContextMaterial,
  { shares, recall, findFacts }: AssemblyRequest,
  { measured, newest, space, window }: Fixed & { window: ReturnType<typeof needOfWindow> },
): Promise<Record<Section, Size>> {
  const { facts, profiles } = material
  const summary = await needsOfSummaries(tokens, material.summaries)
  const shareOfFacts = partOf(space, shares.facts)
  const knownFacts = await demandOf(tokens, facts, factQuoting(facts, 'known'), shareOfFacts)
  const hasOtherFacts = !material.hasAllFacts || material.hasEndedFacts
  const hasMoreFacts = findFacts !== null && (hasOtherFacts || !fits(knownFacts, shareOfFacts))
  const kept = measured.kept.filter(({ isInstruction }) => !isInstruction)
  const needs = {
    profile: await demandOf(tokens, profiles, profileQuoting(profiles), space),
    facts: smaller(knownFacts, { ...shareOfFacts, messages: 1 }),
    relevant: hasMoreFacts ? larger({ ...partOf(space, shares.relevant), messages: 1 }, LEAST_FACTS) : NOTHING,
    pinned: sizesOf(kept),
    summary: summary.all,
    recalled: recall ? needOfRecalled(recall.k, measured) : NOTHING,
    recent: window.size,
  }
  const least = { summary: summary.shortest, relevant: LEAST_FACTS }
  const budget = { space, newest: sizesOf(newest), shares, needs, least }
  if (material.summaries.length === 0 && window.isAll) {
    const limits = allot({ ...budget, wholeFirst: true })
    if (fits(plus(window.size, budget.newest), limits.recent)) return limits
  }
  return allot({ ...budget, needs: { ...needs, recent: inStepsOf(space, window.size) }, wholeFirst: false })
}

/** Returns the facts with those that are stated as true before claims; within both, the newest first. */
const statedFirst = (facts: readonly QuotedFact[]): QuotedFact[] => [
  ...facts.filter(({ stated }) => stated),
  ...facts.filter(({ stated }) => !stated),
]

/** Returns the manifest items of facts that the context contains already. */
export async function repeatedItems(
  tokens: Tokens,
  repeated: ReadonlyMap<Repetition, readonly QuotedFact[]>,
): Promise<ContextItem[]> {
  const items: ContextItem[] = []
  for (const [where, facts] of repeated) {
    items.push(
      ...(await itemsOf(tokens, facts, factQuoting(facts, 'known'), { kind: 'FACT', reason: REPEATED[where] })),
    )
  }
  return items
}

async function tooLongItems(tokens: Tokens, { tooLong }: ContextMaterial): Promise<ContextItem[]> {
  if (tooLong.length === 0) return []
  const measured = await Promise.all(tooLong.map(async (each) => measureMessage(tokens, summaryMessage(each))))
  return [omittedItem('SUMMARY', measured, NO_SPACE_FOR_SUMMARIES)]
}

/** Fills the sections. */
export async function fillSections(
  tokens: Tokens,
  material: ContextMaterial,
  request: AssemblyRequest,
  fixed: Fixed,
): Promise<Sections> {
  const { measured, instructions, newest, systemPrompt } = fixed
  const positions = material.recent.map(({ position }) => position)
  const recentTurns = { ...request, positions, complete: material.complete }
  const window = needOfWindow(measured, recentTurns, fixed.space)
  const limits = await allotted(tokens, material, request, { ...fixed, window })
  const kept = { instructions, ...chooseKept(measured.kept, limits.pinned) }
  const chosen = chooseTurns(measured, kept, recentTurns, limits.recent)
  const profiles = await quoteThatFit(tokens, material.profiles, profileQuoting(material.profiles), limits.profile)
  const summaries = await fitSummaries(tokens, material.summaries, limits.summary)

  // A turn that was written between the call of the newest turn and its result follows the call.
  const others = [...chosen.before, ...chosen.window]
  const isAfterCall = ({ position }: MeasuredMessage) => position! > (newest[0]?.position ?? Infinity)
  const verbatim = new Set([...idsOf([...others, ...newest]), ...(fixed.answered ? [fixed.answered.id] : [])])
  let texts: Map<string, string> | null = null
  /** Built only if a fact has a source turn in the context. */
  const textOf = (id: string) =>
    (texts ??= new Map([...material.kept, ...material.recent].map((turn) => [turn.id, turn.text]))).get(id)
  const fold = createFolding({
    profiles: new Map(profiles.chosen.map(({ id, text }) => [id, text])),
    summaries: summaries.texts,
    turnText: (id) => (verbatim.has(id) ? textOf(id) : undefined),
  })
  const { kept: distinct, repeated } = foldFacts(fold, statedFirst(material.facts))
  const facts = await quoteThatFit(tokens, distinct, factQuoting(distinct, 'known'), limits.facts)
  const isKnown = new Set(facts.chosen)
  const isDistinct = new Set(distinct)
  const memory = [profiles.message, facts.message, ...summaries.messages].flatMap((each) => each ?? [])
  const spent = sum([sizesOf(memory), sizesOf(kept.taken), chosen.size])
  return {
    prefix: [...systemPrompt, ...memory, ...others.filter((each) => !isAfterCall(each))],
    newest: [...newest, ...others.filter(isAfterCall)].sort((a, b) => a.position! - b.position!),
    profiles: profiles.omitted,
    omitted: [
      ...(await repeatedItems(tokens, repeated)),
      ...summaries.omitted,
      ...(await tooLongItems(tokens, material)),
    ],
    turns: chosen,
    facts: material.facts.filter((fact) => isDistinct.has(fact) && !isKnown.has(fact)),
    fold,
    space: minus(fixed.space, spent),
    forFacts: limits.relevant,
    isWhole: chosen.isWhole,
  }
}
