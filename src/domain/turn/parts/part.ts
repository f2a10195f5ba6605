// The stored form of the parts of a turn's content.

import type { Attachment } from '../../conversation/attachment/attachment.ts'

/** A file by its URL. That of an attachment is its URN (`urnOf`). */
export type FilePart = {
  type: 'file'
  mediaType: string
  url: string
  fileName?: string | null
  caption?: string | null
  /** The attachment; absent for other files. The function use_attachments reads `attachmentId` of stored parts. */
  attachmentId?: string
  attachment?: Pick<Attachment, 'sha256' | 'bytes' | 'width' | 'height'>
}

export type ContentPart =
  | { type: 'text'; text: string }
  | { type: 'toolCall'; callId: string; name: string; arguments: unknown }
  | {
      type: 'toolResult'
      callId: string
      name: string
      result: unknown
      /** The turn that made the call, in any version; absent before the result is written, or if it is unknown. */
      callTurnId?: string
      /** The position of that turn, which all its versions share; absent before the result is written. */
      callPosition?: number
      /** The approval of the call, if the result was written because of the decision. Never given by a client. */
      approvalId?: string
    }
  | FilePart
  | { type: 'reasoning'; reasoning: string; signature?: string | null }
  | { type: 'source'; url: string; title?: string | null }
  | { type: 'data'; data: unknown }
