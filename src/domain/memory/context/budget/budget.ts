// Sizes of messages, the budget, and the shares of its sections.
//
// A message is rendered as one or more provider messages or blocks. Its size is the sum of the token counts of their
// JSON, plus TOKENS_PER_MESSAGE for each. Because JSON adds punctuation, the sum is larger than the count that a
// provider bills, so the provider's count is within the budget, too.

import type { TokenCounter } from '../../../../text/tokens.ts'
import type { ContentPart } from '../../../turn/content.ts'
import { imageTokensOf } from '../../../turn/parts/part-tokens.ts'
import { contentOf, type Message } from '../message.ts'
import { FORMATS, OPENING_JSON, piecesOf, type Format } from '../render.ts'

/** Tokens that providers add to each message for its role and its delimiters. */
export const TOKENS_PER_MESSAGE = 4

/** Number of tokens in each format, number of messages, and length in UTF-16 units. */
export type Size = Record<Format, number> & { messages: number; chars: number }

const MEASURES = [...FORMATS, 'messages', 'chars'] as const

export const NOTHING: Size = { OPENAI: 0, ANTHROPIC: 0, AI_SDK: 0, UI_MESSAGES: 0, messages: 0, chars: 0 }

// Written out, because a context adds and compares hundreds of sizes, and reading a measure by its name takes ten times
// as long.
export const plus = (a: Size, b: Size): Size => ({
  OPENAI: a.OPENAI + b.OPENAI,
  ANTHROPIC: a.ANTHROPIC + b.ANTHROPIC,
  AI_SDK: a.AI_SDK + b.AI_SDK,
  UI_MESSAGES: a.UI_MESSAGES + b.UI_MESSAGES,
  messages: a.messages + b.messages,
  chars: a.chars + b.chars,
})
export const minus = (a: Size, b: Size): Size => ({
  OPENAI: a.OPENAI - b.OPENAI,
  ANTHROPIC: a.ANTHROPIC - b.ANTHROPIC,
  AI_SDK: a.AI_SDK - b.AI_SDK,
  UI_MESSAGES: a.UI_MESSAGES - b.UI_MESSAGES,
  messages: a.messages - b.messages,
  chars: a.chars - b.chars,
})
export const sum = (sizes: Iterable<Size>): Size => [...sizes].reduce(plus, NOTHING)

/** Returns the number of tokens in the format that needs the most. */
export const tokensOf = (size: Size) => Math.max(size.OPENAI, size.ANTHROPIC, size.AI_SDK, size.UI_MESSAGES)

/** Returns the greatest fraction of the space that is taken in any measure; above 1 if the size does not fit. */
export function fullness(taken: Size, space: Size): number {
  let fullest = 0
  for (const measure of MEASURES) {
    if (taken[measure] > 0) fullest = Math.max(fullest, space[measure] > 0 ? taken[measure] / space[measure] : Infinity)
  }
  return fullest
}

export const fits = (taken: Size, space: Size): boolean =>
  taken.OPENAI <= space.OPENAI
  && taken.ANTHROPIC <= space.ANTHROPIC
  && taken.AI_SDK <= space.AI_SDK
  && taken.UI_MESSAGES <= space.UI_MESSAGES
  && taken.messages <= space.messages
  && taken.chars <= space.chars

/** More messages and characters than any context has. Finite, so that sizes can be subtracted from it. */
const UNLIMITED = 2 ** 50

/** Returns the space of a budget. `chars` is a number of UTF-16 units. */
export const spaceOf = (tokens: number, messages = UNLIMITED, chars = UNLIMITED): Size => ({
  OPENAI: tokens,
  ANTHROPIC: tokens,
  AI_SDK: tokens,
  UI_MESSAGES: tokens,
  messages,
  chars,
})

/** Returns the smaller value of each measure. */
export const smaller = (a: Size, b: Size): Size => combined(a, b, Math.min)
/** Returns the larger value of each measure. */
export const larger = (a: Size, b: Size): Size => combined(a, b, Math.max)

const combined = (a: Size, b: Size, choose: (x: number, y: number) => number): Size => ({
  OPENAI: choose(a.OPENAI, b.OPENAI),
  ANTHROPIC: choose(a.ANTHROPIC, b.ANTHROPIC),
  AI_SDK: choose(a.AI_SDK, b.AI_SDK),
  UI_MESSAGES: choose(a.UI_MESSAGES, b.UI_MESSAGES),
  messages: choose(a.messages, b.messages),
  chars: choose(a.chars, b.chars),
})

