// Reads attachments of one conversation by id.

import type { Db } from '../../../db/db.ts'
import type { AttachmentRow } from './attachments.ts'

/** Those of the attachments that the conversation has, unordered. Uses the primary key. */
export const readAttachmentsOf = (
  db: Db,
  tenant: string,
  conversationId: string,
  ids: readonly string[],
): Promise<AttachmentRow[]> =>
  db
    .of(tenant)
    .attachment.findMany({
      where: { id: { in: [...ids] }, conversationId, tenant },
      select: {
        id: true,
        conversationId: true,
        sha256: true,
        bytes: true,
        mediaType: true,
        fileName: true,
        width: true,
        height: true,
      },
    })
