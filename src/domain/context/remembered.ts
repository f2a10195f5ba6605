// Fits profiles, facts and recalled turns into their space, each kind as one message of quotes. Items that do not fit
// are listed in the manifest with their token counts.

import { fits, plus, sizeOf, tokensOf, NOTHING, type Size } from './budget.ts'
import type { ContextItem, Message } from './message.ts'
import { factsMessage, fenceFor, profileMessage, quoteProfile, type QuotedFact, type QuotedProfile } from './quote.ts'
import type { Tokens, WeighedMessage } from './weigh.ts'

type Quoting<T> = {
  /** Returns the text that an item adds to the message. It must not depend on the other items. */
  textOf(each: T): string
  /** Returns the message that quotes the items, given in order of preference; without items, only its fixed text. */
  toMessage(chosen: readonly T[]): Message
}

type Quoted<T> = {
  /** Null if nothing fits. */
  message: WeighedMessage | null
  /** Items that do not fit. */
  passed: T[]
  passedTokens: number
}

/** Returns the size of a text in JSON, with the line break that separates it from the text before. */
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
  // The joined text may have more tokens than its parts together. Measure the message and drop items until it fits.
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

/** At most one message, and manifest items for the sources that do not fit. */
export type QuotedSection = { messages: WeighedMessage[]; left: ContextItem[] }

/**
 * Builds the message of the profiles that fit.
 * @param profiles the most important first; the message keeps this order
 */
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
 * Builds the message of the facts that fit.
 * @param facts most recently observed first; the message has them in reverse order
 * @param areAll whether `facts` contains all facts; false if there are more than are read
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
              reason: areAll || passed.length === 0 ? why : `${why}; facts before them were not read`,
            },
          ],
  }
}
