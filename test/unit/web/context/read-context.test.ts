// The request for a context, and its answers.

import { describe, expect, it } from 'vitest'
import type { Client } from '../../../../src/client/index.ts'
import { readContext, renderContext } from '../../../../src/web/context/read-context.ts'
import type { Settings } from '../../../../src/web/context/settings.ts'

const settings: Settings = {
  actor: 'bot',
  budget: 4_000,
  strategy: null,
  facts: true,
  profiles: false,
  recall: null,
  query: '',
}
const { signal } = new AbortController()

/** Returns a client that answers with the result, and the inputs that it has received. */
function clientOf(buildContext: object) {
  const inputs: Record<string, unknown>[] = []
  const request = async (_document: string, { input }: { input: Record<string, unknown> }) => {
    inputs.push(input)
    return { buildContext }
  }
  return { inputs, client: { request } as unknown as Client }
}

describe('readContext', () => {
  it.each([
    ['the context', { tokenCount: 5 }, { settings, context: { tokenCount: 5 } }],
    ['the budget that suffices', { code: 'BUDGET_TOO_SMALL', message: '', required: 67 }, { settings, required: 67 }],
  ])('returns %s', async (_, result, expected) => {
    const { client } = clientOf(result)
    expect(await readContext(client, 'c1', settings, signal)).toEqual(expected)
  })

  it('names the participant that answers', async () => {
    const { client, inputs } = clientOf({})
    await readContext(client, 'c1', settings, signal)
    expect(inputs).toMatchObject([{ conversationId: 'c1', as: 'bot', tokenBudget: 4_000, includeFacts: true }])
  })

  it('throws any other error', async () => {
    const { client } = clientOf({ code: 'NOT_FOUND', message: 'Gone.' })
    await expect(readContext(client, 'c1', settings, signal)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

it('renderContext returns the messages in the format', async () => {
  const { client, inputs } = clientOf({ rendered: [1] })
  expect(await renderContext(client, 'c1', settings, { format: 'OPENAI', signal })).toEqual([1])
  expect(inputs).toMatchObject([{ as: 'bot' }])
})
