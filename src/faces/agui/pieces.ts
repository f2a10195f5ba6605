// What a viewer has of a conversation, in the pieces of which AG-UI streams each: texts, reasoning, tool calls, results.
// The same turns give the same ids in every run, so that a client that returns its messages is known to have them. Pure.

import type { TranscriptTurn } from '../../client/index.ts'
import type { ContentPart, Message } from './protocol.ts'

type TurnPart = TranscriptTurn['parts'][number]
/** Returns the absolute URL of an attachment. */
type FileUrl = (attachment: { url: string }) => string

/** Properties of every piece: `position` is that of its turn; an open piece may grow. */
type PieceOf<Fields> = Fields & { position: number; messageId: string; text: string; isOpen: boolean }

export type Piece =
  | PieceOf<{ kind: 'text'; role: 'user' | 'assistant' | 'system'; name?: string }>
  | PieceOf<{ kind: 'reasoning' }>
  | PieceOf<{ kind: 'call'; toolCallId: string; name: string }>
  | PieceOf<{ kind: 'result'; toolCallId: string }>
  /** A message with files, which AG-UI does not stream. `text` is its JSON. */
  | PieceOf<{ kind: 'whole'; message: Message }>

/** The field of a turn's metadata with the id of its message at the client that wrote it. */
export const MESSAGE_ID = 'messageId'

/** The prefix of the ids of turns. */
const TURN = 'turn_'

/** Whether the server has given the id to a message. */
export const isOfServer = (id: string): boolean => id.startsWith(TURN)

/** Returns the turn and the call that an id of a tool call in messages names; null for an id of another server. */
export function callOf(toolCallId: string): { turnId: string; callId: string } | null {
  const at = toolCallId.indexOf(':')
  if (!isOfServer(toolCallId) || at < 0) return null
  return { turnId: toolCallId.slice(0, at), callId: toolCallId.slice(at + 1) }
}

/** Returns the id of a tool call in messages. Ids of calls are unique in their turns only. */
export const callKey = (turnId: string, callId: string): string => `${turnId}:${callId}`

/** Returns the id that names the piece among the pieces of a conversation. */
export const keyOf = (piece: Piece): string =>
  piece.kind === 'call' || piece.kind === 'result'
    ? `${piece.kind} ${piece.toolCallId}`
    : `${piece.kind} ${piece.messageId}`

