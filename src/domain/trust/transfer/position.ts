// The steps of an export, each one read of the database and the stage that follows it, and how far an export has come:
// the lines after which it continues, and the counts and the hash of the lines so far. A
// client keeps it as an opaque cursor, so an export can be continued after the last page that the client has stored,
// by any process. Pure.

import { z } from 'zod'
import { InvalidInput } from '../../../errors.ts'
import { FIRST_HASH } from './format.ts'
import type { Files } from '../../conversation/attachment/attachment.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { ConversationsOf } from '../../../store/sql/trust/transfer/exported-conversation.ts'

const seq = z.int().min(0)
const place = z.object({ createdAt: z.iso.datetime(), id: z.string() })

/** What the next lines contain, and the last exported object of that kind. */
const stage = z.discriminatedUnion('at', [
  /** The conversation after the place. */
  z.object({ at: z.literal('conversations'), after: place }),
  /** The bytes after `offset` of the attachment with the id; with offset 0, the attachments after it. */
  z.object({ at: z.literal('attachments'), conversation: place, head: seq, id: z.string(), offset: seq }),
  /** The entries of a conversation after `seq`, up to `head`. */
  z.object({ at: z.literal('entries'), conversation: place, head: seq, seq }),
  /** The turns of a conversation that a user may export, after the seqs. */
  z.object({ at: z.literal('turns'), conversation: place, position: seq, seq }),
  z.object({ at: z.literal('participants'), conversation: place, actor: z.string() }),
  z.object({ at: z.literal('facts'), after: place }),
  z.object({ at: z.enum(['profile', 'erasure', 'heldUser']), after: z.string() }),
  z.object({ at: z.literal('end') }),
])
export type Stage = z.output<typeof stage>

const position = z.object({
  transferId: z.string(),
  stage,
  lines: seq,
  chain: z.string(),
  counts: z.record(z.string(), seq),
})
export type Position = z.output<typeof position>

/** Before the first conversation or fact. */
export const FIRST_PLACE = { createdAt: '0001-01-01T00:00:00Z', id: '' }

/** Returns the position before the first line. */
export const firstPosition = (transferId: string): Position => ({
  transferId,
  stage: { at: 'conversations', after: FIRST_PLACE },
  lines: 0,
  chain: FIRST_HASH,
  counts: {},
})

export const encodePosition = (given: Position): string => Buffer.from(JSON.stringify(given)).toString('base64url')

/**
 * @param conversationId the only conversation of the export; null if it has others. A client could change the cursor.
 * @throws InvalidInput for text that is not a cursor of this export
 */
export function decodePosition(cursor: string, transferId: string, conversationId: string | null): Position {
  try {
    const found = position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    const isOwn = !('conversation' in found.stage) || [null, found.stage.conversation.id].includes(conversationId)
    if (found.transferId === transferId && isOwn) return found
  } catch {
    // Not a cursor.
  }
  throw InvalidInput.at('after', `is not a cursor of the export ${transferId}`)
}

export type ExportedLine = { type: string } & Record<string, unknown>

/** The lines of a step, in order, and the next stage. */
export type StepResult = { objects: ExportedLine[]; next: Stage }

export type StepDeps = Platform & { files: Files }

/** Reads the next lines of an export at that stage. */
export type Step = (deps: StepDeps, scope: ConversationsOf, stage: Stage) => Promise<StepResult>

/** Maximum number of rows that one step reads. */
export const STEP_ROWS = 500
/** Number of bytes of content after which a step reads no more turns. */
export const STEP_BYTES = 512 * 1024

/** Adds the type to the objects of a read. */
export const linesOf = (type: string, objects: readonly Record<string, unknown>[]): ExportedLine[] =>
  objects.map((each) => ({ type, ...each }))
