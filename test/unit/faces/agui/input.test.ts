// What of the input of an AG-UI run is new to the conversation, and what of it is refused.

import { describe, expect, it } from 'vitest'
import { InvalidInput } from '../../../../src/errors.ts'
import {
  instructionsOf,
  newResultsOf,
  newTurnsOf,
  readInput,
  toolsOf,
  type GivenMessage,
} from '../../../../src/faces/agui/input.ts'
import { decisionOf } from '../../../../src/faces/agui/requests.ts'

const valid = { threadId: 't', runId: 'r', messages: [] as object[] }
const user = (id: string, content: GivenMessage['content'] = 'Hello.'): GivenMessage => ({ id, role: 'user', content })
const assistant = (id: string): GivenMessage => ({ id, role: 'assistant', content: 'Hello.' })
const issuesOf = (read: () => unknown): string => {
  try {
    read()
  } catch (error) {
    if (error instanceof InvalidInput) return error.message
    throw error
  }
  return 'no error'
}

describe('the input of a run', () => {
  it('is accepted with what is optional absent, and with fields of later versions', () => {
    expect(readInput(valid)).toMatchObject({ tools: [], context: [], resume: [] })
    const message = { ...user('m'), subagentRunId: 'x' }
    expect(readInput({ ...valid, later: 1, messages: [message] }).messages).toEqual([message])
  })

  it.each<[object, string]>([
    [{ threadId: '' }, 'threadId'],
    [{ threadId: 'x'.repeat(201) }, 'at most 200 characters'],
    [{ runId: 'x'.repeat(151) }, 'at most 150 characters'],
    [{ messages: [{ id: 'm', role: 'user', content: 5 }] }, 'messages.0.content'],
    [{ messages: Array.from({ length: 10_001 }, (_, n) => user(`${n}`)) }, 'at most 10000 messages'],
    [{ state: 5 }, 'must be an object'],
    [{ tools: [{}] }, 'tools.0.name'],
    [{ resume: [{ interruptId: 'i', status: 'maybe' }] }, 'resume.0.status'],
    [{ messages: [{ ...user('m'), id: 'a\0b' }] }, 'U+0000'],
  ])('is refused if it has %j', (change, problem) => {
    expect(issuesOf(() => readInput({ ...valid, ...change }))).toContain(problem)
  })
})

describe('the new messages of a client', () => {
  const idsOf = (messages: GivenMessage[], ...known: string[]) =>
    newTurnsOf(messages, new Set(known)).map(({ clientId }) => clientId)

  it.each<[string, GivenMessage[], string[], string[]]>([
    [
      'all that follow the last answer, in an unknown conversation',
      [user('a'), assistant('x'), user('b'), user('c')],
      [],
      ['b', 'c'],
    ],
    ['those that follow a known one', [user('a'), user('b')], ['a'], ['b']],
    ['one before an answer that reached the client earlier', [user('a'), user('b'), assistant('turn_1')], ['a'], ['b']],
    ['none that the server has named', [user('turn_1'), user('b')], [], ['b']],
    ['none of older times that the client has kept', [user('old'), user('turn_1'), user('b')], ['turn_1'], ['b']],
    ['none', [user('a')], ['a'], []],
  ])('are %s', (_, messages, known, expected) => {
    expect(idsOf(messages, ...known)).toEqual(expected)
  })

  it('keep their text, their files and what the server does not know', () => {
    const parts = [
      { type: 'text', text: 'Look:' },
      { type: 'image', source: { type: 'url', value: 'https://example.org/a.png' } },
      {
        type: 'document',
        source: { type: 'data', value: 'aGk=', mimeType: 'text/plain' },
        metadata: { filename: 'a.txt' },
      },
      { type: 'image', source: { type: 'file', value: 'file-1' } },
    ]
    const [turn] = newTurnsOf([user('m', parts)], new Set())
    expect(turn).toEqual({
      role: 'USER',
      clientId: 'm',
      metadata: { messageId: 'm' },
      parts: [
        { text: 'Look:' },
        { file: { url: 'https://example.org/a.png', mediaType: 'image/*', fileName: null } },
        { file: { url: 'data:text/plain;base64,aGk=', mediaType: 'text/plain', fileName: 'a.txt' } },
        { data: parts[3] },
      ],
    })
  })

  it.each<[GivenMessage, string]>([
    [user('m', []), 'messages.0.content: must not be empty'],
    [user('m', [{ type: 'image', source: { type: 'data', value: 'aGk=' } }]), 'source.mimeType'],
    [user('x'.repeat(151)), 'at most 150 characters'],
  ])('are refused if one is %j', (message, problem) => {
    expect(issuesOf(() => newTurnsOf([message], new Set()))).toContain(problem)
  })
})

describe('what else a client sends', () => {
  it('are the results of calls of the server, which it has not sent before', () => {
    const result = (id: string, toolCallId: string, more: object = {}): GivenMessage => ({
      id,
      role: 'tool',
      toolCallId,
      content: '5',
      ...more,
    })
    const messages = [
      result('a', 'turn_1:c'),
      result('b', 'turn_1:d'),
      result('c', 'other'),
      result('d', 'turn_1:e', { error: 'Lost.' }),
    ]
    expect(newResultsOf(messages, new Set(['a']))).toEqual([
      { messageId: 'b', turnId: 'turn_1', callId: 'd', result: '5' },
      { messageId: 'd', turnId: 'turn_1', callId: 'e', result: { error: 'Lost.', content: '5' } },
    ])
  })

  it('are instructions, context and tools', () => {
    const input = readInput({
      ...valid,
      messages: [{ id: 's', role: 'developer', content: 'Be brief.' }, user('m')],
      context: [{ description: 'The page', value: 'Tides' }],
      tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object' } }],
    })
    expect(instructionsOf(input)).toEqual(['Be brief.', 'The page: Tides'])
    expect(toolsOf(input)).toEqual([{ name: 'look', description: 'Looks.', schema: { type: 'object' } }])
  })

  it.each<[object, object]>([
    [
      { status: 'resolved', payload: { approved: true } },
      { decision: 'APPROVE', reason: null },
    ],
    [
      { status: 'resolved', payload: true },
      { decision: 'APPROVE', reason: null },
    ],
    [
      { status: 'resolved', payload: { approved: 'yes' } },
      { decision: 'DENY', reason: null },
    ],
    [
      { status: 'resolved', payload: { approved: false, reason: 'No.' } },
      { decision: 'DENY', reason: 'No.' },
    ],
    [{ status: 'cancelled', payload: { approved: true } }, { decision: 'DENY' }],
    [{ status: 'resolved' }, { decision: 'DENY', reason: null }],
  ])('are decisions: %j is %j', (entry, decision) => {
    expect(decisionOf({ interruptId: 'i', ...entry } as never)).toMatchObject(decision)
  })
})
