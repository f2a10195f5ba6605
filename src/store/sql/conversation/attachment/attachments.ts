// Reads and writes the rows of attachments.

import { SYSTEM, type Viewer } from '../../../db/scope.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { raw, sql } from '../../kernel/sql.ts'
import { views, visible } from '../../kernel/visible.ts'

export type AttachmentRow = {
  id: string
  conversationId: string
  sha256: string
  bytes: number
  mediaType: string
  fileName: string | null
  width: number | null
  height: number | null
}

const COLUMNS = raw(`a.id, a.conversation_id AS "conversationId", a.sha256, a.bytes, a.media_type AS "mediaType",
  a.file_name AS "fileName", a.width, a.height`)

/**
 * The attachment, if a visible version of the turn at its position has it, or if it is unused and the viewer uploaded it;
 * otherwise null. Uses the primary key and the index turn_place.
 */
export async function readAttachment(db: Db, viewer: Viewer, id: string): Promise<AttachmentRow | null> {
  const rows = await db.of(viewer.tenant).$queryRaw<AttachmentRow[]>`
    SELECT ${COLUMNS}
    FROM attachment a CROSS JOIN LATERAL (${views(viewer, raw('c.id = a.conversation_id'))}) v
    WHERE a.id = ${id}::text AND a.tenant = ${viewer.tenant}::text
      AND (a.position IS NULL AND a.uploaded_by = ${viewer.actor}::text OR EXISTS (
        SELECT FROM turn t
        WHERE t.conversation_id = a.conversation_id AND t.root_seq = a.position AND ${visible()}
          AND t.parts @> jsonb_build_array(jsonb_build_object('attachmentId', a.id))))`
  return rows[0] ?? null
}

/** The attachment of the tenant, whoever sees it; null if there is none. For the holder of a signed URL. */
export async function readSharedAttachment(db: Db, tenant: string, id: string): Promise<AttachmentRow | null> {
  const rows = await db.of(tenant).$queryRaw<AttachmentRow[]>`
    SELECT ${COLUMNS} FROM attachment a WHERE a.id = ${id}::text AND a.tenant = ${tenant}::text`
  return rows[0] ?? null
}

/** Those of the attachments that the actor uploaded to the conversation, null for any one, unordered. */
export const readOwnAttachments = (
  db: Db,
  tenant: string,
  { conversationId, actor }: { conversationId: string | null; actor: string },
  ids: readonly string[],
): Promise<AttachmentRow[]> =>
  db.of(tenant).$queryRaw<AttachmentRow[]>`
    SELECT ${COLUMNS} FROM attachment a
    WHERE a.id = ANY (${ids}::text[]) AND a.uploaded_by = ${actor}::text
      AND a.conversation_id = coalesce(${conversationId}::text, a.conversation_id)`

/** Those of the ids that the turn of the actor at the position may use: the rule of use_attachments. */
export async function readUsable(
  tx: Tx,
  { conversationId, position, actor }: { conversationId: string; position: number; actor: string },
  ids: readonly string[],
): Promise<Set<string>> {
  const found = await tx.attachment.findMany({
    where: { id: { in: [...ids] }, conversationId, uploadedBy: actor, OR: [{ position: null }, { position }] },
    select: { id: true },
  })
  return new Set(found.map((each) => each.id))
}

/** An attachment to write. */
export type NewAttachment = AttachmentRow & { uploadedBy: string; clientId: string | null }

/**
 * An earlier upload by the actor: with the clientId, or without one, of the same file under the same name and type that
 * no turn has used. Null if there is none. Uses the indexes attachment_client and attachment_file.
 */
export async function findUpload(tx: Tx, given: NewAttachment): Promise<AttachmentRow | null> {
  const { conversationId, uploadedBy, clientId, sha256, mediaType, fileName } = given
  const condition =
    clientId === null
      ? sql`a.tenant = current_setting('colloquy.tenant', true) AND a.sha256 = ${sha256}::text AND a.position IS NULL
            AND a.media_type = ${mediaType}::text AND a.file_name IS NOT DISTINCT FROM ${fileName}::text`
      : sql`a.client_id = ${clientId}::text`
  const rows = await tx.$queryRaw<AttachmentRow[]>`
    SELECT ${COLUMNS} FROM attachment a
    WHERE a.conversation_id = ${conversationId}::text AND a.uploaded_by = ${uploadedBy}::text AND ${condition}
    ORDER BY a.id LIMIT 1`
  return rows[0] ?? null
}

export async function insertAttachment(tx: Tx, given: NewAttachment): Promise<void> {
  await tx.attachment.create({ data: given })
}

/** Deletes the attachments of the turns at the positions, and returns their number. */
export const deleteAttachmentsAt = (tx: Tx, conversationId: string, positions: readonly number[]): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM attachment
    WHERE conversation_id = ${conversationId}::text AND position = ANY (${positions}::integer[])`

/** Deletes the attachments that the user uploaded to the conversation, and returns their number. */
export const deleteAttachmentsOf = (tx: Tx, conversationId: string, user: string): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM attachment WHERE conversation_id = ${conversationId}::text AND uploaded_by = ${user}::text`

/**
 * Deletes at most `limit` attachments that were uploaded before the time and that no turn uses, except those under legal
 * hold. Returns their number. Skips rows that a turn is about to use. Uses the index attachment_unused.
 */
export const deleteUnused = (db: Db, before: Date, limit: number): Promise<number> =>
  db.of(SYSTEM).$executeRaw`
    DELETE FROM attachment WHERE id IN (
      SELECT a.id FROM attachment a JOIN conversation c ON c.id = a.conversation_id
      WHERE a.position IS NULL AND a.created_at < ${before}::timestamptz AND NOT c.legal_hold
        AND NOT EXISTS (SELECT FROM held_user h WHERE h.tenant = a.tenant AND h.user_id = a.uploaded_by)
      ORDER BY a.created_at LIMIT ${limit}::integer FOR UPDATE OF a SKIP LOCKED)`
