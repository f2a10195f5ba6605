// The recalled turns that fit, as one message: the best of them, in the order in which they were said.

import type { TokenCounter } from '../../providers/tokens.ts'
import { fits, plus, sizeOf, tokensOf, NOTHING, type Size } from './budget.ts'
import type { ContextItem, Message } from './message.ts'
import { fenceFor, quote, recallMessage, type Quotable } from './quote.ts'

/** A recalled turn. */
export type Found = Quotable

/** Why a recalled turn is not quoted. */
export const STANDS_ANYWAY = 'stands in the context anyway'

const inOrder = (found: readonly Found[]) =>
  found.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1))

/** What a quote adds to the message, whatever stands beside it: its text is counted as JSON, as all that is sent. */
async function addedBy(tokens: Pick<TokenCounter, 'count'>, found: Found, fence: string): Promise<Size> {
  const text = `\n${quote(found, fence)}`
  const counted = await tokens.count(JSON.stringify(text))
  return { OPENAI: counted, ANTHROPIC: counted, AI_SDK: counted, messages: 0, chars: text.length }
}

/**
 * @param found best first
 * @param standing ids of the turns that are in the context already
 */
export async function weighRecalled(
  tokens: Pick<TokenCounter, 'count'>, found: readonly Found[], k: number, standing: ReadonlySet<string>, room: Size,
): Promise<{ message: (Message & { size: Size }) | null; left: ContextItem[] }> {
  const left: ContextItem[] = []
  const leaveOut = (some: readonly Found[], cost: number, reason: string) => {
    if (some.length === 0) return
    left.push({ kind: 'RECALLED', sourceIds: some.map(({ id }) => id), tokens: cost, included: false, reason })
  }
  const news = found.filter(({ id }) => !standing.has(id)).slice(0, k)
  leaveOut(found.slice(0, k).filter(({ id }) => standing.has(id)), 0, STANDS_ANYWAY)

  const fence = fenceFor(news.flatMap(({ name, text }) => [name, text]))
  const quotes: Found[] = []
  const passed: Found[] = []
  let passedTokens = 0
  let taken = await sizeOf(tokens, recallMessage([], fence))
  for (const each of news) {
    const added = await addedBy(tokens, each, fence)
    if (fits(plus(taken, added), room)) {
      quotes.push(each)
      taken = plus(taken, added)
    } else {
      passed.push(each)
      passedTokens += tokensOf(added)
    }
  }
  // Texts that meet may come to more tokens than they did alone; that is seldom, and seen here.
  let message: Message | null = null
  let size = NOTHING
  while (quotes.length > 0) {
    message = recallMessage(inOrder(quotes), fence)
    size = await sizeOf(tokens, message)
    if (fits(size, room)) break
    passed.push(quotes.pop()!)
    message = null
  }
  leaveOut(passed, passedTokens, 'no room for more of what was recalled')
  return { message: message && { ...message, size }, left }
}