/** The id of the message of a turn: for the viewer's own, the one with which its client sent it. */
function messageIdOf({ id, actor, role, metadata }: TranscriptTurn, viewer: string): string {
  const own: unknown = (metadata as Record<string, unknown> | null)?.[MESSAGE_ID]
  return typeof own === 'string' && actor === viewer && (role === 'USER' || role === 'TOOL') ? own : id
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Returns the arguments of a call as they were streamed, or else as JSON, and whether more may follow. */
function argumentsOf(turn: TranscriptTurn, { callId, arguments: given }: TurnPart & { __typename: 'ToolCallPart' }) {
  const streamed = turn.live?.find((delta) => delta.type === 'TOOL_CALL' && delta.callId === callId)
  if (turn.status !== 'STREAMING' || !streamed) return { text: JSON.stringify(given), isOpen: false }
  return { text: streamed.joined, isOpen: !streamed.isComplete }
}

/** Returns the part as content of a message; null for one that no content of AG-UI describes. */
function contentOf(part: TurnPart, fileUrl: FileUrl): ContentPart | null {
  if (part.__typename === 'TextPart') return { type: 'text', text: part.text }
  if (part.__typename !== 'FilePart') return null
  const { mediaType, fileName, attachment } = part
  const url = attachment ? fileUrl(attachment) : part.url
  const [kind] = mediaType.split('/')
  const type = kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document'
  const source = { type: 'url' as const, value: url, mimeType: mediaType }
  return { type, source, ...(fileName === null ? null : { metadata: { fileName } }) }
}

/**
 * Yields the pieces of a turn, in the order of its parts. Its text is one piece, which precedes the calls also if it is
 * empty, because a call cannot name the author of its message.
 */
function* piecesOfTurn(turn: TranscriptTurn, viewer: string, fileUrl: FileUrl): Generator<Piece> {
  const { id, position, actor, author, role, parts } = turn
  const isOpen = turn.status === 'STREAMING'
  const base = { position, messageId: messageIdOf(turn, viewer), isOpen }
  const name = actor === viewer ? null : { name: author?.displayName ?? actor }
  if (role === 'USER' && parts.some(({ __typename }) => __typename === 'FilePart')) {
    const content = parts.map((part) => contentOf(part, fileUrl)).filter((part) => part !== null)
    const message: Message = { id: base.messageId, role: 'user', content, ...name }
    return yield { ...base, kind: 'whole', message, text: JSON.stringify(message), isOpen: false }
  }
  const speaker = role === 'USER' ? 'user' : role === 'SYSTEM' ? 'system' : 'assistant'
  let [hasText, reasoned] = [false, 0]
  for (const [index, part] of parts.entries()) {
    const isText = part.__typename === 'TextPart' && turn.text !== ''
    if (!hasText && (isText || part.__typename === 'ToolCallPart')) {
      hasText = true
      yield { ...base, kind: 'text', role: speaker, text: turn.text, ...name }
    }
    if (part.__typename === 'ReasoningPart' && part.reasoning !== '') {
      const messageId = callKey(id, `reasoning-${++reasoned}`)
      const isGrowing = isOpen && index === parts.length - 1
      yield { ...base, kind: 'reasoning', messageId, text: part.reasoning, isOpen: isGrowing }
    } else if (part.__typename === 'ToolCallPart') {
      const toolCallId = callKey(id, part.callId)
      yield { ...base, kind: 'call', toolCallId, name: part.name, ...argumentsOf(turn, part) }
    } else if (part.__typename === 'ToolResultPart') {
      const toolCallId = callKey(part.callTurnId ?? id, part.callId)
      // A client sends each result in a turn of its own.
      const isOwn = base.messageId !== id && parts.length === 1
      const messageId = isOwn ? base.messageId : callKey(id, `result-${part.callId}`)
      yield { ...base, kind: 'result', messageId, toolCallId, text: textOf(part.result), isOpen: false }
    }
  }
}

/**
 * Returns a function that returns the pieces of the turns, by position, and the same pieces for the same turn. Sources, data
 * and the files of agents are left out, because AG-UI has no messages for them.
 */
export function createPieces(viewer: string, fileUrl: FileUrl): (turns: readonly TranscriptTurn[]) => Piece[] {
  const known = new WeakMap<TranscriptTurn, Piece[]>()
  return (turns) =>
    turns.flatMap((turn) => {
      const pieces = known.get(turn) ?? [...piecesOfTurn(turn, viewer, fileUrl)]
      known.set(turn, pieces)
      return pieces
    })
}

/** Returns the messages of the pieces. A message contains the text and the calls of its turn. */
export function messagesOf(pieces: readonly Piece[]): Message[] {
  const messages: Message[] = []
  const assistants = new Map<string, Message & { role: 'assistant' }>()
  const assistant = (id: string) => {
    const found = assistants.get(id)
    if (found) return found
    const message: Message & { role: 'assistant' } = { id, role: 'assistant' }
    assistants.set(id, message)
    messages.push(message)
    return message
  }
  for (const piece of pieces) {
    const { messageId: id, text } = piece
    if (piece.kind === 'whole') messages.push(piece.message)
    else if (piece.kind === 'reasoning') messages.push({ id, role: 'reasoning', content: text })
    else if (piece.kind === 'result') messages.push({ id, role: 'tool', toolCallId: piece.toolCallId, content: text })
    else if (piece.kind === 'call') {
      const call = { id: piece.toolCallId, type: 'function' as const, function: { name: piece.name, arguments: text } }
      ;(assistant(id).toolCalls ??= []).push(call)
    } else {
      const { role, name } = piece
      const content = { content: text, ...(name !== undefined && { name }) }
      if (role === 'assistant') Object.assign(assistant(id), content)
      else messages.push({ id, role, ...content })
    }
  }
  return messages
}
