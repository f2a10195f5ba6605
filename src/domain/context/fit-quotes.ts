// Fits profiles, facts and recalled turns into the space of their section, each kind as one message of quotes. Items
// that do not fit are listed in the manifest with their token counts.

import { fits, plus, sizeOf, tokensOf, NOTHING, type Size } from './budget.ts'
import type { ContextItem, Message } from './message.ts'
import { factsMessage, fenceFor, profileMessage, quoteProfile, type QuotedFact, type QuotedProfile } from './quote.ts'
import type { Tokens, MeasuredMessage } from './measure.ts'

type Quoting<T> = {
  /** Returns the text that an item adds to the message. It must not depend on the other items. */
  textOf(each: T): string
  /** Returns the message that quotes the items, given in order of preference; without items, only its fixed text. */
  toMessage(chosen: readonly T[]): Message
}

type Quoted<T> = {
  /** Null if no item fits. */
  message: MeasuredMessage | null
  /** Items that do not fit. */
  omitted: T[]
  omittedTokens: number
}

/** Returns the size of a text in JSON, with the line break that separates it from the text before. */
async function sizeOfText(tokens: Tokens, text: string): Promise<Size> {
  const counted = await tokens.count(JSON.stringify(`\n${text}`))
  return {
    OPENAI: counted,
    ANTHROPIC: counted,
    AI_SDK: counted,
    UI_MESSAGES: counted,
    messages: 0,
    chars: text.length + 1,
  }
}

/** Builds the message of the items that fit. Takes items in order of preference and skips each that does not fit. */
export async function quoteThatFit<T>(
  tokens: Tokens,
  all: readonly T[],
  { textOf, toMessage }: Quoting<T>,
  space: Size,
): Promise<Quoted<T>> {
  const chosen: T[] = []
  const omitted: T[] = []
  let omittedTokens = 0
  let taken = all.length > 0 ? await sizeOf(tokens, toMessage([])) : NOTHING
  for (const each of all) {
    const added = await sizeOfText(tokens, textOf(each))
    if (fits(plus(taken, added), space)) {
      chosen.push(each)
      taken = plus(taken, added)
    } else {
      omitted.push(each)
      omittedTokens += tokensOf(added)
    }
  }
  // The joined text may have more tokens than the sum of its parts. Measure the message and drop items until it fits.
  while (chosen.length > 0) {
    const message = toMessage(chosen)
    const size = await sizeOf(tokens, message)
    if (fits(size, space)) return { message: { ...message, size }, omitted, omittedTokens }
    const last = chosen.pop()!
    omitted.push(last)
    omittedTokens += tokensOf(await sizeOfText(tokens, textOf(last)))
  }
  return { message: null, omitted, omittedTokens }
}

/** At most one message, and manifest items for the sources that do not fit. */
export type QuotedSection = { messages: MeasuredMessage[]; omitted: ContextItem[] }

/**
 * Builds the message of the profiles that fit.
 * @param profiles in order of preference; the message keeps this order
 */
export async function fitProfiles(
  tokens: Tokens,
  profiles: readonly QuotedProfile[],
  space: Size,
): Promise<QuotedSection> {
  const fence = fenceFor(profiles.flatMap(({ name, text }) => [name, text]))
  const { message, omitted, omittedTokens } = await quoteThatFit(
    tokens,
    profiles,
    { textOf: (each) => quoteProfile(each, fence), toMessage: (chosen) => profileMessage(chosen, fence) },
    space,
  )
  return {
    messages: message ? [message] : [],
    omitted:
      omitted.length === 0
        ? []
        : [
            {
              kind: 'PROFILE',
              sourceIds: omitted.map(({ id }) => id),
              tokenCount: omittedTokens,
              included: false,
              reason: 'no space for more profiles',
            },
          ],
  }
}

/**
 * Builds the message of the facts that fit.
 * @param facts most recently observed first; the message contains them in reverse order
 * @param hasAll whether `facts` contains all facts; false if more exist than were read
 */
export async function fitFacts(
  tokens: Tokens,
  facts: readonly QuotedFact[],
  hasAll: boolean,
  space: Size,
): Promise<QuotedSection> {
  const fence = fenceFor(facts.map(({ text }) => text))
  const { message, omitted, omittedTokens } = await quoteThatFit(
    tokens,
    facts,
    { textOf: ({ text }) => text, toMessage: (chosen) => factsMessage(chosen.toReversed(), fence) },
    space,
  )
  const why = omitted.length > 0 ? 'no space for more facts' : `only the newest ${facts.length} facts are read`
  return {
    messages: message ? [message] : [],
    omitted:
      omitted.length === 0 && hasAll
        ? []
        : [
            {
              kind: 'FACT',
              sourceIds: omitted.map(({ id }) => id),
              tokenCount: omittedTokens,
              included: false,
              reason: hasAll || omitted.length === 0 ? why : `${why}; older facts were not read`,
            },
          ],
  }
}
