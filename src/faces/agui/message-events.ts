// The events that lead a client from the messages that it has to those of the conversation: the pieces that are new or have
// grown, or a snapshot of all messages where AG-UI has no event for the change.

import { keyOf, messagesOf, type Piece } from './pieces.ts'
import type { AguiEvent, Message } from './protocol.ts'

/** A message of the client, as it was sent. */
type Received = { id: string; role: string; content?: unknown }
/** A piece that the client has. `isStarted`: whether it was started in this stream and not yet ended. */
type Sent = { piece: Piece; isStarted: boolean }

export type MessageEvents = {
  /**
   * Returns the events of the pieces, which are all that the viewer has from the position on. What the client has from
   * before it is kept.
   */
  next(pieces: readonly Piece[], fromPosition: number): AguiEvent[]
  /** Returns the events that end what is open. A later call of `next` may start it again. */
  end(): AguiEvent[]
}

function startOf(piece: Piece): AguiEvent[] {
  const { messageId } = piece
  if (piece.kind === 'text') {
    const { role, name } = piece
    return [{ type: 'TEXT_MESSAGE_START', messageId, role, ...(name !== undefined && { name }) }]
  }
  if (piece.kind === 'reasoning') {
    return [
      { type: 'REASONING_START', messageId },
      { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
    ]
  }
  if (piece.kind !== 'call') return []
  return [
    { type: 'TOOL_CALL_START', toolCallId: piece.toolCallId, toolCallName: piece.name, parentMessageId: messageId },
  ]
}

function contentOf(piece: Piece, delta: string): AguiEvent[] {
  const { messageId } = piece
  if (delta === '') return []
  if (piece.kind === 'text') return [{ type: 'TEXT_MESSAGE_CONTENT', messageId, delta }]
  if (piece.kind === 'reasoning') return [{ type: 'REASONING_MESSAGE_CONTENT', messageId, delta }]
  return piece.kind === 'call' ? [{ type: 'TOOL_CALL_ARGS', toolCallId: piece.toolCallId, delta }] : []
}

function endOf(piece: Piece): AguiEvent[] {
  const { messageId } = piece
  if (piece.kind === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId }]
  if (piece.kind === 'call') return [{ type: 'TOOL_CALL_END', toolCallId: piece.toolCallId }]
  if (piece.kind !== 'reasoning') return []
  return [
    { type: 'REASONING_MESSAGE_END', messageId },
    { type: 'REASONING_END', messageId },
  ]
}

const resultOf = ({ messageId, toolCallId, text }: Piece & { kind: 'result' }): AguiEvent => ({
  type: 'TOOL_CALL_RESULT',
  messageId,
  toolCallId,
  content: text,
  role: 'tool',
})

/** Whether both are the same JSON: arguments may have been streamed with white space, which is not stored. */
function isSameJson(one: string, other: string): boolean {
  try {
    return JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other))
  } catch {
    return false
  }
}

/** Returns what follows the text that the client has; null if the piece is not a continuation of it. */
function continuationOf(piece: Piece, { piece: known }: Sent): string | null {
  if (piece.kind === 'result' || piece.kind === 'whole') return null
  // An open piece only grows. Comparing it after each delta would take time in the square of its length.
  const isGrown = piece.isOpen && known.isOpen && piece.text.length >= known.text.length
  if (isGrown || piece.text.startsWith(known.text)) return piece.text.slice(known.text.length)
  return piece.kind === 'call' && !piece.isOpen && isSameJson(piece.text, known.text) ? '' : null
}

/**
 * Creates the events of one stream. The first call of `next` returns a snapshot.
 * @param received the messages that the client has
 * @param kept returns those of them that a snapshot keeps besides the messages of the conversation
 * @param isLeftOut whether the first snapshot lacks a piece, so that the client receives its events
 */
export function createMessageEvents(
  received: readonly Received[],
  kept: (messages: readonly Message[]) => Received[],
  isLeftOut: (piece: Piece) => boolean,
): MessageEvents {
  let sent: Map<string, Sent> | null = null
  const reasoned = new Set(received.flatMap(({ id, role }) => (role === 'reasoning' ? [id] : [])))

  /** Returns a snapshot of the pieces. Those that are open and started stay so. */
  function snapshotOf(pieces: readonly Piece[]): AguiEvent {
    const before = sent
    const isStarted = (piece: Piece) => before?.get(keyOf(piece))?.isStarted ?? false
    sent = new Map(pieces.map((piece) => [keyOf(piece), { piece, isStarted: isStarted(piece) }]))
    const shown = messagesOf(pieces)
    const messages: Received[] = [...kept(shown), ...shown]
    // A client keeps its reasoning if a snapshot contains none.
    const [gone] = messages.some(({ role }) => role === 'reasoning') ? [] : reasoned
    if (gone !== undefined) messages.push({ id: gone, role: 'reasoning', content: '' })
    return { type: 'MESSAGES_SNAPSHOT', messages }
  }

  /** Returns the events of one piece, and notes that the client has it. */
  function eventsOf(known: Map<string, Sent>, piece: Piece, delta: string): AguiEvent[] {
    const before = known.get(keyOf(piece))
    if (piece.kind === 'reasoning') reasoned.add(piece.messageId)
    const isNew = !before
    const starts = !before?.isStarted && (isNew || delta !== '')
    const isStarted = (before?.isStarted ?? false) || starts
    known.set(keyOf(piece), { piece, isStarted: isStarted && piece.isOpen })
    if (piece.kind === 'result') return isNew ? [resultOf(piece)] : []
    return [
      ...(starts ? startOf(piece) : []),
      ...contentOf(piece, delta),
      ...(isStarted && !piece.isOpen ? endOf(piece) : []),
    ]
  }

  function endAll(known: Map<string, Sent>, isEnded: (piece: Piece) => boolean): AguiEvent[] {
    return [...known].flatMap(([key, { piece, isStarted }]) => {
      if (!isStarted || !isEnded(piece)) return []
      known.set(key, { piece, isStarted: false })
      return endOf(piece)
    })
  }

  return {
    next(given, fromPosition) {
      if (!sent) {
        const shown = given.filter((piece) => !isLeftOut(piece))
        const first = snapshotOf(shown)
        return [first, ...given.filter(isLeftOut).flatMap((piece) => eventsOf(sent!, piece, piece.text))]
      }
      const older = [...sent.values()].map(({ piece }) => piece).filter(({ position }) => position < fromPosition)
      const pieces = [...older, ...given]
      const keys = new Set(pieces.map(keyOf))
      const known = sent
      const changes = pieces.map((piece) => {
        const before = known.get(keyOf(piece))
        if (!before) return piece.kind === 'whole' ? null : piece.text
        return before.piece === piece || before.piece.text === piece.text ? '' : continuationOf(piece, before)
      })
      const isReplaced = changes.includes(null) || [...known.keys()].some((key) => !keys.has(key))
      if (!isReplaced) return pieces.flatMap((piece, index) => eventsOf(known, piece, changes[index]!))
      // What is started and has no piece any more must end; the snapshot then replaces its text.
      const ended = endAll(known, (piece) => !keys.has(keyOf(piece)))
      const snapshot = snapshotOf(pieces)
      return [...ended, snapshot, ...endAll(sent, (piece) => !piece.isOpen)]
    },
    end: () => (sent ? endAll(sent, () => true) : []),
  }
}
