// The chunks between two states of a message: read by the AI SDK itself, they lead to the later state.

import { readUIMessageStream, type UIMessageChunk } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createChunker } from '../../../src/ai-sdk/chunks.ts'
import { toAnswers, turnIdOf, type ConversationMessage } from '../../../src/ai-sdk/messages.ts'
import type { TranscriptTurn } from '../../../src/client/conversation/transcript-state.ts'
import { casesOf } from '../../support/long.ts'
import { call, delta, reasoning, result, text, turn } from '../../support/transcript-turns.ts'

const streamOf = (chunks: readonly UIMessageChunk[]) =>
  new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })

/** Returns the message that the AI SDK makes of the chunks, from the message it has. */
async function read(chunks: readonly UIMessageChunk[], known?: ConversationMessage): Promise<ConversationMessage> {
  const empty: ConversationMessage = { id: 'turn_1', role: 'assistant', parts: [] }
  let last = known ?? empty
  const given = { message: structuredClone(last), stream: streamOf(chunks), terminateOnError: true }
  for await (const message of readUIMessageStream<ConversationMessage>(given)) last = message
  return last
}

/** The content of a message by turn: its text and reasoning, the states of its calls, and its other parts, in order. */
function contentOf({ parts }: ConversationMessage) {
  const turns = new Map<string, { text: string; reasoning: string; tools: object[]; others: string[] }>()
  for (const part of parts) {
    const turnId = turnIdOf(part)
    if (turnId === undefined) continue
    const own = turns.get(turnId) ?? { text: '', reasoning: '', tools: [], others: [] }
    turns.set(turnId, own)
    if (part.type === 'text') own.text += part.text
    else if (part.type === 'reasoning') own.reasoning += part.text
    else if ('toolCallId' in part) {
      const { toolCallId, state, type } = part
      const isStreaming = state === 'input-streaming'
      own.tools.push({
        toolCallId,
        type,
        state,
        input: isStreaming ? part.rawInput || undefined : part.input,
        output: 'output' in part ? part.output : undefined,
        preliminary: ('preliminary' in part && part.preliminary) || undefined,
      })
    } else own.others.push(part.type)
  }
  return Object.fromEntries(turns)
}

/** A step of an answer: it changes the last turn, or ends it and begins the next one. */
type Step =
  | { do: 'text' | 'reasoning' | 'arguments' | 'progress'; value: string }
  | { do: 'call' | 'complete' | 'result' | 'source' | 'data' | 'next' | 'omit' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('text', 'reasoning', 'arguments', 'progress'), value: fc.string({ minLength: 1 }) }),
  fc.record({ do: fc.constantFrom('call', 'complete', 'result', 'source', 'data', 'next', 'omit') }),
)