/**
 * The sections' shares of the space that remains after the system prompt and the instructions; they add up to 1. A
 * section that needs less leaves the rest to the others (allotment.ts). The newest turn counts as a recent turn; if it
 * is larger than their share, it reduces the space of the other sections.
 */
export type Shares = {
  profile: number
  /** Facts that precede the turns, whatever the query. */
  facts: number
  summary: number
  pinned: number
  recent: number
  /** Facts that are relevant to the query. */
  relevant: number
  recalled: number
}
export const DEFAULT_SHARES: Shares = {
  profile: 0.1,
  facts: 0.05,
  summary: 0.2,
  pinned: 0.1,
  recent: 0.2,
  relevant: 0.1,
  recalled: 0.25,
}

/**
 * Maximum fraction of the space after the system prompt and the newest turn that all instructions together may use.
 * Without this limit, every context with a budget smaller than one long instruction would fail.
 */
export const INSTRUCTION_SHARE = 0.5

/**
 * Maximum fraction of the space after the system prompt, the newest turn and the instructions that shared state may use.
 * It is taken before the shares of the sections, so that contexts without state do not depend on it.
 */
export const STATE_SHARE = 0.2
/** Low estimate of the bytes of JSON for which a tokenizer counts one token. */
export const STATE_BYTES_PER_TOKEN = 2

/** Minimum number of tokens of a message in addition to its text. */
export const MESSAGE_OVERHEAD = 11
/**
 * Returns a fraction of a space's tokens and characters. The number of messages is not divided, because its limit is
 * usually small.
 */
export const partOf = (space: Size, fraction: number): Size => ({
  OPENAI: Math.floor(space.OPENAI * fraction),
  ANTHROPIC: Math.floor(space.ANTHROPIC * fraction),
  AI_SDK: Math.floor(space.AI_SDK * fraction),
  UI_MESSAGES: Math.floor(space.UI_MESSAGES * fraction),
  messages: space.messages,
  chars: Math.floor(space.chars * fraction),
})

/** Returns the size of a message. Long messages are counted in a worker thread. `unanswered`: see piecesOf. */
export async function sizeOf(
  tokens: Pick<TokenCounter, 'count'>,
  message: Message,
  unanswered: ReadonlySet<string> = new Set(),
): Promise<Size> {
  const size = { ...NOTHING, messages: 1, chars: charsOf(message) }
  // Providers get images in messages of users only.
  const images = message.role === 'USER' ? imageTokensOf(message.parts) : 0
  // Several formats often have the same piece, for example for text without a name: count it once.
  const counts = new Map<string, number>()
  for (const format of FORMATS) {
    for (const piece of piecesOf(message, format, unanswered)) {
      let count = counts.get(piece)
      if (count === undefined) {
        const counting = tokens.count(piece)
        counts.set(piece, (count = typeof counting === 'number' ? counting : await counting))
      }
      size[format] += TOKENS_PER_MESSAGE + count
    }
    size[format] += images
  }
  return size
}

/**
 * Returns the size of a message that differs from `base` only inside its text: both texts begin and end with the same
 * words, and have no other parts. Counts the tokens of one format, because the formats add the same tokens to both.
 */
export async function sizeOfVariant(
  tokens: Pick<TokenCounter, 'count'>,
  message: Message,
  base: { message: Message; size: Size },
): Promise<Size> {
  const pieces = piecesOf(message, 'OPENAI', new Set())
  let counted = 0
  for (const piece of pieces) counted += (await tokens.count(piece)) + TOKENS_PER_MESSAGE
  return plus(base.size, spaceOf(counted - base.size.OPENAI, 0, charsOf(message) - charsOf(base.message)))
}

/** Returns the part without the fields that are not sent to providers. */
function sentPart(part: ContentPart): object {
  if (part.type === 'file') return { ...part, attachmentId: undefined, attachment: undefined }
  if (part.type !== 'toolResult') return part
  return { ...part, callTurnId: undefined, callPosition: undefined, approvalId: undefined }
}

/** Returns the length of a message's text and of the JSON of its other parts, in UTF-16 units. */
function charsOf({ parts }: Message): number {
  const otherParts = parts.filter(({ type }) => type !== 'text')
  return contentOf(parts).length + otherParts.reduce((sum, part) => sum + JSON.stringify(sentPart(part)).length, 0)
}

/** Returns the size of the user message that Anthropic's rendering inserts if the first message is the assistant's. */
export async function openingSize(tokens: Pick<TokenCounter, 'count'>): Promise<Size> {
  return { ...NOTHING, ANTHROPIC: TOKENS_PER_MESSAGE + (await tokens.count(OPENING_JSON)) }
}
