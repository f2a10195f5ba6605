// Reads the attachments of a conversation for an export, and writes those of an import.

import type { Db, Tx } from '../../../db/db.ts'
import { sql } from '../../kernel/sql.ts'
import { ATTACHMENT, names, objectOf, recordOf, selectList, values } from './columns.ts'

export type { ConversationsOf } from './exported-conversation.ts'

/** An attachment with the properties of columns.ts. */
export type ExportedAttachment = Record<string, unknown> & { id: string; sha256: string; bytes: number }

/** Which attachments of a conversation an export contains. `uploadedBy`: those of one actor; null for all. */
export type AttachmentsOf = { conversationId: string; uploadedBy: string | null }

/**
 * The attachment after the id, of those that a turn uses, or the one with exactly the id; null if there is none.
 */
export async function readExportedAttachment(
  db: Db,
  tenant: string,
  { conversationId, uploadedBy }: AttachmentsOf,
  at: { after: string } | { id: string },
): Promise<ExportedAttachment | null> {
  const condition = 'id' in at ? sql`a.id = ${at.id}::text` : sql`a.id > ${at.after}::text`
  const rows = await db.of(tenant).$queryRaw<Record<string, unknown>[]>(sql`
    SELECT ${selectList(ATTACHMENT, 'a')} FROM attachment a
    WHERE a.conversation_id = ${conversationId}::text AND a.tenant = ${tenant}::text AND a.position IS NOT NULL
      AND ${condition} AND a.uploaded_by = coalesce(${uploadedBy}::text, a.uploaded_by)
    ORDER BY a.id LIMIT 1`)
  if (!rows[0]) return null
  const row = rows[0]
  return objectOf(
    ATTACHMENT,
    ATTACHMENT.map(({ column }) => row[column]),
  ) as ExportedAttachment
}

/** The attachments of the transaction's tenant with the ids, unordered. */
export const readImportedAttachments = async (tx: Tx, ids: readonly string[]) =>
  ids.length === 0 ? [] : tx.attachment.findMany({ where: { id: { in: [...ids] } } })

/** Those of the ids that attachments of the tenant have. */
export async function findAttachments(db: Tx, tenant: string, ids: readonly string[]): Promise<Set<string>> {
  const found = await db.attachment.findMany({ where: { tenant, id: { in: [...ids] } }, select: { id: true } })
  return new Set(found.map(({ id }) => id))
}

/** Writes attachments, before the turns that use them. Returns an id that is used already, or null. */
export async function insertAttachments(
  tx: Tx,
  attachments: readonly (Record<string, unknown> & { id: string })[],
): Promise<string | null> {
  if (attachments.length === 0) return null
  const rows = await tx.$queryRaw<{ id: string }[]>(sql`
    INSERT INTO attachment (conversation_id, ${names(ATTACHMENT)})
    SELECT x."conversationId", ${values(ATTACHMENT)}
    FROM jsonb_to_recordset(${JSON.stringify(attachments)}::jsonb) AS x("conversationId" text, ${recordOf(ATTACHMENT)})
    ON CONFLICT (id) DO NOTHING RETURNING id`)
  const written = new Set(rows.map(({ id }) => id))
  return attachments.find(({ id }) => !written.has(id))?.id ?? null
}

/** Lets the turns of this transaction name attachments that the file does not contain. */
export async function allowMissingAttachments(tx: Tx): Promise<void> {
  await tx.$queryRaw`SELECT set_config('colloquy.importing', 'on', true)`
}
