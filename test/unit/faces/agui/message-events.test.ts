// The events between two states of a conversation: applied by the stock client of AG-UI, which also checks their order,
// they lead to the messages of the later state.

import { HttpAgent } from '@ag-ui/client'
import type { Message } from '@ag-ui/core'
import { EventSchemas } from '@ag-ui/core/schemas'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TranscriptTurn } from '../../../../src/client/conversation/transcript-state.ts'
import { createMessageEvents } from '../../../../src/faces/agui/message-events.ts'
import { createPieces, messagesOf } from '../../../../src/faces/agui/pieces.ts'
import type { AguiEvent } from '../../../../src/faces/agui/protocol.ts'
import { casesOf } from '../../../support/long.ts'
import { call, delta, reasoning, result, text, turn } from '../../../support/transcript-turns.ts'

const piecesOf = createPieces('ada', ({ url }) => url)

/** Creates the stock client, and a function that lets it receive the events of one run. */
function createReader() {
  let body = ''
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const client = new HttpAgent({ url: 'http://localhost', fetch })
  async function read(sent: readonly AguiEvent[]): Promise<void> {
    const ids = { threadId: 't', runId: 'r' }
    const all: AguiEvent[] = [
      { type: 'RUN_STARTED', ...ids, protocolVersion: '1.0' },
      ...sent,
      { type: 'RUN_FINISHED', ...ids, outcome: { type: 'success' } },
    ]
    body = all.map((event) => `data: ${JSON.stringify(EventSchemas.parse(event))}\n\n`).join('')
    await client.runAgent()
  }
  return { client, read }
}

const events = (received: readonly Message[] = []) =>
  createMessageEvents(
    received,
    () => [],
    () => false,
  )

/** Returns the types of the events that lead from one state to the next. */
function typesBetween(...states: TranscriptTurn[][]): string[][] {
  const { next } = events()
  return states.map((turns) => next(piecesOf(turns), 0).map(({ type }) => type))
}

const streaming = (position: number, parts: Parameters<typeof turn>[1], more: object = {}) =>
  turn(position, parts, { status: 'STREAMING', ...more })

