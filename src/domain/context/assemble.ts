// Assembles a context from its material, section by section. The manifest lists items that do not fit, with the reason.
// Does no I/O: the caller passes a function that searches for turns to recall. It is called last, because it needs the
// ids of the sources that are already included.
//
// Invariants: the budget is never exceeded; the system prompt, the newest turn and the turn
// to answer are always included; instructions are
// included up to their share of the budget, the oldest first; a tool call and its results stay together; the same
// material and recalled turns give the same context.

import { BudgetTooSmall, InvalidInput } from '../../errors.ts'
import { createYield } from '../../yield.ts'
import { endingWith, measureAnswered, type AnsweredTurn } from './answered.ts'
import { allot } from './allotment.ts'
import {
  INSTRUCTION_SHARE,
  minus,
  NOTHING,
  openingSize,
  partOf,
  plus,
  spaceOf,
  sum,
  tokensOf,
  type Shares,
  type Size,
} from './budget.ts'
import { chooseInstructions, chooseKept, chooseTurns } from './choose-turns.ts'
import { contentOf, textMessage, type Context, type ContextItem, type Message } from './message.ts'
import { matchCalls, type Perspective, type ContextTurn } from './perspective.ts'
import { summaryMessage, type RecalledTurn, type QuotedFact, type QuotedProfile } from './quote.ts'
import { fitRecalled } from './recalled.ts'
import { fitFacts, fitProfiles } from './fit-quotes.ts'
import { needsOpening, toContext } from './to-context.ts'
import {
  idsOf,
  omittedItem,
  newestThatFit,
  sizesOf,
  measureMessage,
  measureTurns,
  type Tokens,
  type MeasuredMessage,
} from './measure.ts'

/** A current summary of the turns with positions `fromPosition` to `toPosition`, both included. */
type CoveringSummary = { id: string; content: string; fromPosition: number; toPosition: number }

export type ContextMaterial = {
  systemPrompt: string | null
  /** Profiles of people in the conversation, the owner's first. */
  profiles: QuotedProfile[]
  /** Facts of the conversation and about its people, most recently observed first. */
  facts: QuotedFact[]
  /** Whether `facts` contains every fact; false if more exist than were read. */
  hasAllFacts: boolean
  /** Summaries of the oldest turns, oldest first. */
  summaries: CoveringSummary[]
  /**
   * The older summaries that do not fit into the budget, oldest first. If `summaries` is empty, `recent` may contain
   * the turns that they cover.
   */
  tooLong: CoveringSummary[]
  /**
   * Kept turns, which are read regardless of age: instructions, pinned turns, and turns that summaries never cover.
   * Ascending by position.
   */
  kept: (ContextTurn & { pinned: boolean })[]
  /**
   * The newest turns after those that `summaries` cover; the newest of all turns if all may fit without summaries. The
   * newest turn is present even if a summary covers it. Ascending by position. May contain kept turns.
   */
  recent: ContextTurn[]
  /** Whether `recent` contains all of these turns; false if older ones were not read. */
  complete: boolean
  /** Ids of turns that are omitted because their stored content cannot be read. */
  damaged: string[]
  /** The turn to answer, which has content; null for the newest turn. May be in `recent` or `kept`, too. */
  answered: ContextTurn | null
  /** Whether `summaries` is not empty and `recent` contains all turns, with content, also those that `summaries` cover. */
  isWhole: boolean
  perspective: Perspective
}

export type AssemblyRequest = {
  tokenBudget: number
  /** Maximum number of messages; null for no limit. */
  maxMessages: number | null
  /** Maximum length of all messages together, in UTF-16 units; null for no limit. */
  maxChars: number | null
  /** Number of newest turns to include if they fit (window.ts); null for as many as fit. */
  recentTurns: number | null
  /** Whether the window is trimmed in steps (window.ts). If not, it has as many turns as fit, up to `recentTurns`. */
  inSteps: boolean
  shares: Shares
  /**
   * Finds turns to quote, best first; at most `k` of them are quoted. Null for no recall. `addressed` is the turn to
   * answer or, if none is given, the newest turn addressed to the model; null for none; `included` contains the ids of the sources already in the context.
   */
  recall: {
    k: number
    find(addressed: AddressedTurn | null, included: ReadonlySet<string>): Promise<RecalledTurn[]>
  } | null
}

/** A turn that the model answers: it has text. If it is not given, it is rendered with the role USER. */
export type AddressedTurn = { id: string; text: string }

