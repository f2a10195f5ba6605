// Turns as messages of the AI SDK: what is one message, its parts, and the states of its tool calls.

import { describe, expect, it } from 'vitest'
import { toAnswers, toUIMessages, type ConversationMessage } from '../../../src/ai-sdk/messages.ts'
import type { CallApproval } from '../../../src/client/chat/chat.ts'
import type { TranscriptTurn } from '../../../src/client/conversation/transcript-state.ts'
import { call, delta, reasoning, result, text, turn } from '../../support/transcript-turns.ts'

const ofUser = (position: number, value: string, more: Partial<TranscriptTurn> = {}) =>
  turn(position, [text(value)], { actor: 'ada', role: 'USER', author: { displayName: 'Ada', kind: 'HUMAN' }, ...more })
const results = (position: number, ...parts: Parameters<typeof turn>[1]) => turn(position, parts, { role: 'TOOL' })
const shapeOf = ({ id, role, parts }: ConversationMessage) =>
  `${role} ${id}: ${parts
    .map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return `${part.type} ${part.text}`
      return 'toolCallId' in part ? `${part.toolCallId} ${part.state}` : part.type
    })
    .join(', ')}`
const shapes = (turns: TranscriptTurn[], options?: Parameters<typeof toUIMessages>[1]) =>
  toUIMessages(turns, options).map(shapeOf)