describe('the events of messages', () => {
  it('begin with a snapshot, and continue each message where it ended', () => {
    expect(
      typesBetween(
        [],
        [streaming(1, [text('High')])],
        [streaming(1, [text('High tide')])],
        [turn(1, [text('High tide')])],
      ),
    ).toEqual([
      ['MESSAGES_SNAPSHOT'],
      ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT'],
      ['TEXT_MESSAGE_CONTENT'],
      ['TEXT_MESSAGE_END'],
    ])
  })

  it('continue a message of the snapshot', () => {
    expect(
      typesBetween([streaming(1, [text('High')])], [streaming(1, [text('High tide')])], [turn(1, [text('High tide')])]),
    ).toEqual([['MESSAGES_SNAPSHOT'], ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT'], ['TEXT_MESSAGE_END']])
  })

  it('stream the arguments of a call as they were written, which are stored without white space', () => {
    const live = (joined: string, isComplete = false) => ({
      live: [delta('TOOL_CALL', { callId: 'c', joined, isComplete })],
    })
    expect(
      typesBetween(
        [],
        [streaming(1, [call('c', '{"at": ')], live('{"at": '))],
        [streaming(1, [call('c', { at: 1 })], live('{"at": 1}', true))],
        [turn(1, [call('c', { at: 1 })])],
      ),
    ).toEqual([
      ['MESSAGES_SNAPSHOT'],
      ['TEXT_MESSAGE_START', 'TOOL_CALL_START', 'TOOL_CALL_ARGS'],
      ['TOOL_CALL_ARGS', 'TOOL_CALL_END'],
      ['TEXT_MESSAGE_END'],
    ])
  })

  it.each<[string, TranscriptTurn[], TranscriptTurn[]]>([
    ['a text that is not a continuation', [turn(1, [text('a')])], [turn(1, [text('b')])]],
    ['a turn that is gone', [turn(1, [text('a')]), turn(2, [text('b')])], [turn(2, [text('b')])]],
    ['a result that was redacted', [turn(1, [result('c', 'turn_0', 'x')])], [turn(1, [result('c', 'turn_0', 'xy')])]],
  ])('are a snapshot for %s', (_, before, after) => {
    expect(typesBetween([], before, after)[2]).toEqual(['MESSAGES_SNAPSHOT'])
  })

  type Step =
    | { do: 'text' | 'reasoning' | 'arguments'; value: string }
    | { do: 'call' | 'result' | 'commit' | 'replace' | 'remove' | 'other' }
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('text' as const, 'reasoning' as const),
        value: fc.string({ minLength: 1 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('arguments' as const), value: fc.constantFrom(' ', ' 1', ', ') }),
    },
    fc.record({
      do: fc.constantFrom(
        'call' as const,
        'result' as const,
        'commit' as const,
        'replace' as const,
        'remove' as const,
        'other' as const,
      ),
    }),
  )

  const isAnswered = ({ parts }: TranscriptTurn, callId: string) =>
    parts.some((part) => part.__typename === 'ToolResultPart' && part.callId === callId)

  /** Returns the turns after the step. */
  function after(turns: readonly TranscriptTurn[], given: Step): TranscriptTurn[] {
    const last = turns.at(-1)
    const open = last?.status === 'STREAMING' ? last : streaming((last?.position ?? 0) + 1, [])
    const before = turns.filter((each) => each !== open)
    const withParts = (parts: TranscriptTurn['parts'], more: object = {}) => [
      ...before,
      { ...turn(open.position, parts), status: 'STREAMING' as const, live: open.live ?? [], ...more },
    ]
    const number = open.parts.length
    switch (given.do) {
      case 'text':
        return withParts([...open.parts, text(given.value)])
      case 'reasoning': {
        const part = open.parts.at(-1)
        return part?.__typename === 'ReasoningPart'
          ? withParts([...open.parts.slice(0, -1), reasoning(part.reasoning + given.value)])
          : withParts([...open.parts, reasoning(given.value)])
      }
      case 'call':
        return withParts([...open.parts, call(`c${number}`, '')], {
          live: [...(open.live ?? []), delta('TOOL_CALL', { callId: `c${number}`, joined: '{' })],
        })
      case 'arguments': {
        const live = open.live?.map((each, index) =>
          index === open.live!.length - 1 ? { ...each, joined: each.joined + given.value } : each,
        )
        return withParts([...open.parts], { live })
      }
      case 'result': {
        const calls = open.parts.filter((part) => part.__typename === 'ToolCallPart')
        const live = open.live?.map((each) => ({ ...each, joined: '{}', isComplete: true }))
        return withParts(
          [
            ...open.parts,
            ...calls
              .filter(({ callId }) => !isAnswered(open, callId))
              .slice(-1)
              .map(({ callId }) => result(callId, open.id, number)),
          ],
          { live },
        )
      }
      case 'commit':
        return [
          ...before,
          turn(
            open.position,
            open.parts.map((part) => (part.__typename === 'ToolCallPart' ? { ...part, arguments: {} } : part)),
          ),
        ]
      case 'other':
        return [
          ...before,
          ...(last === open ? [open] : []),
          turn(open.position + 1, [text('Hello.')], { role: 'USER', actor: 'bob' }),
        ]
      case 'replace':
        return last ? [...turns.slice(0, -1), turn(last.position, [text('Erased.')])] : []
      case 'remove':
        return turns.slice(1)
    }
  }

  /** A message without white space in its arguments; null for reasoning that was taken back. */
  function normal(message: any) {
    if (message.role === 'reasoning' && message.content === '') return null
    const toolCalls = message.toolCalls?.map(({ id, function: { name, arguments: given } }: any) => {
      return { id, name, given: given.replaceAll(/\s/g, '') }
    })
    return { ...message, ...(toolCalls && { toolCalls }) }
  }
  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)

  it('lead the stock client to the messages of every state, in runs that begin and end anywhere', async () => {
    const run = fc.array(step, { maxLength: 12 })
    const property = fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), async (runs) => {
      const { client, read } = createReader()
      let turns: TranscriptTurn[] = []
      for (const steps of runs) {
        const { next, end } = events(client.messages)
        const sent = [...next(piecesOf(turns), 0)]
        for (const each of steps) {
          turns = after(turns, each)
          sent.push(...next(piecesOf(turns), 0))
        }
        await read([...sent, ...end()])
        const shown = (messages: readonly object[]) => messages.map(normal).filter((message) => message !== null)
        expect(shown(client.messages).toSorted(byId)).toEqual(shown(messagesOf(piecesOf(turns))).toSorted(byId))
      }
    })
    await fc.assert(property, { numRuns: casesOf(2_000) })
  })
})
