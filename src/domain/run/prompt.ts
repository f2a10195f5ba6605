// Composes the messages of one call of a provider: the run's instructions, the context of the conversation, and, if the
// turn to answer is not the last message by another author, a reminder of it. Pure, except for the call of `build`.

import { BudgetTooSmall } from '../../errors.ts'
import type { ProviderMessage } from '../../providers/ports/provider-adapter.ts'
import { TOKENS_PER_MESSAGE } from '../context/budget.ts'
import type { Context } from '../context/message.ts'
import { renderForProvider } from '../context/render.ts'
import type { OfferedTool } from './tools.ts'

/** The turn that a run answers. */
export type AnsweredTurn = { id: string; author: string; text: string }

/** Maximum length of the quotation in the reminder, in UTF-16 units. */
const MAX_QUOTE = 2_000

const message = (role: 'system' | 'user', text: string): ProviderMessage => ({
  role,
  content: [{ type: 'text', text }],
})

/** Returns the text that reminds the model of the turn to answer. */
function reminderOf({ author, text }: AnsweredTurn): string {
  const quote = text.length > MAX_QUOTE ? `${text.slice(0, MAX_QUOTE).toWellFormed()} …` : text
  return `Answer this earlier message of ${author}:\n\n${quote}`
}

/** Whether the turn to answer is the last message of the context whose role is neither ASSISTANT nor TOOL. */
const endsWith = ({ messages }: Context, answered: AnsweredTurn): boolean => {
  const last = messages.findLastIndex(({ role }) => role !== 'ASSISTANT' && role !== 'TOOL')
  return messages[last]?.sourceIds.includes(answered.id) ?? false
}

type Parts = {
  instructions: string | null
  tools: readonly OfferedTool[]
  answered: AnsweredTurn | null
  tokenBudget: number
}

/** Returns the token count of the instructions, the tools and the reminder, even if the reminder is not needed. */
async function tokensAround(
  { instructions, tools, answered }: Parts,
  count: (text: string) => number | Promise<number>,
): Promise<number> {
  const texts = [
    ...(instructions === null ? [] : [instructions]),
    ...(answered === null ? [] : [reminderOf(answered)]),
    ...tools.map(({ name, description, schema }) => JSON.stringify({ name, description, schema })),
  ]
  let sum = 0
  for (const text of texts) sum += (await count(text)) + TOKENS_PER_MESSAGE
  return sum
}

/**
 * Returns the messages, and their token count by the server's counter.
 * @param build builds a context of at most `tokenBudget` tokens
 * @throws BudgetTooSmall if nothing is left for the context
 */
export async function composePrompt(
  parts: Parts,
  count: (text: string) => number | Promise<number>,
  build: (tokenBudget: number) => Promise<Context>,
): Promise<{ messages: ProviderMessage[]; tokens: number }> {
  const { instructions, answered, tokenBudget } = parts
  const around = await tokensAround(parts, count)
  if (around >= tokenBudget) throw new BudgetTooSmall(tokenBudget, around + 1)
  const context = await build(tokenBudget - around)
  const needsReminder = answered !== null && !endsWith(context, answered)
  return {
    messages: [
      ...(instructions === null ? [] : [message('system', instructions)]),
      ...renderForProvider(context.messages),
      ...(needsReminder ? [message('user', reminderOf(answered))] : []),
    ],
    tokens: around + context.tokenCount,
  }
}
