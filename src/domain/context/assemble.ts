// From what was read to the context: what fits is chosen section by section, the rest is listed with the reason. It
// reads nothing itself; recalling is handed in, because what to recall depends on what stands there anyway.
//
// Invariants: the budget is kept, instructions and the newest turn stay, a tool's call and its results stay together,
// and the same material gives the same context.

import { BudgetTooSmall, InvalidInput } from '../../errors.ts'
import {
  fits,
  fullness,
  minus,
  openingSize,
  partOf,
  plus,
  spaceOf,
  sum,
  tokensOf,
  NOTHING,
  type Shares,
  type Size,
} from './budget.ts'
import { contentOf, textMessage, type Context, type ContextItem, type Message } from './message.ts'
import type { Perspective, Said } from './perspective.ts'
import type { QuotedFact, QuotedProfile } from './quote.ts'
import { STANDS_ANYWAY, weighRecalled, type Found } from './recalled.ts'
import { weighFacts, weighProfiles } from './remembered.ts'
import { idsOf, sizesOf, weigh, weighTurns, type Kept, type Tokens, type Weighed, type Weighing } from './weigh.ts'
import { windowStart } from './window.ts'

/** A summary as a context needs it. */
type Covering = { id: string; content: string; fromSeq: number; toSeq: number }

export type Material = {
  systemPrompt: string | null
  /** What is known of people, the most wanted first. */
  profiles: QuotedProfile[]
  /** What is known of the conversation and its people, the last observed first. */
  facts: QuotedFact[]
  /** Whether there are no other facts. */
  areAllFacts: boolean
  /** Of the oldest turns, oldest first. */
  summaries: Covering[]
  /** Summaries that are too long for the budget, so that the turns they cover were read, where nothing newer covers. */
  tooLong: Covering[]
  /** Turns that stand however old they are: instructions, pinned ones, those that no summary may cover. By place. */
  kept: (Said & { pinned: boolean })[]
  /** The newest turns that no summary covers, by place; some of them may be kept ones. */
  recent: Said[]
  /** Whether `recent` goes back to the first of them. */
  complete: boolean
  perspective: Perspective
}

export type Asked = {
  tokenBudget: number
  maxMessages: number | null
  maxChars: number | null
  recentTurns: number | null
  /** Whether the window is trimmed in steps; else the newest turns that fit are in it. */
  inSteps: boolean
  shares: Shares
  /**
   * What to recall, at most `k`; null for nothing. It is given the words of the newest turn said to the model, and the
   * ids of what stands in the context anyway.
   */
  recall: { k: number; find(newest: string | null, standing: ReadonlySet<string>): Promise<Found[]> } | null
}

const leftOut = (kind: ContextItem['kind'], weighed: readonly Weighed[], reason: string): ContextItem => ({
  kind,
  sourceIds: idsOf(weighed),
  tokens: tokensOf(sizesOf(weighed)),
  included: false,
  reason,
})

/** Why kept turns are not. */
const NO_SPACE = {
  PINNED: 'no space for older pinned turns',
  RECENT: 'no space for older turns that no summary covers',
}

/** Takes from the back, where the newer ones are, until one does not fit. */
function newestThatFit<T extends Weighed>(weighed: readonly T[], space: Size): { taken: T[]; left: T[] } {
  let from = weighed.length
  let taken = NOTHING
  while (from > 0 && fits(plus(taken, weighed[from - 1]!.size), space)) taken = plus(taken, weighed[--from]!.size)
  return { taken: weighed.slice(from), left: weighed.slice(0, from) }
}

/** The smaller of two spaces, measure by measure. */
const within = (a: Size, b: Size): Size =>
  Object.fromEntries(Object.keys(a).map((key) => [key, Math.min(a[key as keyof Size], b[key as keyof Size])])) as Size

/**
 * @throws BudgetTooSmall where not even instructions and the newest turn fit
 * @throws InvalidInput where they are more messages, or longer, than asked for
 */
