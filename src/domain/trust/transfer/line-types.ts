// The types of the lines of a transfer file, which format.ts checks.

import type { EntryKind, Role } from '../../../store/generated/enums.ts'

/** An object with the properties of columns.ts. Values that equal the fallback of their column are absent. */
export type Values = Record<string, unknown>
export type TurnValues = Values & { id: string; position: number; actor: string; role: Role; text: string }
export type EntryLine = Values & {
  type: 'entry'
  seq: number
  kind: EntryKind
  turn?: TurnValues
  summary?: Values & { id: string; fromPosition: number; toPosition: number }
}
export type ConversationLine = Values & { type: 'conversation'; id: string; owner: string; lastSeq: number }
export type ParticipantLine = Values & { type: 'participant'; actor: string }
export type AttachmentLine = Values & {
  type: 'attachment'
  id: string
  sha256: string
  bytes: number
  mediaType: string
  uploadedBy: string
  /** Position of the turn that uses it. */
  position: number
}
export type BytesLine = { type: 'fileBytes'; base64: string }
export type MissingLine = { type: 'fileMissing' }
export type StateLine = Values & { type: 'sharedState'; key: string; writers: string[] }
export type ConversationEnd = { type: 'conversationEnd'; id: string; sha256?: string }
export type FactLine = Values & { type: 'fact'; id: string; sources: (Values & { conversationId?: string })[] }
export type ListLine = Values & { type: 'profile' | 'erasure' | 'heldUser' }
export type EndLine = {
  type: 'end'
  lines: number
  counts: Record<string, number>
  sha256: string
  manifestSha256: string
}
export type Line =
  | ConversationLine
  | AttachmentLine
  | BytesLine
  | MissingLine
  | EntryLine
  | ParticipantLine
  | StateLine
  | ConversationEnd
  | FactLine
  | ListLine
  | EndLine