describe('turns as messages of the AI SDK', () => {
  it.each<[string, TranscriptTurn[], string[]]>([
    ['a turn of a person is a message', [ofUser(1, 'Hi')], ['user turn_1: text Hi']],
    [
      'a SYSTEM turn is one, too',
      [turn(1, [text('Be brief.')], { role: 'SYSTEM' })],
      ['system turn_1: text Be brief.'],
    ],
    [
      'replies that call tools, their results and the next reply are one message',
      [turn(1, [text('a'), call('c')]), results(2, result('c', 'turn_1', 6)), turn(3, [text('b')])],
      ['assistant turn_1: step-start, text a, turn_1:c output-available, step-start, text b'],
    ],
    [
      'a reply after a complete answer begins another message',
      [turn(1, [text('a')]), turn(2, [text('b')])],
      ['assistant turn_1: step-start, text a', 'assistant turn_2: step-start, text b'],
    ],
    [
      'a reply whose calls it has answered itself is a complete answer',
      [turn(1, [call('c'), result('c', null, 6), text('a')]), turn(2, [text('b')])],
      ['assistant turn_1: step-start, turn_1:c output-available, text a', 'assistant turn_2: step-start, text b'],
    ],
    [
      'the answers of two agents are separate, also if their turns alternate',
      [
        turn(1, [call('c')]),
        turn(2, [call('c')], { actor: 'fern' }),
        results(3, result('c', 'turn_1', 6)),
        turn(4, [text('f')], { actor: 'fern' }),
        turn(5, [text('b')]),
      ],
      [
        'assistant turn_1: step-start, turn_1:c output-available, step-start, text b',
        'assistant turn_2: step-start, turn_2:c input-available, step-start, text f',
      ],
    ],
    ['an erased turn is left out', [turn(1, [], { status: 'ERASED' })], []],
    ['a result of an unknown call is left out', [results(2, result('c', 'turn_1', 6))], []],
    [
      'an open turn without content is an empty message',
      [turn(1, [], { status: 'STREAMING' })],
      ['assistant turn_1: step-start'],
    ],
    [
      'files, sources and data are parts',
      [
        turn(1, [
          {
            __typename: 'FilePart',
            url: 'https://x.org/a.png',
            mediaType: 'image/png',
            fileName: null,
            caption: null,
            attachment: null,
          },
          { __typename: 'SourcePart', url: 'https://x.org/', title: null },
          { __typename: 'DataPart', data: { n: 1 } },
          reasoning('so', 'sig'),
        ]),
      ],
      ['assistant turn_1: step-start, file, source-url, data-json, reasoning so'],
    ],
  ])('%s', (_, turns, expected) => {
    expect(shapes(turns)).toEqual(expected)
  })

  it('contain whole parts', () => {
    const [message] = toUIMessages([
      turn(1, [reasoning('so', 'sig'), call('c', { at: 1 }), { __typename: 'DataPart', data: { n: 1 } }], {
        audience: ['ada', 'bot'],
        traceId: 'run_1',
        author: { displayName: 'Bot', kind: 'AGENT' },
      }),
    ])
    const providerMetadata = { colloquy: { turnId: 'turn_1', actor: 'bot' } }
    expect(message).toEqual({
      id: 'turn_1',
      role: 'assistant',
      metadata: {
        actor: 'bot',
        name: 'Bot',
        position: 1,
        createdAt: '2026-01-01T00:00:00.000Z',
        runId: 'run_1',
        audience: ['ada', 'bot'],
      },
      parts: [
        { type: 'step-start' },
        {
          type: 'reasoning',
          text: 'so',
          state: 'done',
          providerMetadata: { ...providerMetadata, anthropic: { signature: 'sig' } },
        },
        {
          type: 'dynamic-tool',
          toolName: 'look',
          providerExecuted: true,
          toolCallId: 'turn_1:c',
          state: 'input-available',
          input: { at: 1 },
        },
        { type: 'data-json', id: 'turn_1:data-1', data: { n: 1 } },
      ],
    })
  })

  const approval = (state: CallApproval['state'], reason: string | null = null): CallApproval[] => [
    { id: 'appr_1', callId: 'c', state, reason, turn: { id: 'turn_1' } },
  ]
  it.each<[CallApproval['state'], boolean, string, object | undefined]>([
    ['PENDING', false, 'approval-requested', { id: 'appr_1' }],
    ['APPROVED', false, 'approval-responded', { id: 'appr_1', approved: true }],
    ['APPROVED', true, 'output-available', { id: 'appr_1', approved: true }],
    ['DENIED', false, 'approval-responded', { id: 'appr_1', approved: false }],
    ['DENIED', true, 'output-denied', { id: 'appr_1', approved: false }],
    ['EXPIRED', true, 'output-available', undefined],
    ['CANCELLED', false, 'input-available', undefined],
  ])('show a call whose approval is %s (with a result: %s) as %s', (state, hasResult, expected, given) => {
    const turns = [turn(1, [call('c')]), ...(hasResult ? [results(2, result('c', 'turn_1', 6))] : [])]
    const [message] = toUIMessages(turns, { approvals: approval(state) })
    expect(message!.parts[1]).toMatchObject({ state: expected })
    expect((message!.parts[1] as { approval?: object }).approval).toEqual(given)
  })

  it('have parts of the type tool-NAME for the tools of the page only', () => {
    const [message] = toUIMessages([turn(1, [call('a', {}, 'where'), call('b')])], { pageTools: new Set(['where']) })
    expect(message!.parts.map(({ type }) => type)).toEqual(['step-start', 'tool-where', 'dynamic-tool'])
    expect(message!.parts[1]).not.toHaveProperty('providerExecuted')
  })

  it('show the progress of a tool, and leave out calls whose arguments are not complete', () => {
    const open = turn(1, [call('c'), call('d', '{"a')], {
      status: 'STREAMING',
      live: [
        delta('TOOL_CALL', { callId: 'c', isComplete: true, joined: '{}' }),
        delta('TOOL_PROGRESS', { callId: 'c', joined: 'half' }),
        delta('TOOL_CALL', { callId: 'd', joined: '{"a' }),
      ],
    })
    const [message] = toUIMessages([open])
    expect(message!.parts.slice(1)).toMatchObject([{ toolCallId: 'turn_1:c', output: 'half', preliminary: true }])
    const [answer] = toAnswers([open])
    expect(answer!.message.parts[2]).toMatchObject({
      toolCallId: 'turn_1:d',
      state: 'input-streaming',
      rawInput: '{"a',
    })
    expect(answer!.isComplete).toBe(false)
  })

  it('tell why a turn was aborted', () => {
    const [message] = toUIMessages([
      turn(1, [text('Hal')], { status: 'ABORTED', abortReason: 'The run was cancelled.' }),
    ])
    expect(message!.metadata!.abortReason).toBe('The run was cancelled.')
  })
})