export async function assemble(tokens: Tokens, material: Material, asked: Asked): Promise<Context> {
  const { shares, recall } = asked
  const items: ContextItem[] = []
  const all = spaceOf(asked.tokenBudget, asked.maxMessages ?? Infinity, asked.maxChars ?? Infinity)
  const weighing = await weighTurns(tokens, material.perspective, material.recent, material.kept)
  const { turns, standing } = weighing
  const newest = weighing.newest.map((index) => turns[index]!)
  const systemPrompt = material.systemPrompt?.trim()
    ? [
        await weigh(
          tokens,
          textMessage(
            { kind: 'SYSTEM_PROMPT', role: 'SYSTEM', sources: [], reason: "the conversation's system prompt" },
            material.systemPrompt,
          ),
        ),
      ]
    : []

  // What must be there.
  const instructions = standing.filter(({ isInstruction }) => isInstruction)
  const opening = [...turns, ...standing].some(({ role }) => role === 'ASSISTANT') ? await openingSize(tokens) : NOTHING
  const fixed = sum([opening, sizesOf(systemPrompt), sizesOf(instructions)])
  const newestSize = sizesOf(newest)
  const required = plus(fixed, newestSize)
  if (tokensOf(required) > asked.tokenBudget) throw new BudgetTooSmall(asked.tokenBudget, tokensOf(required))
  for (const [measure, path] of [
    ['messages', 'maxMessages'],
    ['chars', 'maxChars'],
  ] as const) {
    if (required[measure] > all[measure]) {
      throw InvalidInput.at(path, `is ${all[measure]}; instructions and the newest turn take ${required[measure]}`)
    }
  }

  // What may be, each section from its share and what those before it left.
  const space = minus(all, fixed)
  const upTo = (part: number) => partOf(recall ? minus(space, { ...NOTHING, messages: 1 }) : space, part)
  const besideNewest = minus(space, newestSize)
  const recalledShare = recall ? shares.recalled : 0
  const total = 1 - shares.recalled + recalledShare
  let spent = NOTHING
  /** What is left of that part for a section beside the newest turn. */
  const spaceUpTo = (part: number) => minus(within(upTo(part / total), besideNewest), spent)

  const profiles = await weighProfiles(tokens, material.profiles, spaceUpTo(shares.profile))
  spent = plus(spent, profiles.message?.size ?? NOTHING)
  const facts = await weighFacts(tokens, material.facts, material.areAllFacts, spaceUpTo(shares.profile + shares.facts))
  spent = plus(spent, facts.message?.size ?? NOTHING)
  const known = [profiles.message, facts.message].filter((each) => each !== null)
  items.push(...profiles.left, ...facts.left)

  const toMessage = (summary: Covering) =>
    weigh(
      tokens,
      textMessage(
        { kind: 'SUMMARY', role: 'SYSTEM', sources: [summary.id], reason: 'stands for the oldest turns' },
        `Summary of what was said before:\n${summary.content}`,
      ),
    )
  const summaries = await Promise.all(material.summaries.map(toMessage))
  const summarised = newestThatFit(summaries, minus(besideNewest, spent))
  const unsummarised = [...(await Promise.all(material.tooLong.map(toMessage))), ...summarised.left]
  if (unsummarised.length) items.push(leftOut('SUMMARY', unsummarised, 'no space for what the oldest turns come to'))
  spent = plus(spent, sizesOf(summarised.taken))

  const { taken: pinned, left: unpinned } = newestThatFit(
    standing.filter(({ isInstruction }) => !isInstruction),
    spaceUpTo(shares.profile + shares.facts + shares.summary + shares.pinned),
  )
  spent = plus(spent, sizesOf(pinned))
  const paid = new Map([...instructions, ...pinned].map((each) => [each.sources[0]!, each]))

  const windowSpace = minus(within(upTo((total - recalledShare) / total), space), spent)
  const { start, window, strays, taken } = chooseWindow(weighing, paid, material, asked, windowSpace)
  const inWindow = new Set(idsOf(window))
  const before = [...paid.values()]
    .filter(({ sources }) => !inWindow.has(sources[0]!))
    .sort((a, b) => a.place - b.place)
  const unkept = unpinned.filter(({ sources }) => !inWindow.has(sources[0]!))
  for (const kind of ['PINNED', 'RECENT'] as const) {
    const left = unkept.filter((each) => each.kind === kind)
    if (left.length) items.push(leftOut(kind, left, NO_SPACE[kind]))
  }
  const unkeptIds = new Set(idsOf(unkept))
  const older = turns.filter(
    (each, index) =>
      index < start
      && !weighing.newest.includes(index)
      && !paid.has(each.sources[0]!)
      && !unkeptIds.has(each.sources[0]!),
  )
  if (older.length || !material.complete) {
    const why =
      asked.recentTurns !== null && turns.length - start >= asked.recentTurns
        ? `before the recent turns that were asked for (${asked.recentTurns} at least)`
        : 'no space for older turns'
    items.push(leftOut('RECENT', older, material.complete ? why : `${why}; neither for all before them`))
  }
  if (strays.length) items.push(leftOut('RECENT', strays, 'results of tool calls that are not in the context'))

  const front = [...systemPrompt, ...known, ...summarised.taken, ...before, ...window]
  const used = sum([fixed, spent, taken])
  const standingIds = new Set(idsOf([...front, ...newest]))
  const recalled = recall
    ? await weighRecalled(
        tokens,
        await recall.find(newestWords(turns), standingIds),
        recall.k,
        standingIds,
        minus(all, used),
      )
    : null
  items.push(...(recalled?.left ?? []))
  return toContext(asked.tokenBudget, front, recalled?.message ?? null, newest, opening, items)
}

