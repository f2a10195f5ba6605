// Executing a tool: the results that are passed on, and the errors that take the place of others.

import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../../src/runtime/clock.ts'
import { executeTool, type ToolContext } from '../../../../../../src/domain/agent/run/tools/tools.ts'

const context: ToolContext = {
  tenant: 'acme',
  conversationId: 'conv_1',
  actor: 'bot',
  runId: 'run_1',
  turnId: 'turn_1',
  audience: null,
  callId: 'c1',
  signal: new AbortController().signal,
}
const lists = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)

describe('executeTool', () => {
  it.each<[string, unknown, unknown]>([
    ['an object', { sum: 3 }, { sum: 3 }],
    ['nothing', undefined, null],
    ['a list of the maximum depth', lists(64), lists(64)],
    ['text with U+0000', 'a\0', { error: 'The result of the tool is not JSON that can be stored.' }],
    ['a bigint', 1n, { error: 'The tool failed.' }],
    ['deeper JSON', lists(65), { error: 'The result of the tool must be nested at most 64 levels deep.' }],
    ['much deeper JSON', lists(50_000), { error: 'The result of the tool must be nested at most 64 levels deep.' }],
  ])('that returns %s returns the result, or its problem', async (_, returned, result) => {
    expect(
      await executeTool({ clock: systemClock, log: pino({ level: 'silent' }) }, () => returned, {}, context),
    ).toEqual(result)
  })
})
