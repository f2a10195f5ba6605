// Fits profiles, facts and recalled turns into their space, each kind as one message of quotes. Items that do not fit
// are listed in the manifest with their token counts.

import { fits, plus, sizeOf, tokensOf, NOTHING, type Size } from './budget.ts'
import type { ContextItem, Message } from './message.ts'
import { factsMessage, fenceFor, profileMessage, quoteProfile, type QuotedFact, type QuotedProfile } from './quote.ts'
import type { Tokens, WeighedMessage } from './weigh.ts'

type Quoting<T> = {
  /** The text that an item adds to the message, whatever the other items are. */
  textOf(each: T): string
  /** The message of the items, given in order of preference; without items, its fixed text. */
  toMessage(chosen: readonly T[]): Message
}

type Quoted<T> = {
  /** Null if nothing fits. */
  message: WeighedMessage | null
  /** Items that do not fit. */
  passed: T[]
  passedTokens: number
}

/** The size of a text as JSON, as it is sent. */
async function sizeOfText(tokens: Tokens, text: string): Promise<Size> {
  const counted = await tokens.count(JSON.stringify(`\n${text}`))
  return { OPENAI: counted, ANTHROPIC: counted, AI_SDK: counted, messages: 0, chars: text.length + 1 }
}

/** Takes items in order of preference and skips each that does not fit. */
export async function quoteThatFit<T>(
  tokens: Tokens,
  all: readonly T[],
  { textOf, toMessage }: Quoting<T>,
  space: Size,
): Promise<Quoted<T>> {
  const chosen: T[] = []
  const passed: T[] = []
  let passedTokens = 0
  let taken = all.length > 0 ? await sizeOf(tokens, toMessage([])) : NOTHING
  for (const each of all) {
    const added = await sizeOfText(tokens, textOf(each))
    if (fits(plus(taken, added), space)) {
      chosen.push(each)
      taken = plus(taken, added)
    } else {
      passed.push(each)
      passedTokens += tokensOf(added)
    }
  }
  // Joined texts may rarely have more tokens than the sum of their own; so the message is measured and shortened.
  while (chosen.length > 0) {
    const message = toMessage(chosen)
    const size = await sizeOf(tokens, message)
    if (fits(size, space)) return { message: { ...message, size }, passed, passedTokens }
    const last = chosen.pop()!
    passed.push(last)
    passedTokens += tokensOf(await sizeOfText(tokens, textOf(last)))
  }
  return { message: null, passed, passedTokens }
}

/** At most one message, and manifest items for what does not fit. */
export type QuotedSection = { messages: WeighedMessage[]; left: ContextItem[] }

/** @param profiles the most important first; the message keeps this order */
export async function weighProfiles(
  tokens: Tokens,
  profiles: readonly QuotedProfile[],
  space: Size,
): Promise<QuotedSection> {
  const fence = fenceFor(profiles.flatMap(({ name, text }) => [name, text]))
  const { message, passed, passedTokens } = await quoteThatFit(
    tokens,
    profiles,
    { textOf: (each) => quoteProfile(each, fence), toMessage: (chosen) => profileMessage(chosen, fence) },
    space,
  )
  return {
    messages: message ? [message] : [],
    left:
      passed.length === 0
        ? []
        : [
            {
              kind: 'PROFILE',
              sourceIds: passed.map(({ id }) => id),
              tokens: passedTokens,
              included: false,
              reason: 'no space for more profiles',
            },
          ],
  }
}

/**
 * @param facts the last observed first; the message has them in reverse order
 * @param areAll whether there are no other facts
 */
export async function weighFacts(
  tokens: Tokens,
  facts: readonly QuotedFact[],
  areAll: boolean,
  space: Size,
): Promise<QuotedSection> {
  const fence = fenceFor(facts.map(({ text }) => text))
  const { message, passed, passedTokens } = await quoteThatFit(
    tokens,
    facts,
    { textOf: ({ text }) => text, toMessage: (chosen) => factsMessage(chosen.toReversed(), fence) },
    space,
  )
  const why = passed.length > 0 ? 'no space for more facts' : `only the newest ${facts.length} facts are read`
  return {
    messages: message ? [message] : [],
    left:
      passed.length === 0 && areAll
        ? []
        : [
            {
              kind: 'FACT',
              sourceIds: passed.map(({ id }) => id),
              tokens: passedTokens,
              included: false,
              reason: areAll || passed.length === 0 ? why : `${why}, nor for all facts before them`,
            },
          ],
  }
}
