// What a batch of lines of an import writes, and what it compares with the store. import-batch.ts collects it.

import type {
  ImportedCall,
  ImportedResult,
  ImportedTurn,
  JournalHead,
  LateFields,
  NewConversation,
  StoredConversation,
} from '../../../../store/sql/trust/transfer/imported-conversation.ts'
import type {
  AttachmentLine,
  ConversationLine,
  EntryLine,
  ListLine,
  ParticipantLine,
  StateLine,
  Values,
} from '../format.ts'
import type { Erased } from './import-erased.ts'
import type { Numbered, PreparedFact } from './import-lines.ts'
import type { ImportState, PendingFile } from './import-state.ts'

export type In = Values & { conversationId: string }

/** Bytes of a file, which the file store keeps under a name of the import until the file is complete. */
export type FileChunk = { name: string; bytes: Buffer }

/** The rows to write, in the order of writing, and the lines to compare with the store. */
export type Batch = {
  conversations: NewConversation[]
  /** The chunks of files, and the attachments of which the batch has the last chunk. */
  chunks: FileChunk[]
  attachments: (PendingFile & { conversationId: string })[]
  /** Names of the chunks that the import does not need any more. */
  finishedChunks: string[]
  entries: In[]
  turns: ImportedTurn[]
  calls: ImportedCall[]
  results: ImportedResult[]
  summaries: (In & { id: string })[]
  heads: JournalHead[]
  participants: In[]
  sharedStates: In[]
  published: LateFields[]
  facts: PreparedFact[]
  lists: ListLine[]
  /** Lines of conversations that the store has. */
  existing: (Numbered<ConversationLine | AttachmentLine | EntryLine | ParticipantLine | StateLine> & {
    conversationId: string
  })[]
  /** Number of objects by type and outcome, for example `turn.added`. */
  report: Record<string, number>
  /** The conversation after the batch; null between conversations. */
  state: ImportState | null
  isEnd: boolean
}

/** What the store contains of the conversations that begin in the batch. */
export type Stored = {
  tenant: string
  transferId: string
  now: number
  erased: Erased
  conversations: readonly StoredConversation[]
}

/** The outcomes that a report counts. @internal */
export const OUTCOMES = ['added', 'unchanged', 'kept', 'erased', 'expired', 'duplicate', 'missing'] as const
type Outcome = (typeof OUTCOMES)[number]

export function count(report: Record<string, number>, type: string, outcome: Outcome, number = 1): void {
  if (number > 0) report[`${type}.${outcome}`] = (report[`${type}.${outcome}`] ?? 0) + number
}

export const newBatch = (report: Record<string, number>, state: ImportState | null): Batch => ({
  conversations: [],
  chunks: [],
  attachments: [],
  finishedChunks: [],
  entries: [],
  turns: [],
  calls: [],
  results: [],
  summaries: [],
  heads: [],
  participants: [],
  sharedStates: [],
  published: [],
  facts: [],
  lists: [],
  existing: [],
  report: { ...report },
  state,
  isEnd: false,
})