/** The sections of a context before turns are recalled. */
type Sections = {
  /** The messages before the recalled turns. */
  prefix: MeasuredMessage[]
  /** The newest turn, with the tool call and results that belong to it, and the turns between them. */
  newest: MeasuredMessage[]
  omitted: ContextItem[]
  /** The space that is left for recalled turns. */
  space: Size
  /** The size of the user message that Anthropic's rendering may insert first (`openingSize`). */
  opening: Size
  /** The turn to answer; null if that is the newest turn. */
  answered: AnsweredTurn | null
  /** The turn to answer if it has text or, if no turn is given, the newest turn addressed to the model; or null. */
  addressed: AddressedTurn | null
  /** Whether no turn precedes the window. */
  isWhole: boolean
}

/**
 * Builds the context and its manifest. If all turns of the conversation fit, they are included instead of summaries, so
 * that a new summary does not change the prefix of the conversation's contexts.
 * @throws BudgetTooSmall if the system prompt, the newest turn and the turn to answer exceed the token budget
 * @throws InvalidInput if they exceed maxMessages or maxChars
 */
export async function assemble(tokens: Tokens, material: ContextMaterial, request: AssemblyRequest): Promise<Context> {
  const { recall } = request
  const { summaries, recent } = material
  const through = summaries.at(-1)?.toPosition ?? 0
  let sections = material.isWhole
    ? await fillSections(tokens, { ...material, summaries: [], tooLong: [] }, request)
    : null
  if (!sections?.isWhole) {
    sections = await fillSections(tokens, { ...material, recent: uncovered(recent, through) }, request)
  }
  const { prefix, newest, opening, omitted, space, answered } = sections
  const included = new Set([...idsOf([...prefix, ...newest]), ...(answered ? [answered.id] : [])])
  const recalled = recall
    ? await fitRecalled(tokens, await recall.find(sections.addressed, included), recall.k, included, space)
    : { messages: [], omitted: [] }
  const ending = answered ? endingWith(answered, [...prefix, ...newest]) : []
  return toContext(
    request.tokenBudget,
    { prefix, recalled: recalled.messages, newest: [...newest, ...ending] },
    opening,
    [...damagedItems(material), ...omitted, ...recalled.omitted],
  )
}

/** Returns the manifest item of the turns whose content cannot be read. Their size is unknown. */
const damagedItems = ({ damaged }: ContextMaterial): ContextItem[] =>
  damaged.length === 0
    ? []
    : [{ kind: 'RECENT', sourceIds: damaged, tokenCount: 0, included: false, reason: 'the stored content is damaged' }]

/** Returns the turns after a position, and in any case the newest turn with its tool call and results. */
function uncovered(recent: readonly ContextTurn[], through: number): ContextTurn[] {
  const newest = matchCalls(recent).groups.get(recent.length - 1)
  return recent.filter(({ position }, index) => position > through || newest?.includes(index))
}

