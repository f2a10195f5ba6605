// What an import expects next: the conversation that it is writing, and how far. Checks the order of the lines. Pure.

import type { ConversationVisibility } from '../../../../store/generated/enums.ts'
import { MAX_PARTICIPANTS } from '../../../conversation/participant/participant.ts'
import { MAX_KEYS, TOTAL_BYTES } from '../../../conversation/shared-state/shared-state.ts'
import { BadLine, type AttachmentLine, type BytesLine, type Line, type StateLine } from '../format.ts'

/**
 * What happens to the lines of a conversation. NEW: they are written. EXISTING: the store has the conversation, and they
 * are compared with it. SKIPPED: they are only counted, because the conversation was erased or has expired.
 */
export type ConversationMode = 'NEW' | 'EXISTING' | 'SKIPPED'

/** The keys of shared state, and the size of their values in bytes of JSON. */
type SharedStateSoFar = { keys: readonly string[]; bytes: number }

/** An attachment, the number of its line, and the names of the chunks that the file store has. */
export type PendingFile = { line: AttachmentLine; number: number; chunks: readonly string[] }

/** The conversation whose lines an import is reading. */
export type ImportState = {
  id: string
  mode: ConversationMode
  /** The salt of the terms of its turns. */
  salt: number
  /** Seq of the last entry that was read, and of the last one of the conversation. */
  seq: number
  lastSeq: number
  /** Whether all entries were read and the head of the journal was written. */
  hasHead: boolean
  /** Number of participants that were read. */
  participants: number
  /** The shared state that was read. */
  sharedState: SharedStateSoFar
  /** Number of bytes of the last attachment that have not been read. */
  fileBytes: number
  /** The attachment whose bytes are being read; null for none, or one that is not written. */
  file: PendingFile | null
  /** The first and last position of turns that were erased on import; null for none. */
  erased: { from: number; to: number } | null
  /** The fields that the last step sets. */
  late: {
    key?: string
    keyScope?: string
    visibility: ConversationVisibility
    automaticTitle?: boolean
    expiresAt?: string
    legalHold?: boolean
  }
  journal: { updatedAt: string; agentTurns?: number; extractedThrough?: number }
}

/** The part of the state that `checkOrder` needs. */
export type OrderState = Pick<
  ImportState,
  'id' | 'seq' | 'lastSeq' | 'hasHead' | 'participants' | 'sharedState' | 'fileBytes'
>

export const NO_SHARED_STATE: SharedStateSoFar = { keys: [], bytes: 0 }

/** Returns the shared state so far with the line. */
export const withSharedState = ({ keys, bytes }: SharedStateSoFar, { key, value }: StateLine): SharedStateSoFar => ({
  keys: [...keys, key],
  bytes: bytes + Buffer.byteLength(JSON.stringify(value ?? null)),
})

/** Checks that the conversation may have the key, too. @throws BadLine */
function checkSharedState(before: SharedStateSoFar, line: StateLine): void {
  if (before.keys.includes(line.key)) throw new BadLine(`has the key ${JSON.stringify(line.key)} of an earlier line`)
  const { keys, bytes } = withSharedState(before, line)
  if (keys.length > MAX_KEYS) {
    throw new BadLine(`is one key of shared state too many: a conversation may have at most ${MAX_KEYS}`)
  }
  if (bytes > TOTAL_BYTES) {
    throw new BadLine(`is too large: the shared state of a conversation may have at most ${TOTAL_BYTES} bytes of JSON`)
  }
}

/** Returns the bytes of a line. */
export const bytesOfLine = ({ base64 }: BytesLine): Buffer => Buffer.from(base64, 'base64')

/** Checks that the line belongs to the attachment before, and all its bytes precede other lines. @throws BadLine */
function checkFile({ fileBytes, seq, hasHead, lastSeq }: OrderState, line: Line): void {
  if (line.type === 'fileBytes') {
    const { length } = bytesOfLine(line)
    if (length > fileBytes)
      throw new BadLine(`has ${length} bytes of a file that has ${fileBytes} more: lines are missing`)
  } else if (line.type === 'fileMissing') {
    if (fileBytes === 0) throw new BadLine('of type fileMissing follows no attachment of which bytes are missing')
  } else if (fileBytes > 0) {
    throw new BadLine(`of type ${line.type} follows an attachment of which ${fileBytes} bytes are missing`)
  } else if (line.type === 'attachment' && (seq > 0 || hasHead)) {
    throw new BadLine('of type attachment must not follow entries, participants or shared state')
  } else if (line.type === 'attachment' && line.position > lastSeq) {
    throw new BadLine(`has the position ${line.position}, but the conversation has ${lastSeq} entries`)
  }
}

const TOP_LEVEL = new Set(['conversation', 'fact', 'profile', 'erasure', 'heldUser', 'end'])

/** Checks that the line may follow, in the conversation of that state; null between conversations. @throws BadLine */
export function checkOrder(state: OrderState | null, line: Line): void {
  const { type } = line
  if (state === null) {
    if (!TOP_LEVEL.has(type))
      throw new BadLine(`of type ${type} belongs to no conversation: lines are missing before it`)
    return
  }
  checkFile(state, line)
  if (type === 'attachment' || type === 'fileBytes' || type === 'fileMissing') return
  if (type === 'entry') {
    if (state.hasHead) throw new BadLine('of type entry must not follow participants or shared state')
    const expected = state.seq + 1
    if (line.seq !== expected || line.seq > state.lastSeq) {
      const wanted = expected > state.lastSeq ? `no more entries (lastSeq is ${state.lastSeq})` : `seq ${expected}`
      throw new BadLine(`has seq ${line.seq}, but ${wanted} must follow: lines are missing or out of order`)
    }
    if (line.turn && line.turn.position > line.seq) throw new BadLine('has a turn whose position is after its seq')
  } else if (type === 'participant' || type === 'sharedState' || type === 'conversationEnd') {
    if (type === 'participant' && state.participants >= MAX_PARTICIPANTS) {
      throw new BadLine(`is one participant too many: a conversation may have at most ${MAX_PARTICIPANTS}`)
    }
    if (type === 'sharedState') checkSharedState(state.sharedState, line)
    if (state.seq !== state.lastSeq) {
      throw new BadLine(`of type ${type} follows seq ${state.seq}, but the conversation has ${state.lastSeq} entries`)
    }
    if (type === 'conversationEnd' && line.id !== state.id)
      throw new BadLine(`ends another conversation than ${state.id}`)
  } else {
    throw new BadLine(`of type ${type} begins before the conversation ${state.id} ends: lines are missing`)
  }
}

/** Returns the range with the position. */
export const withErased = (range: ImportState['erased'], position: number): ImportState['erased'] =>
  range === null
    ? { from: position, to: position }
    : { from: Math.min(range.from, position), to: Math.max(range.to, position) }

/** Whether a summary covers a turn in the range. */
export const mayQuote = (
  range: ImportState['erased'],
  { fromPosition, toPosition }: { fromPosition: number; toPosition: number },
): boolean => range !== null && fromPosition <= range.to && toPosition >= range.from
