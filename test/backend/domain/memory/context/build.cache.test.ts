// Prompt caching by providers, over 200 turns with recall (100 in the short run): the prefix that two successive
// contexts share, as a fraction of the earlier context without its recalled text.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import type { Context } from '../../../../../src/domain/memory/context/message.ts'
import { render } from '../../../../../src/domain/memory/context/render.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { countInline } from '../../../../../src/text/tokens.ts'
import { embedded } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'
import { isLong } from '../../../../support/long.ts'

const SUBJECTS = ['the tulips', 'the roof', 'the hedgehog', 'our trip to Ghent', 'the bill', 'the piano', 'grandmother']
const REMARKS = [
  'were seen again this morning, which nobody expected after the long winter we had here.',
  'should be looked at by somebody who knows more of such things than I do, I am afraid.',
  'is fine.',
  'came up when I spoke with the neighbours. They say that it was different some years ago, before the fence was '
    + 'built, '
    + 'and that we had better ask at the town hall, because there are papers about it.',
]
const words = (n: number) => `On ${SUBJECTS[n % 7]}, number ${n}: it ${REMARKS[(n * 5) % 4]}`

const tokens = (messages: unknown[]) =>
  messages.reduce<number>((sum, each) => sum + countInline(JSON.stringify(each)), 0)

type Budget = { tokenBudget: number; recentTurns?: number }

/**
 * Tokens of the leading messages that both contexts share, divided by the tokens of `earlier` without recalled
 * messages.
 */
function sharedPrefix(earlier: Context, later: Context): number {
  const [earlierMessages, laterMessages] = [render(earlier.messages, 'OPENAI'), render(later.messages, 'OPENAI')].map(
    (messages) => messages.map((message) => JSON.stringify(message)),
  )
  let common = 0
  while (common < earlierMessages!.length && earlierMessages![common] === laterMessages![common]) common += 1
  const recalled = (message: string) => message.includes('"name":"recall"')
  return tokens(earlierMessages!.slice(0, common)) / tokens(earlierMessages!.filter((message) => !recalled(message)))
}

const TURNS = 200

describe('the prompt cache of a provider', () => {
  const world = useWorld(embedded)

  const budgets: [title: string, input: Budget, system: string | null][] = [
    ['a budget of 4,000', { tokenBudget: 4_000 }, null],
    ['a budget of 4,000 and a system prompt', { tokenBudget: 4_000 }, 'You help with house and garden. '.repeat(10)],
    ['a budget of 2,500 and a system prompt', { tokenBudget: 2_500 }, 'You help with house and garden. '.repeat(20)],
    ['20 recent turns', { tokenBudget: 6_000, recentTurns: 20 }, 'You help with house and garden. '.repeat(10)],
  ]

  it.runIf(isLong).each(budgets)(
    'can reuse on average 85 per cent of the previous context with %s',
    async (_, input, systemPrompt) => {
      const tenant = world.tenant()
      const {
        conversation: { id: conversationId },
      } = await createConversation(world.deps, tenant.as('ada'), {
        systemPrompt,
        participants: [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' }],
      })
      const shares: number[] = []
      let earlier: Context | null = null
      let recalled = 0
      for (let n = 1; n <= TURNS; n += 2) {
        await tenant.append(conversationId, 'ada', words(n))
        const context = await buildContext(world.deps, tenant.as('bot'), {
          conversationId,
          as: 'bot',
          semanticRecall: { k: 5 },
          ...input,
        })
        if (context.messages.some(({ name }) => name === 'recall')) recalled += 1
        if (earlier) shares.push(sharedPrefix(earlier, context))
        earlier = context
        await tenant.append(conversationId, 'bot', words(n + 1), { role: 'ASSISTANT' })
      }
      const average = shares.reduce((sum, share) => sum + share, 0) / shares.length
      expect(recalled).toBeGreaterThan(TURNS / 8)
      expect(average).toBeGreaterThanOrEqual(0.85)
    },
  )
})