/** Fills all sections except the recalled turns, in order. @throws as `assemble` */
async function fillSections(tokens: Tokens, material: ContextMaterial, request: AssemblyRequest): Promise<Sections> {
  const { shares, recall } = request
  const yieldIfDue = createYield()
  const all = spaceOf(request.tokenBudget, request.maxMessages ?? Infinity, request.maxChars ?? Infinity)
  const measured = await measureTurns(tokens, material.perspective, material.recent, material.kept)
  await yieldIfDue()
  const { turns, kept } = measured
  const newest = measured.newest.map((index) => turns[index]!)
  const newestSize = sizesOf(newest)

  const systemPrompt = await measureSystemPrompt(tokens, material.systemPrompt)
  const opening = [...turns, ...kept].some(({ role }) => role === 'ASSISTANT') ? await openingSize(tokens) : NOTHING
  const isNewest = material.answered === null || material.answered.id === material.recent.at(-1)?.id
  const answered = isNewest ? null : await measureAnswered(tokens, material.perspective, material.answered!)
  const ending = answered ? endingWith(answered, newest) : []
  const required = sum([sizesOf(systemPrompt), newestSize, sizesOf(ending)])
  checkRequired(request, needsOpening(newest) ? plus(required, opening) : required, all, answered !== null)
  // A turn to answer among the newest turns is quoted if other turns follow it, which may be chosen below.
  const answeredSize = answered ? sizesOf(ending.length > 0 ? ending : [answered.short]) : NOTHING
  const needed = sum([sizesOf(systemPrompt), newestSize, answeredSize])
  // Space for the opening is reserved even if the first message does not need it. So the limits of other sections may
  // be negative; these sections are then empty.
  const instructions = chooseInstructions(kept, partOf(minus(all, plus(needed, opening)), INSTRUCTION_SHARE))
  const fixed = sum([opening, sizesOf(systemPrompt), sizesOf(instructions.taken), answeredSize])

  const limits = allot({ all, fixed, newest: newestSize, shares, withRecall: recall !== null })
  let spent = NOTHING
  const spend = (messages: readonly MeasuredMessage[]) => {
    spent = plus(spent, sizesOf(messages))
  }
  const profiles = await fitProfiles(tokens, material.profiles, minus(limits.profile, spent))
  spend(profiles.messages)
  const facts = await fitFacts(tokens, material.facts, material.hasAllFacts, minus(limits.facts, spent))
  spend(facts.messages)
  const summaries = await fitSummaries(tokens, material, minus(limits.summary, spent))
  spend(summaries.messages)
  const chosenKept = { instructions, ...chooseKept(kept, minus(limits.pinned, spent)) }
  spend(chosenKept.taken)
  const chosen = chooseTurns(
    measured,
    chosenKept,
    { ...request, positions: material.recent.map(({ position }) => position), complete: material.complete },
    minus(limits.window, spent),
  )
  await yieldIfDue()
  // A turn that was written between the call of the newest turn and its result follows the call.
  const others = [...chosen.before, ...chosen.window]
  const isAfterCall = ({ position }: MeasuredMessage) => position! > (newest[0]?.position ?? Infinity)
  return {
    prefix: [
      ...systemPrompt,
      ...profiles.messages,
      ...facts.messages,
      ...summaries.messages,
      ...others.filter((each) => !isAfterCall(each)),
    ],
    newest: [...newest, ...others.filter(isAfterCall)].sort((a, b) => a.position! - b.position!),
    omitted: [...profiles.omitted, ...facts.omitted, ...summaries.omitted, ...chosen.omitted],
    space: minus(all, sum([fixed, spent, chosen.size])),
    opening,
    answered,
    addressed: material.answered ? addressedBy(material.answered) : newestAddressed(turns),
    isWhole: chosen.isWhole,
  }
}

/** Returns the message of the system prompt; an empty array if there is no prompt. */
async function measureSystemPrompt(tokens: Tokens, systemPrompt: string | null): Promise<MeasuredMessage[]> {
  if (!systemPrompt?.trim()) return []
  const source = { sourceIds: [], reason: "the conversation's system prompt" }
  return [await measureMessage(tokens, textMessage({ kind: 'SYSTEM_PROMPT', role: 'SYSTEM', ...source }, systemPrompt))]
}

/** Throws if the system prompt, the newest turn, and a turn to answer that `answersEarlier` it exceed a limit. */
function checkRequired({ tokenBudget }: AssemblyRequest, required: Size, all: Size, answersEarlier: boolean): void {
  const what = answersEarlier
    ? 'the system prompt, the turn to answer and the newest turn'
    : 'the system prompt and the newest turn'
  if (tokensOf(required) > tokenBudget) throw new BudgetTooSmall(tokenBudget, tokensOf(required), what)
  for (const [measure, path] of [
    ['messages', 'maxMessages'],
    ['chars', 'maxChars'],
  ] as const) {
    if (required[measure] <= all[measure]) continue
    throw InvalidInput.at(path, `is ${all[measure]}; ${what} need ${required[measure]}`)
  }
}

/** Returns the messages of the newest summaries that fit, and one manifest item for all others. */
async function fitSummaries(
  tokens: Tokens,
  { summaries, tooLong }: ContextMaterial,
  space: Size,
): Promise<{ messages: MeasuredMessage[]; omitted: ContextItem[] }> {
  const toMessage = async (summary: CoveringSummary) => measureMessage(tokens, summaryMessage(summary))
  const { taken, omitted } = newestThatFit(await Promise.all(summaries.map(toMessage)), space)
  const all = [...(await Promise.all(tooLong.map(toMessage))), ...omitted]
  const reason = 'no space for summaries of the oldest turns'
  return { messages: taken, omitted: all.length ? [omittedItem('SUMMARY', all, reason)] : [] }
}

/** Returns the turn to answer; null if it has no text. */
const addressedBy = ({ id, text }: ContextTurn): AddressedTurn | null => (text.trim() === '' ? null : { id, text })

/** Returns the newest turn addressed to the model; null if there is none. */
function newestAddressed(turns: readonly Message[]): AddressedTurn | null {
  const last = turns.findLast(({ role, parts }) => role === 'USER' && contentOf(parts).trim() !== '')
  return last ? { id: last.sourceIds[0]!, text: contentOf(last.parts) } : null
}
