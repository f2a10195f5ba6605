// Deletes attachments that no turn uses, and the bytes of files without attachments. Periodic and idempotent; any number
// of processes may run it.

import { deleteUnused } from '../../../store/sql/conversation/attachment/attachments.ts'
import { endDeletion, readDueFiles, startDeletion } from '../../../store/sql/conversation/attachment/file-deletions.ts'
import type { Platform } from '../../kernel/platform.ts'
import { keyOf, type Files } from './attachment.ts'
import { UPLOAD_SECONDS } from './upload-file.ts'

/** Time after which an attachment that no turn uses is deleted, in hours. @internal Exported for tests. */
export const UNUSED_HOURS = 24
const HOUR_MS = 3_600_000
/**
 * Time after which a deletion that failed is repeated, in seconds. Until then the store may still execute the request, so
 * the same file cannot be uploaded.
 */
const RETRY_SECONDS = 300
/** Maximum number of attachments or files that one run deletes. */
const BATCH = 200

type FileDeps = Platform & { files: Files }

/** Deletes attachments that no turn has used in time. Returns their number. */
export const deleteUnusedAttachments = ({ db, clock }: FileDeps): Promise<number> =>
  deleteUnused(db, new Date(clock.Date.now() - UNUSED_HOURS * HOUR_MS), BATCH)

/**
 * Deletes the bytes of queued files that no attachment of the tenant has. A file that the store cannot delete stays queued,
 * and is tried again after RETRY_SECONDS. Returns the number of deleted files.
 */
export async function deleteQueuedFiles({ db, files, log }: FileDeps): Promise<number> {
  let count = 0
  for (const file of await readDueFiles(db, BATCH)) {
    const started = await startDeletion(db, file, RETRY_SECONDS)
    if (started === null) continue
    try {
      await files.store.delete(keyOf(file.tenant, file.sha256))
    } catch (error) {
      log.error({ err: error, sha256: file.sha256 }, 'the file store cannot delete a file, which is tried again later')
      continue
    }
    await endDeletion(db, started)
    count += 1
  }
  return count
}

/** Deletes what interrupted writes of files have left. Returns the number of deleted files. */
export const deleteUnfinishedFiles = ({ files }: FileDeps): Promise<number> =>
  files.store.deleteUnfinished(UPLOAD_SECONDS * 1000)
