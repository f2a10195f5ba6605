// Builds the message of recalled turns: the best hits that fit, in the order in which they were written.

import type { Size } from './budget.ts'
import type { ContextItem } from './message.ts'
import { fenceFor, quote, recallMessage, type RecalledTurn } from './quote.ts'
import { quoteThatFit, type QuotedSection } from './fit-quotes.ts'
import type { Tokens } from './measure.ts'

/** Manifest reason for a hit that is already in the context. */
export const ALREADY_INCLUDED = 'already in the context'

const byTime = (hits: readonly RecalledTurn[]) =>
  hits.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1))

/**
 * Builds one message from the best `k` hits that are not already in the context. Skips hits that do not fit.
 * @param hits best first
 * @param included ids of the sources that are already in the context
 */
export async function fitRecalled(
  tokens: Tokens,
  hits: readonly RecalledTurn[],
  k: number,
  included: ReadonlySet<string>,
  space: Size,
): Promise<QuotedSection> {
  const items: ContextItem[] = []
  const omit = (some: readonly RecalledTurn[], cost: number, reason: string) => {
    if (some.length === 0) return
    items.push({ kind: 'RECALLED', sourceIds: some.map(({ id }) => id), tokenCount: cost, included: false, reason })
  }
  const candidates = hits.filter(({ id }) => !included.has(id)).slice(0, k)
  omit(
    hits.slice(0, k).filter(({ id }) => included.has(id)),
    0,
    ALREADY_INCLUDED,
  )

  const fence = fenceFor(candidates.flatMap(({ name, text }) => [name, text]))
  const { message, omitted, omittedTokens } = await quoteThatFit(
    tokens,
    candidates,
    { textOf: (each) => quote(each, fence), toMessage: (chosen) => recallMessage(byTime(chosen), fence) },
    space,
  )
  omit(omitted, omittedTokens, 'no space for more recalled turns')
  return { messages: message ? [message] : [], omitted: items }
}
