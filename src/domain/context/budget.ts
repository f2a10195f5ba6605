// What messages take, what there is, and how the sections share it.
//
// Counted is what is sent: the JSON of each rendered message, plus what providers add around one. That is more than
// they bill, by the JSON's own marks, so no way of counting finds more than the budget.

import type { TokenCounter } from '../../text/tokens.ts'
import { contentOf, type Message } from './message.ts'
import { FORMATS, OPENING_JSON, piecesOf, type Format } from './render.ts'

/** Tokens around a message: who speaks, where it begins and ends. */
export const PER_MESSAGE = 4

/** What something takes in each format, as messages, and in characters. */
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

/** Tokens in the format that takes most. */
export const tokensOf = (size: Size) => Math.max(size.OPENAI, size.ANTHROPIC, size.AI_SDK)

/** How much of the conversation is taken, by the measure that is scarcest; above 1 it does not fit. */
export function fullness(taken: Size, space: Size): number {
  let fullest = 0
  for (const measure of MEASURES) {
    if (taken[measure] > 0) fullest = Math.max(fullest, space[measure] > 0 ? taken[measure] / space[measure] : Infinity)
  }
  return fullest
}

export const fits = (taken: Size, space: Size) => MEASURES.every((measure) => taken[measure] <= space[measure])

/** All there is. */
export const spaceOf = (tokens: number, messages = Infinity, chars = Infinity): Size => ({
  OPENAI: tokens,
  ANTHROPIC: tokens,
  AI_SDK: tokens,
  messages,
  chars,
})

/**
 * What the sections may take of what instructions leave, as parts of 1 that make 1. Each may also take what those
 * before it left; the last gets all that is left then. The newest turn is paid from the recent ones' share, or whatever
 * else there is.
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

/** Tokens that a message takes besides its words: at least, and mostly at most. */
export const OVERHEAD = { least: 11, most: 40 }

/**
 * Those of the summaries that fit their share by their stored tokens, the newest ones first; what is left out is told,
 * and the turns it covers are read instead where no newer summary lies between.
 *
 * `before`: stored tokens of the profiles and of the facts that may stand before them.
 */
export function summariesThatFit<T extends { tokenCount: number }>(
  summaries: readonly T[],
  tokenBudget: number,
  { profile, facts, summary, recalled }: Shares,
  withRecall: boolean,
  before: { profiles: number; facts: number },
): { taken: T[]; left: T[] } {
  const all = tokenBudget / (withRecall ? 1 : 1 - recalled)
  const known = Math.min(before.profiles, all * profile)
  let space = all * (profile + facts + summary) - Math.min(known + before.facts, all * (profile + facts))
  let from = summaries.length
  while (from > 0 && (space -= summaries[from - 1]!.tokenCount + OVERHEAD.most) >= 0) from -= 1
  return { taken: summaries.slice(from), left: summaries.slice(0, from) }
}

/** Part of a space, in tokens and characters. Messages are few where they are limited, and so not shared out. */
export const partOf = (space: Size, part: number): Size =>
  each((measure) => (measure === 'messages' ? space.messages : Math.floor(space[measure] * part)))

/** What a message takes. Long ones are counted in a thread. */
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

/** Characters of what the message says: its words, and the JSON of what is not words. */
function charsOf({ parts }: Message): number {
  const others = parts.filter(({ type }) => type !== 'text')
  return contentOf(parts).length + others.reduce((sum, part) => sum + JSON.stringify(part).length, 0)
}

/** What Anthropic's rendering has besides the messages where the first of them is the model's. */
export async function openingSize(tokens: Pick<TokenCounter, 'count'>): Promise<Size> {
  return { ...NOTHING, ANTHROPIC: PER_MESSAGE + (await tokens.count(OPENING_JSON)) }
}
