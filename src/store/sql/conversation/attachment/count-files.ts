// Counts the attachments of a conversation, and the bytes of those of a tenant.

import type { Tx } from '../../../db/db.ts'

/** Number of attachments of the conversation, and the sum of their sizes in bytes. */
export type FileCount = { count: number; bytes: number }

/** Reads all rows of the conversation, by the index attachment_conversation_id_position_idx. */
export async function countFiles(tx: Tx, conversationId: string): Promise<FileCount> {
  const [counted] = await tx.$queryRaw<[FileCount]>`
    SELECT count(*)::integer AS count, coalesce(sum(a.bytes), 0)::double precision AS bytes
    FROM attachment a WHERE a.conversation_id = ${conversationId}::text`
  return counted
}

/**
 * Sum of the sizes of all attachments of the tenant, in bytes. Reads the whole index attachment_file of the tenant, about
 * 100 ms for 40,000 attachments, so call it without a lock.
 */
export async function countTenantBytes(tx: Tx, tenant: string): Promise<number> {
  const [{ bytes }] = await tx.$queryRaw<[{ bytes: number }]>`
    SELECT coalesce(sum(a.bytes), 0)::double precision AS bytes FROM attachment a WHERE a.tenant = ${tenant}::text`
  return bytes
}
