// The arguments of tools: the input of the verb that they become, and the names in errors.

import { describe, expect, it } from 'vitest'
import { VerbFailed } from '../../../../src/faces/call.ts'
import type { Caller } from '../../../../src/faces/mcp/caller.ts'
import { failureOfTool, verbInputOf } from '../../../../src/faces/mcp/tool-input.ts'
import { TOOLS } from '../../../../src/faces/mcp/tools.ts'

const ID = 'conv_01J00000000000000000000000'
const caller = (conversationId: string | null = null) => ({ conversationId, rights: null }) as unknown as Caller

describe('verbInputOf', () => {
  it.each<[string, Record<string, unknown>, object]>([
    [
      'append_turn',
      { conversation: 'c', content: 'x', audience: ['ada'] },
      { conversationKey: 'c', turn: { role: 'ASSISTANT', content: 'x', audience: ['ada'] } },
    ],
    [
      'append_turn',
      { conversation: ID, content: 'x', role: 'USER' },
      { conversationId: ID, turn: { role: 'USER', content: 'x' } },
    ],
    [
      'remember_fact',
      { conversation: 'c', subject: 's', predicate: 'p', object: 'o' },
      { conversationKey: 'c', facts: [{ subject: 's', predicate: 'p', object: 'o' }] },
    ],
    ['list_facts', { conversation: 'c', text: 't' }, { first: 50, filter: { conversationKey: 'c', text: 't' } }],
    ['list_facts', {}, { first: 50 }],
    ['wait_for_turns', { conversation: 'c' }, { conversationKey: 'c', timeoutSeconds: 30 }],
    ['read_history', { conversation: 'c', before: null }, { conversationKey: 'c', last: 20 }],
  ])('of %s %j', (tool, args, expected) => {
    expect(verbInputOf(TOOLS[tool]!, caller(), args)).toEqual(expected)
  })

  it('names the only conversation of a limited credential, and accepts no other', () => {
    expect(verbInputOf(TOOLS.list_facts!, caller(ID), {})).toMatchObject({ filter: { conversationId: ID } })
    expect(() => verbInputOf(TOOLS.list_facts!, caller(ID), { conversation: 'c' })).toThrow('no such argument')
  })
})

describe('failureOfTool', () => {
  it.each<[string, string[], string[]]>([
    ['append_turn', ['turn', 'content'], ['content']],
    ['append_turn', ['turn', 'audience', '0'], ['audience', '0']],
    ['append_turn', ['turn'], ['turn']],
    ['append_turn', ['conversationKey'], ['conversation']],
    ['append_turn', ['key'], ['conversation']],
    ['remember_fact', ['facts', '0', 'object'], ['object']],
    ['list_facts', ['filter', 'conversationId'], ['conversation']],
  ])('of %s at %j names %j', (tool, path, expected) => {
    const failure = new VerbFailed('INVALID_INPUT', 'text', { issues: [{ path, message: 'is wrong' }], limit: 3 })
    const { issues, message, details } = failureOfTool(TOOLS[tool]!, failure)
    expect(issues).toEqual([{ path: expected, message: 'is wrong' }])
    expect(message).toBe(`${expected.join('.')}: is wrong`)
    expect(details).toEqual({ limit: 3 })
  })

  it('keeps a failure without issues', () => {
    const failure = new VerbFailed('NOT_FOUND', 'There is none.')
    expect(failureOfTool(TOOLS.recall!, failure)).toBe(failure)
  })
})
