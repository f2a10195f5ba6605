// Composes the messages of one call of a provider: the run's instructions, and the context of the conversation, which
// ends with the turn to answer. Pure, except for the call of `build`.

import { BudgetTooSmall } from '../../../../errors.ts'
import type { ProviderMessage } from '../../../../providers/ports/provider-adapter.ts'
import { TOKENS_PER_MESSAGE } from '../../../memory/context/budget/budget.ts'
import type { Context } from '../../../memory/context/message.ts'
import { renderForProvider } from '../../../memory/context/render.ts'
import type { OfferedTool } from '../tools/tools.ts'

type Parts = { instructions: string | null; tools: readonly OfferedTool[]; tokenBudget: number }

/** Returns the token count of the instructions and the tools. */
async function tokensAround(
  { instructions, tools }: Parts,
  count: (text: string) => number | Promise<number>,
): Promise<number> {
  const texts = [
    ...(instructions === null ? [] : [instructions]),
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
  const { instructions, tokenBudget } = parts
  const around = await tokensAround(parts, count)
  if (around >= tokenBudget) throw new BudgetTooSmall(tokenBudget, around + 1)
  const context = await build(tokenBudget - around)
  const system: ProviderMessage[] =
    instructions === null ? [] : [{ role: 'system', content: [{ type: 'text', text: instructions }] }]
  return { messages: [...system, ...renderForProvider(context.messages)], tokens: around + context.tokenCount }
}
