// Ends a context with the turn to answer. A context that does not end with that turn anyway quotes it in its last
// message, so that later turns stay in the context, and the model knows which turn it answers.

import type { ContentPart } from '../../../turn/content.ts'
import { fits } from '../budget/budget.ts'
import { measureMessage, type MeasuredMessage, type Tokens } from '../budget/measure.ts'
import { contentOf, type Message } from '../message.ts'
import { nameOf, renderFrom, type ContextTurn, type Perspective } from '../perspective.ts'

/** Maximum length of the quotation if the context contains the turn itself, in UTF-16 units. */
const MAX_QUOTE = 2_000

/** The quotation of the turn with this id: as a whole, and for a context that contains the turn itself. */
export type AnsweredTurn = { id: string; whole: MeasuredMessage; short: MeasuredMessage }

/** Renders and measures the quotations of the turn to answer. `short` is never larger than `whole`. */
export async function measureAnswered(
  tokens: Tokens,
  perspective: Perspective,
  turn: ContextTurn,
): Promise<AnsweredTurn> {
  const parts = renderFrom(perspective, [turn], { tools: false })[0]!.parts.filter(({ type }) => type !== 'reasoning')
  const heading = `You are answering this message of ${nameOf(perspective, turn.actor)}:\n\n`
  const measure = async (quoted: readonly ContentPart[]) => {
    const message: Message = {
      kind: 'ANSWERED',
      role: 'USER',
      name: null,
      labelled: false,
      position: null,
      sourceIds: [turn.id],
      reason: 'the turn to answer, which is not the newest turn',
      parts: [{ type: 'text', text: heading }, ...quoted],
    }
    return measureMessage(tokens, message)
  }
  const whole = await measure(parts)
  const text = contentOf(parts)
  if (text.length <= MAX_QUOTE) return { id: turn.id, whole, short: whole }
  const short = await measure([{ type: 'text', text: `${text.slice(0, MAX_QUOTE).toWellFormed()} …` }])
  return { id: turn.id, whole, short: fits(short.size, whole.size) ? short : whole }
}

/** Whether the message belongs to an unfinished answer: a tool call of the model, or its result. */
const isToolExchange = ({ parts }: Message) => parts.some(({ type }) => type === 'toolCall' || type === 'toolResult')

/**
 * Returns the messages with which the context ends: none if the turn is followed only by tool calls, their results and
 * recalled turns; otherwise the quotation.
 */
export function endingWith(
  { id, whole, short }: AnsweredTurn,
  messages: readonly MeasuredMessage[],
): MeasuredMessage[] {
  const index = messages.findIndex(({ kind, sourceIds }) => kind !== 'RECALLED' && sourceIds.includes(id))
  if (index < 0) return [whole]
  const later = messages.slice(index + 1)
  return later.every((each) => each.kind === 'RECALLED' || isToolExchange(each)) ? [] : [short]
}
