// Recalled turns as one message: the best that fit, in the order in which they were written.

import type { Size } from './budget.ts'
import type { ContextItem } from './message.ts'
import { fenceFor, quote, recallMessage, type RecalledTurn } from './quote.ts'
import { quoteThatFit, type QuotedSection } from './remembered.ts'
import type { Tokens } from './weigh.ts'

/** Why a recalled turn is not quoted. */
export const STANDS_ANYWAY = 'stands in the context anyway'

const inOrder = (found: readonly RecalledTurn[]) =>
  found.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1))

/**
 * @param found best first
 * @param standing ids of the turns that are in the context already
 */
export async function weighRecalled(
  tokens: Tokens,
  found: readonly RecalledTurn[],
  k: number,
  standing: ReadonlySet<string>,
  space: Size,
): Promise<QuotedSection> {
  const left: ContextItem[] = []
  const leaveOut = (some: readonly RecalledTurn[], cost: number, reason: string) => {
    if (some.length === 0) return
    left.push({ kind: 'RECALLED', sourceIds: some.map(({ id }) => id), tokens: cost, included: false, reason })
  }
  const news = found.filter(({ id }) => !standing.has(id)).slice(0, k)
  leaveOut(
    found.slice(0, k).filter(({ id }) => standing.has(id)),
    0,
    STANDS_ANYWAY,
  )

  const fence = fenceFor(news.flatMap(({ name, text }) => [name, text]))
  const { message, passed, passedTokens } = await quoteThatFit(
    tokens,
    news,
    { textOf: (each) => quote(each, fence), toMessage: (chosen) => recallMessage(inOrder(chosen), fence) },
    space,
  )
  leaveOut(passed, passedTokens, 'no space for more of what was recalled')
  return { messages: message ? [message] : [], left }
}
