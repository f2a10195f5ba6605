// Deletes attachments that no turn uses, and the bytes of files without attachments. Periodic and idempotent; any number
// of processes may run it.

import { withTransaction } from '../../../store/db/tx.ts'
import { deleteUnused } from '../../../store/sql/conversation/attachment/attachments.ts'
import { SYSTEM } from '../../../store/db/scope.ts'
import { takeDueFile } from '../../../store/sql/conversation/attachment/file-deletions.ts'
import type { Platform } from '../../kernel/platform.ts'
import { keyOf, type Files } from './attachment.ts'
import { UPLOAD_SECONDS } from './upload-file.ts'

/** Time after which an attachment that no turn uses is deleted, in hours. @internal Exported for tests. */
export const UNUSED_HOURS = 24
const HOUR_MS = 3_600_000
/** Maximum number of attachments or files that one run deletes. */
const BATCH = 200

type FileDeps = Platform & { files: Files }

/** Deletes attachments that no turn has used in time. Returns their number. */
export const deleteUnusedAttachments = ({ db, clock }: FileDeps): Promise<number> =>
  deleteUnused(db, new Date(clock.Date.now() - UNUSED_HOURS * HOUR_MS), BATCH)

/**
 * Deletes the bytes of queued files that no attachment of the tenant has. A file leaves the queue in the transaction that
 * deletes its bytes, so that it stays queued if the store fails. Returns the number of deleted files.
 */
export async function deleteQueuedFiles({ db, files }: FileDeps): Promise<number> {
  let count = 0
  for (let taken = 0; taken < BATCH; taken++) {
    const found = await withTransaction(db, SYSTEM, async (tx) => {
      const file = await takeDueFile(tx)
      if (file && !file.isUsed) await files.store.delete(keyOf(file.tenant, file.sha256))
      return file
    })
    if (!found) break
    if (!found.isUsed) count += 1
  }
  return count
}

/** Deletes what interrupted writes of files have left. Returns the number of deleted files. */
export const deleteUnfinishedFiles = ({ files }: FileDeps): Promise<number> =>
  files.store.deleteUnfinished(UPLOAD_SECONDS * 1000)
