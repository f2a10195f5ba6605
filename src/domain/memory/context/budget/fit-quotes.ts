// Fits profiles, facts, shared state and quoted turns into a space, each kind as one message of quotes. Items that do not fit are
// listed in the manifest with their token counts.

import { fits, minus, plus, sizeOf, sizeOfVariant, spaceOf, sum, tokensOf, NOTHING, type Size } from './budget.ts'
import type { Tokens, MeasuredMessage } from './measure.ts'
import type { ContextItem, Message } from '../message.ts'
import {
  factsMessage,
  fenceFor,
  profileMessage,
  quoteProfile,
  stateMessage,
  type QuotedFact,
  type QuotedProfile,
  type QuotedState,
} from '../quote.ts'

type Quoting<T> = {
  /** Returns the text that an item adds to the message. It must not depend on the other items. */
  textOf(each: T): string
  /** Returns a number of tokens that an item needs at least, which costs less than counting. Undefined for none. */
  atLeast?(each: T): number
  /** Returns a text that the message contains once before all items with the same text; undefined for none. */
  headingOf?(each: T): string
  /** Returns the message that quotes the items, given in order of preference; without items, only its fixed text. */
  toMessage(chosen: readonly T[]): Message
}

export type Quoted<T> = {
  /** Null if no item fits. */
  message: MeasuredMessage | null
  chosen: T[]
  /** Items that do not fit. */
  omitted: T[]
}

/** Returns the estimated size of a text in the JSON of a message, with the line break that precedes it. */
export function sizeOfText(tokens: Tokens, text: string): Size | Promise<Size> {
  const counting = tokens.count(JSON.stringify(`\n${text}`).slice(1, -1))
  return typeof counting === 'number'
    ? spaceOf(counting, 0, text.length + 1)
    : counting.then((counted) => spaceOf(counted, 0, text.length + 1))
}

/**
 * Builds the message of the items that fit. Takes items in order of preference and skips each that does not fit. The
 * items are first estimated one by one; the estimate is higher than their size in the message, so what is left is tried
 * again until no item is added.
 */
export async function quoteThatFit<T>(
  tokens: Tokens,
  all: readonly T[],
  quoting: Quoting<T>,
  space: Size,
): Promise<Quoted<T>> {
  let quoted: Quoted<T> = { message: null, chosen: [], omitted: [...all] }
  if (all.length === 0) return quoted
  const empty = quoting.toMessage([])
  const base = { message: empty, size: await sizeOf(tokens, empty) }
  const tooLarge = new Set<T>()
  for (;;) {
    const left = minus(space, quoted.message?.size ?? base.size)
    const tried = { chosen: quoted.chosen, omitted: quoted.omitted.filter((each) => !tooLarge.has(each)) }
    const added = await estimatedToFit(tokens, tried, quoting, left)
    if (added.length === 0) return quoted
    // The estimate is rarely too low. Then the last items are dropped.
    for (; added.length > 0; tooLarge.add(added.pop()!)) {
      const chosen = new Set([...quoted.chosen, ...added])
      const message = quoting.toMessage(all.filter((each) => chosen.has(each)))
      const size = await sizeOfVariant(tokens, message, base)
      if (!fits(size, space)) continue
      const [inside, omitted] = [all.filter((each) => chosen.has(each)), all.filter((each) => !chosen.has(each))]
      quoted = { message: { ...message, size }, chosen: inside, omitted }
      break
    }
  }
}

/** Least number of tokens of a quoted item. Less space is not tried. */
const LEAST_TOKENS = 8

/** Returns the omitted items that fit into the space by their estimated sizes. */
async function estimatedToFit<T>(
  tokens: Tokens,
  { chosen, omitted }: Pick<Quoted<T>, 'chosen' | 'omitted'>,
  { textOf, headingOf, atLeast }: Quoting<T>,
  space: Size,
): Promise<T[]> {
  const added: T[] = []
  const headings = new Set(chosen.map((each) => headingOf?.(each)))
  let left = space
  for (const each of omitted) {
    if (left.OPENAI < LEAST_TOKENS) break
    if (atLeast && atLeast(each) > left.OPENAI) continue
    const heading = headingOf?.(each)
    const counting = sizeOfText(tokens, textOf(each))
    const own = counting instanceof Promise ? await counting : counting
    const size = heading === undefined || headings.has(heading) ? own : plus(own, await sizeOfText(tokens, heading))
    if (!fits(size, left)) continue
    left = minus(left, size)
    headings.add(heading)
    added.push(each)
  }
  return added
}

/** Returns the estimated size of a message of all items. Stops counting when it exceeds `limit`. */
export async function demandOf<T>(
  tokens: Tokens,
  all: readonly T[],
  { textOf, toMessage }: Quoting<T>,
  limit: Size,
): Promise<Size> {
  if (all.length === 0) return NOTHING
  let size = await sizeOf(tokens, toMessage([]))
  for (const each of all) {
    if (!fits(size, limit)) return size
    size = plus(size, await sizeOfText(tokens, textOf(each)))
  }
  return size
}

/** How profiles are quoted, with a fence for all of them. */
export function profileQuoting(profiles: readonly QuotedProfile[]): Quoting<QuotedProfile> {
  const fence = fenceFor(profiles.flatMap(({ name, text }) => [name, text]))
  return { textOf: (each) => quoteProfile(each, fence), toMessage: (chosen) => profileMessage(chosen, fence) }
}

/** How shared state is quoted, with a fence for all of it. */
export function stateQuoting(states: readonly QuotedState[]): Quoting<QuotedState> {
  const fence = fenceFor(states.map(({ text }) => text))
  return { textOf: ({ text }) => `${text},`, toMessage: (chosen) => stateMessage(chosen, fence) }
}

const oldestFirst = (facts: readonly QuotedFact[]) =>
  facts.toReversed().sort((a, b) => a.observedAt.getTime() - b.observedAt.getTime())

/**
 * How facts are quoted, with a fence for all of them: `known` facts oldest first, `relevant` ones in the given order.
 */
export function factQuoting(facts: readonly QuotedFact[], about: 'known' | 'relevant'): Quoting<QuotedFact> {
  const fence = fenceFor(facts.map(({ text }) => text))
  const ordered = about === 'known' ? oldestFirst : (chosen: readonly QuotedFact[]) => chosen
  return { textOf: ({ text }) => text, toMessage: (chosen) => factsMessage(ordered(chosen), fence, about) }
}

/** Returns one manifest item for all sources that are left out for the same reason; none without sources. */
export async function itemsOf<T extends { id: string }>(
  tokens: Tokens,
  sources: readonly T[],
  { textOf }: Pick<Quoting<T>, 'textOf'>,
  about: Pick<ContextItem, 'kind' | 'reason'>,
): Promise<ContextItem[]> {
  if (sources.length === 0) return []
  const sizes: Size[] = []
  for (const each of sources) sizes.push(await sizeOfText(tokens, textOf(each)))
  return [{ ...about, sourceIds: sources.map(({ id }) => id), tokenCount: tokensOf(sum(sizes)), included: false }]
}