/** Returns the turns after each step. The turns are those of one answer, because each but the last one calls a tool. */
function statesOf(steps: readonly Step[]): TranscriptTurn[][] {
  let turns: TranscriptTurn[] = [turn(1, [], { status: 'STREAMING', live: [] })]
  let ids = 0
  const states = [turns]
  let before = ''
  for (const { do: action, value } of steps as { do: string; value: string }[]) {
    const open = turns.at(-1)!
    const parts = [...open.parts]
    const live = [...(open.live ?? [])]
    const last = parts.at(-1)
    const incomplete = live.findLastIndex((each) => each.type === 'TOOL_CALL' && !each.isComplete)
    const set = (more: Partial<TranscriptTurn>) => (turns = [...turns.slice(0, -1), { ...open, parts, live, ...more }])
    if (action === 'text')
      parts.push(...(last?.__typename === 'TextPart' ? [text(parts.pop()!['text' as never] + value)] : [text(value)]))
    if (action === 'reasoning') {
      const joined =
        before === 'reasoning' && last?.__typename === 'ReasoningPart'
          ? (parts.pop() as { reasoning: string }).reasoning
          : ''
      parts.push(reasoning(joined + value))
    }
    if (action === 'call') {
      const callId = `c${++ids}`
      parts.push(call(callId, ''))
      live.push(delta('TOOL_CALL', { callId }))
    }
    if (action === 'arguments' && incomplete >= 0)
      live[incomplete] = { ...live[incomplete]!, joined: live[incomplete]!.joined + value }
    if (action === 'complete' && incomplete >= 0) {
      const { callId } = live[incomplete]!
      live[incomplete] = { ...live[incomplete]!, isComplete: true }
      const at = parts.findIndex((part) => part.__typename === 'ToolCallPart' && part.callId === callId)
      parts[at] = call(callId!, { n: ids })
    }
    const complete = live.find(
      ({ type, isComplete, callId }) =>
        type === 'TOOL_CALL'
        && isComplete
        && !parts.some((part) => part.__typename === 'ToolResultPart' && part.callId === callId),
    )
    if (action === 'progress' && complete) {
      const at = live.findIndex(({ type, callId }) => type === 'TOOL_PROGRESS' && callId === complete.callId)
      const joined = (at < 0 ? '' : live[at]!.joined) + value
      live.splice(
        at < 0 ? live.length : at,
        at < 0 ? 0 : 1,
        delta('TOOL_PROGRESS', { callId: complete.callId, joined }),
      )
    }
    if (action === 'result' && complete) parts.push(result(complete.callId!, open.id, { of: complete.callId }))
    if (action === 'source') parts.push({ __typename: 'SourcePart', url: `https://x.org/${++ids}`, title: 'X' })
    if (action === 'data') parts.push({ __typename: 'DataPart', data: ++ids })
    if (action === 'omit' && incomplete >= 0) {
      // A commit leaves out a call that is not complete, and the texts around it become one.
      const { callId } = live[incomplete]!
      const rest = parts.filter((part) => !(part.__typename === 'ToolCallPart' && part.callId === callId))
      const joined: typeof parts = []
      for (const part of rest) {
        const before = joined.at(-1)
        if (part.__typename === 'TextPart' && before?.__typename === 'TextPart')
          joined[joined.length - 1] = text(before.text + part.text)
        else joined.push(part)
      }
      parts.splice(0, parts.length, ...joined)
      live.splice(incomplete, 1)
    }
    set({})
    if (action === 'next') {
      const id = `n${++ids}`
      // A tool whose progress was shown has returned its result when the turn ends.
      const reported = live.flatMap(({ type, callId }) => (type === 'TOOL_PROGRESS' ? [callId!] : []))
      const answered = new Set(parts.flatMap((part) => (part.__typename === 'ToolResultPart' ? [part.callId] : [])))
      for (const callId of reported) if (!answered.has(callId)) parts.push(result(callId, open.id, { of: callId }))
      parts.push(call(id, { next: true }))
      set({ status: 'COMMITTED', live: undefined })
      turns = [
        ...turns,
        turn(turns.length * 2, [result(id, open.id, 'next')], { role: 'TOOL' }),
        turn(turns.length * 2 + 1, [], { status: 'STREAMING', live: [] }),
      ]
    }
    states.push(turns)
    before = action
  }
  return states
}

const messageOf = (turns: TranscriptTurn[]) => toAnswers(turns)[0]!.message
/** Returns whether a part is a call that the message no longer has. A reader keeps it. */
const isGone = (message: ConversationMessage) => {
  const calls = new Set(message.parts.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])))
  return (part: ConversationMessage['parts'][number]) => 'toolCallId' in part && !calls.has(part.toolCallId)
}

describe('the chunks of a message', () => {
  it('lead the AI SDK to its last state, wherever the stream is taken up by another one', async () => {
    const given = [fc.array(step, { maxLength: 30 }), fc.array(fc.nat(), { maxLength: 12 }), fc.nat()] as const
    await fc.assert(
      fc.asyncProperty(...given, async (steps, picks, cut) => {
        const states = statesOf(steps)
        const reads = [...new Set(picks.map((pick) => pick % states.length))].sort((a, b) => a - b)
        const shown = [...reads, states.length - 1].map((at) => messageOf(states[at]!))
        const at = cut % shown.length
        const first = createChunker()
        const known = await read(shown.slice(0, at).flatMap((message) => first(message)))
        const second = createChunker(known)
        const message = await read(
          shown.slice(at).flatMap((each) => second(each)),
          known,
        )
        const last = shown.at(-1)!
        const kept = { ...message, parts: message.parts.filter((part) => !isGone(last)(part)) }
        expect(contentOf(kept)).toEqual(contentOf(last))
      }),
      { numRuns: casesOf(4000) },
    )
  })

  it('give nothing for a state that was sent', () => {
    const states = statesOf([
      { do: 'text', value: 'a' },
      { do: 'call' },
      { do: 'arguments', value: '{}' },
      { do: 'complete' },
      { do: 'progress', value: 'half' },
      { do: 'next' },
    ])
    const chunker = createChunker()
    for (const turns of states) {
      chunker(messageOf(turns))
      expect(chunker(messageOf(turns))).toEqual([])
    }
  })
})
