// Lists the messages of an assembled context and its manifest, and counts their tokens.

import { NOTHING, plus, tokensOf, type Size } from './budget/budget.ts'
import { sizesOf, type MeasuredMessage } from './budget/measure.ts'
import { REPEATED } from './material/duplicates.ts'
import { ALREADY_INCLUDED, contentOf, type Assembled, type ContextItem, type Message } from './message.ts'
import { SHORTENED } from './quote.ts'

/** The reasons of sources that are left out because the context contains their content. */
const CONTAINED: ReadonlySet<string> = new Set([ALREADY_INCLUDED, ...Object.values(REPEATED)])

/** Whether Anthropic's rendering inserts a user message before the messages. */
export const needsOpening = (messages: readonly Message[]) =>
  messages.find(({ role }) => role !== 'SYSTEM')?.role === 'ASSISTANT'

/** Returns the context of the measured messages. @param opening the size of the user message that may be inserted first */
export function toContext(
  tokenBudget: number,
  { prefix, recalled, newest }: Record<'prefix' | 'recalled' | 'newest', MeasuredMessage[]>,
  opening: Size,
  omitted: ContextItem[],
): Assembled {
  const measured = [...prefix, ...recalled, ...newest]
  const messages = measured.map(({ kind, role, name, labelled, parts, position, sourceIds, reason, size }) => ({
    kind,
    role,
    name,
    labelled,
    parts,
    position,
    sourceIds,
    reason,
    content: contentOf(parts),
    tokenCount: tokensOf(size),
  }))
  const total = (some: readonly MeasuredMessage[]) =>
    tokensOf(plus(sizesOf(some), needsOpening(measured) ? opening : NOTHING))
  return {
    messages,
    tokenBudget,
    tokenCount: total(measured),
    truncated:
      omitted.some(({ reason }) => !CONTAINED.has(reason)) || measured.some(({ reason }) => reason === SHORTENED),
    items: [
      ...messages.map(({ kind, sourceIds, tokenCount, reason }) => ({
        kind,
        sourceIds,
        tokenCount,
        included: true,
        reason,
      })),
      ...omitted,
    ],
    stablePrefixTokens: total(recalled.length > 0 ? prefix : measured),
  }
}