/** The window, the newest turn aside. What is paid already, or cannot stand, takes nothing there. */
function chooseWindow(
  { turns, newest, groupOf, isStray }: Weighing,
  paid: ReadonlyMap<string, Kept>,
  { recent, complete }: Material,
  { recentTurns, inSteps }: Asked,
  space: Size,
): { start: number; window: Weighed[]; strays: Weighed[]; taken: Size } {
  const isNewest = new Set(newest)
  const paidFor = (index: number) => paid.get(turns[index]!.sources[0]!)
  /** What the turns from that index on take, and the newest one. */
  const taking: Size[] = new Array(turns.length + 1).fill(sizesOf(newest.map((index) => turns[index]!)))
  for (let index = turns.length - 1; index >= 0; index--) {
    const group = groupOf(index)
    const isFree = isNewest.has(index) || paidFor(index) || isStray(index) || group[0] !== index
    const after = taking[index + 1]!
    taking[index] = isFree ? after : plus(after, sizesOf(group.map((member) => turns[member]!)))
  }
  const start = windowStart({
    places: recent.map(({ rootSeq }) => rootSeq),
    complete,
    turns: recentTurns,
    inSteps,
    fill: (from) => fullness(taking[from]!, space),
  })
  const window: Weighed[] = []
  const strays: Weighed[] = []
  for (let index = start; index < turns.length; index++) {
    if (isNewest.has(index)) continue
    const standsAnyway = paidFor(index)
    if (standsAnyway) window.push(standsAnyway)
    else if (isStray(index) || groupOf(index)[0]! < start) strays.push(turns[index]!)
    else window.push(turns[index]!)
  }
  return { start, window, strays, taken: taking[start]! }
}

/** What was last said to the model; null where nothing was. */
function newestWords(turns: readonly Message[]): string | null {
  const last = turns.findLast(({ role, parts }) => role === 'USER' && contentOf(parts).trim() !== '')
  return last ? contentOf(last.parts) : null
}

function toContext(
  tokenBudget: number,
  front: Weighed[],
  recalled: Weighed | null,
  newest: Weighed[],
  opening: Size,
  left: ContextItem[],
): Context {
  const weighed = [...front, ...(recalled ? [recalled] : []), ...newest]
  const opens = weighed.find(({ role }) => role !== 'SYSTEM')?.role === 'ASSISTANT'
  const messages = weighed.map(({ size, ...message }) => ({
    ...message,
    content: contentOf(message.parts),
    tokens: tokensOf(size),
  }))
  const total = (some: readonly Weighed[]) => tokensOf(plus(sizesOf(some), opens ? opening : NOTHING))
  return {
    messages,
    tokenBudget,
    tokens: total(weighed),
    truncated: left.some(({ reason }) => reason !== STANDS_ANYWAY),
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
    stablePrefixTokens: total(recalled ? front : weighed),
  }
}
