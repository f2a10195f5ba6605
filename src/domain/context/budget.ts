// Sizes of messages, the budget, and the shares of its sections.
//
// A message's size is the token count of its rendered JSON plus a provider's overhead per message. JSON punctuation
// makes that more than providers bill, so a context never exceeds the budget, however the provider counts.

import type { TokenCounter } from '../../text/tokens.ts'
import { contentOf, type Message } from './message.ts'
import { FORMATS, OPENING_JSON, piecesOf, type Format } from './render.ts'

/** Tokens that providers add to each message for its role and its delimiters. */
export const PER_MESSAGE = 4

/** Size: tokens in each format, number of messages, and characters (UTF-16 units). */
export type Size = Record<Format, number> & { messages: number; chars: number }

const MEASURES = [...FORMATS, 'messages', 'chars'] as const

export const NOTHING: Size = { OPENAI: 0, ANTHROPIC: 0, AI_SDK: 0, messages: 0, chars: 0 }

const each = (size: (measure: keyof Size) => number): Size => ({
  OPENAI: size('OPENAI'),
  ANTHROPIC: size('ANTHROPIC'),
  AI_SDK: size('AI_SDK'),
  messages: size('messages'),
  chars: size('chars'),
})

export const plus = (a: Size, b: Size): Size => each((measure) => a[measure] + b[measure])
export const minus = (a: Size, b: Size): Size => each((measure) => a[measure] - b[measure])
export const sum = (sizes: Iterable<Size>): Size => [...sizes].reduce(plus, NOTHING)

/** Tokens in the format that needs the most. */
export const tokensOf = (size: Size) => Math.max(size.OPENAI, size.ANTHROPIC, size.AI_SDK)

/** The part of the space that is taken, by the scarcest measure; above 1 it does not fit. */
export function fullness(taken: Size, space: Size): number {
  let fullest = 0
  for (const measure of MEASURES) {
    if (taken[measure] > 0) fullest = Math.max(fullest, space[measure] > 0 ? taken[measure] / space[measure] : Infinity)
  }
  return fullest
}

export const fits = (taken: Size, space: Size) => MEASURES.every((measure) => taken[measure] <= space[measure])

/** The whole space of a budget. */
export const spaceOf = (tokens: number, messages = Infinity, chars = Infinity): Size => ({
  OPENAI: tokens,
  ANTHROPIC: tokens,
  AI_SDK: tokens,
  messages,
  chars,
})

/**
 * The sections' shares of the budget after instructions; they add up to 1. A section may also use what the sections
 * before it left. The newest turn counts towards the share of the recent turns, or towards any other space that is
 * left.
 */
export type Shares = {
  profile: number
  facts: number
  summary: number
  pinned: number
  recent: number
  recalled: number
}
export const DEFAULT_SHARES: Shares = {
  profile: 0.1,
  facts: 0.1,
  summary: 0.35,
  pinned: 0.1,
  recent: 0.15,
  recalled: 0.2,
}

/** Tokens of a message besides its text: the minimum, and a usual maximum. */
export const OVERHEAD = { least: 11, most: 40 }

/**
 * Chooses the newest summaries that fit their share by their stored token counts. The turns of a summary that does not
 * fit are read instead, unless a newer summary covers them.
 *
 * `before`: stored token counts of the profiles and facts that may precede the summaries.
 */
export function summariesThatFit<T extends { tokenCount: number }>(
  summaries: readonly T[],
  tokenBudget: number,
  { profile, facts, summary, recalled }: Shares,
  withRecall: boolean,
  before: { profiles: number; facts: number },
): { taken: T[]; left: T[] } {
  const all = tokenBudget / (withRecall ? 1 : 1 - recalled)
  const profiles = Math.min(before.profiles, all * profile)
  let space = all * (profile + facts + summary) - Math.min(profiles + before.facts, all * (profile + facts))
  let from = summaries.length
  while (from > 0 && (space -= summaries[from - 1]!.tokenCount + OVERHEAD.most) >= 0) from -= 1
  return { taken: summaries.slice(from), left: summaries.slice(0, from) }
}

/** Part of a space, in tokens and characters. The number of messages is not divided: a limit on it is usually small. */
export const partOf = (space: Size, part: number): Size =>
  each((measure) => (measure === 'messages' ? space.messages : Math.floor(space[measure] * part)))

/** The size of a message. Long messages are counted in a thread. */
export async function sizeOf(
  tokens: Pick<TokenCounter, 'count'>,
  message: Message,
  unanswered: ReadonlySet<string> = new Set(),
): Promise<Size> {
  const size = { ...NOTHING, messages: 1, chars: charsOf(message) }
  for (const format of FORMATS) {
    for (const piece of piecesOf(message, format, unanswered)) {
      const counted = tokens.count(piece)
      size[format] += PER_MESSAGE + (typeof counted === 'number' ? counted : await counted)
    }
  }
  return size
}

/** Characters of a message: its text, and the JSON of its other parts. */
function charsOf({ parts }: Message): number {
  const others = parts.filter(({ type }) => type !== 'text')
  return contentOf(parts).length + others.reduce((sum, part) => sum + JSON.stringify(part).length, 0)
}

/** The size of the message that Anthropic's rendering starts with if the first message is the assistant's. */
export async function openingSize(tokens: Pick<TokenCounter, 'count'>): Promise<Size> {
  return { ...NOTHING, ANTHROPIC: PER_MESSAGE + (await tokens.count(OPENING_JSON)) }
}
