// Of what is remembered, as much as fits: profiles, facts and recalled turns, each kind as one message of quotes. What
// does not fit is told, with its tokens.

import { fits, plus, sizeOf, tokensOf, NOTHING, type Size } from './budget.ts'
import type { ContextItem, Message } from './message.ts'
import { factsMessage, fenceFor, profileMessage, quoteProfile, type QuotedFact, type QuotedProfile } from './quote.ts'
import type { Tokens, WeighedMessage } from './weigh.ts'

type Quoting<T> = {
  /** What one adds to the message, whatever stands beside it. */
  textOf(each: T): string
  /** The message of those, in the order of preference; of none, what it says besides. */
  toMessage(chosen: readonly T[]): Message
}

type Quoted<T> = {
  /** null where nothing fits. */
  message: WeighedMessage | null
  passed: T[]
  /** Of what was passed over. */
  passedTokens: number
}

/** A text is counted as JSON, as all that is sent. */
async function sizeOfText(tokens: Tokens, text: string): Promise<Size> {
  const counted = await tokens.count(JSON.stringify(`\n${text}`))
  return { OPENAI: counted, ANTHROPIC: counted, AI_SDK: counted, messages: 0, chars: text.length + 1 }
}

/** Takes what fits, in the order of preference; what does not is passed over for what comes after it. */
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
  // Texts that meet may come to more tokens than they did alone; that is seldom, and seen here.
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

/** At most one message, and lines of the manifest for what does not fit. */
export type QuotedSection = { messages: WeighedMessage[]; left: ContextItem[] }

/** @param profiles the most wanted first, in which order they stand too */
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
              reason: 'no space for more of what is known of people',
            },
          ],
  }
}

/**
 * @param facts the last observed first; they stand the other way round
 * @param areAll whether there are no others
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
  const why = passed.length > 0 ? 'no space for more facts' : `only the newest ${facts.length} facts are looked at`
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
              reason: areAll || passed.length === 0 ? why : `${why}; neither for all before them`,
            },
          ],
  }
}
