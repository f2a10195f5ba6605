// The chunks that turn one state of a message into a later one, in the stream protocol of the AI SDK. A message only
// grows: its texts, the arguments and states of its tool calls, and the number of its parts.

import type { UIMessageChunk } from 'ai'
import { turnIdOf, type ConversationMessage, type MessagePart } from './messages.ts'

type ToolPart = Extract<MessagePart, { toolCallId: string }>
type TextPart = Extract<MessagePart, { type: 'text' | 'reasoning' }>

/** What the reader of the chunks has of one turn. */
type Sent = {
  /** Length of the turn's text, which may be divided into parts in another way once the turn is committed. */
  text: number
  /** Length of each part with reasoning. */
  reasoning: number[]
  /** The newest state of each tool call, by `toolCallId`. */
  tools: Map<string, ToolPart>
  /** Numbers of the other parts, by type. */
  others: Map<string, number>
}

const nothing = (): Sent => ({ text: 0, reasoning: [], tools: new Map(), others: new Map() })

/** Returns the parts of each turn, without those that belong to none. */
function partsByTurn(parts: readonly MessagePart[]): Map<string, MessagePart[]> {
  const byTurn = new Map<string, MessagePart[]>()
  for (const part of parts) {
    const turnId = turnIdOf(part)
    if (turnId === undefined) continue
    const own = byTurn.get(turnId) ?? []
    byTurn.set(turnId, own)
    own.push(part)
  }
  return byTurn
}

/** Returns what a message contains of each turn. */
function contentsOf(message: ConversationMessage | undefined): Map<string, Sent> {
  const sent = new Map<string, Sent>()
  for (const [turnId, parts] of partsByTurn(message?.parts ?? [])) {
    const turn = nothing()
    sent.set(turnId, turn)
    for (const part of parts) {
      if ('toolCallId' in part) turn.tools.set(part.toolCallId, part)
      else if (part.type === 'text') turn.text += part.text.length
      else if (part.type === 'reasoning') turn.reasoning.push(part.text.length)
      else turn.others.set(part.type, (turn.others.get(part.type) ?? 0) + 1)
    }
  }
  return sent
}

/** The states of a tool call that have a chunk, in order. A call may skip states. */
const ORDER = ['input-streaming', 'input-available', 'approval-requested', 'output-available']
const rankOf = ({ state }: ToolPart): number => {
  if (state === 'approval-responded') return ORDER.indexOf('approval-requested')
  return ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length
}

/** Yields the chunk that gives a call its input. */
function* inputOf(part: ToolPart, known: ToolPart | undefined): Generator<UIMessageChunk> {
  const { toolCallId, providerExecuted } = part
  const isDynamic = part.type === 'dynamic-tool'
  const tool = {
    toolCallId,
    toolName: isDynamic ? part.toolName : part.type.slice('tool-'.length),
    ...(isDynamic && { dynamic: true }),
    ...(providerExecuted && { providerExecuted }),
  }
  if (part.state !== 'input-streaming') {
    if (!known || known.state === 'input-streaming') yield { type: 'tool-input-available', ...tool, input: part.input }
    return
  }
  if (!known) yield { type: 'tool-input-start', ...tool }
  const received = known?.state === 'input-streaming' ? (known.rawInput ?? '') : ''
  const inputTextDelta = part.rawInput!.slice(received.length)
  if (inputTextDelta !== '') yield { type: 'tool-input-delta', toolCallId, inputTextDelta }
}

function* toolChunks(part: ToolPart, known: ToolPart | undefined): Generator<UIMessageChunk> {
  const { toolCallId } = part
  yield* inputOf(part, known)
  const isNew = !known || rankOf(known) < rankOf(part)
  if (part.state === 'approval-requested' || part.state === 'approval-responded') {
    if (isNew) yield { type: 'tool-approval-request', toolCallId, approvalId: part.approval.id }
  } else if (part.state === 'output-available') {
    const { output, preliminary, providerExecuted } = part
    const isFinal = known?.state === 'output-available' && !known.preliminary
    if (isFinal || (preliminary && known?.output === output)) return
    yield {
      type: 'tool-output-available',
      toolCallId,
      output,
      ...(preliminary && { preliminary }),
      ...(providerExecuted && { providerExecuted }),
    }
  } else if (part.state === 'output-denied' && isNew) yield { type: 'tool-output-denied', toolCallId }
}

/**
 * Returns a function that returns the chunks that lead from the message that the reader has to the given one. The first
 * message that it is called with must continue `known`.
 * @param known the message that the reader has; undefined for none
 */
export function createChunker(known?: ConversationMessage): (message: ConversationMessage) => UIMessageChunk[] {
  const sent = contentsOf(known)
  /** Ids of the parts that have begun and not ended. */
  const open = new Set<string>()

  /** Yields the rest of a text, of which the reader has `from` units. */
  function* textChunks(part: TextPart, id: string, from: number): Generator<UIMessageChunk> {
    const { type, providerMetadata } = part
    const delta = part.text.slice(from)
    if (delta !== '') {
      if (!open.has(id)) yield { type: `${type}-start`, id, providerMetadata }
      open.add(id)
      yield { type: `${type}-delta`, id, delta }
    }
    if (part.state === 'done' && open.delete(id)) yield { type: `${type}-end`, id, providerMetadata }
  }

  function* otherChunks(part: MessagePart): Generator<UIMessageChunk> {
    if (part.type === 'file') {
      const { url, mediaType, providerMetadata } = part
      yield { type: 'file', url, mediaType, providerMetadata }
    } else if (part.type === 'source-url') {
      const { sourceId, url, title, providerMetadata } = part
      yield { type: 'source-url', sourceId, url, title, providerMetadata }
    } else if (part.type === 'data-json') yield part
  }

  /** Yields the chunks of the parts of one turn, and changes what has been sent of it. */
  function* turnChunks(turnId: string, parts: readonly MessagePart[], turn: Sent): Generator<UIMessageChunk> {
    const before = { text: turn.text, reasoning: [...turn.reasoning], others: new Map(turn.others) }
    let [text, texts, reasoned] = [0, 0, 0]
    const others = new Map<string, number>()
    for (const part of parts) {
      if ('toolCallId' in part) {
        yield* toolChunks(part, turn.tools.get(part.toolCallId))
        turn.tools.set(part.toolCallId, part)
      } else if (part.type === 'text') {
        yield* textChunks(part, `${turnId}:text-${++texts}`, Math.max(0, before.text - text))
        text += part.text.length
      } else if (part.type === 'reasoning') {
        yield* textChunks(part, `${turnId}:reasoning-${++reasoned}`, before.reasoning[reasoned - 1] ?? 0)
        turn.reasoning[reasoned - 1] = Math.max(before.reasoning[reasoned - 1] ?? 0, part.text.length)
      } else {
        others.set(part.type, (others.get(part.type) ?? 0) + 1)
        if (others.get(part.type)! > (before.others.get(part.type) ?? 0)) yield* otherChunks(part)
      }
    }
    turn.text = Math.max(before.text, text)
    for (const [type, count] of others) turn.others.set(type, Math.max(before.others.get(type) ?? 0, count))
  }

  return ({ parts }) => {
    const chunks: UIMessageChunk[] = []
    for (const [turnId, own] of partsByTurn(parts)) {
      const turn = sent.get(turnId) ?? nothing()
      const added = [...turnChunks(turnId, own, turn)]
      if (added.length > 0 && !sent.has(turnId)) chunks.push({ type: 'start-step' })
      if (added.length > 0) sent.set(turnId, turn)
      chunks.push(...added)
    }
    return chunks
  }
}
