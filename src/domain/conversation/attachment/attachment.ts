// Attachments: files that were uploaded to a conversation. An attachment belongs to the first turn that uses it, is seen
// with it, and is erased with it; until then, only its uploader sees it. The bytes are in the file store, by tenant and
// SHA-256, so that equal files of a tenant are kept once, and no tenant learns which files another one has.

import { createHash } from 'node:crypto'
import { InvalidInput } from '../../../errors.ts'
import type { Db, Tx } from '../../../store/db/db.ts'
import type { FileStore } from '../../../store/files/file-store.ts'
import {
  readAttachment,
  readOwnAttachments,
  readSharedAttachment,
  readUsable,
} from '../../../store/sql/conversation/attachment/attachments.ts'
import { authorize, isWithinReach } from '../../kernel/rights/authorize.ts'
import { kindOf } from '../../kernel/id.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { FileLinks, Link } from './file-links.ts'

export type { ByteRange } from '../../../store/files/file-store.ts'

export type Attachment = {
  id: string
  /** SHA-256 of the bytes, in hexadecimal. */
  sha256: string
  bytes: number
  mediaType: string
  fileName: string | null
  /** Size in pixels; null for files that are not images. */
  width: number | null
  height: number | null
}

/** The limits of uploads. */
export type FileLimits = {
  /** Media types that are accepted. */
  types: readonly string[]
  /** Maximum size of one file, of all attachments of a conversation, and of all attachments of a tenant, in bytes. */
  fileBytes: number
  conversationBytes: number
  tenantBytes: number
}

/** The store of the files, their signed URLs, and the limits. */
export type Files = {
  store: FileStore
  links: FileLinks
  limits: FileLimits
  /** Whether model providers reach the server at its public URL. */
  isPublic: boolean
}

/** Returns the key of a file in the file store. */
export const keyOf = (tenant: string, sha256: string): string =>
  `${createHash('sha256').update(tenant).digest('hex').slice(0, 32)}/${sha256.slice(0, 2)}/${sha256}`

/** Returns the URL of file parts with the attachment: it names the attachment, and gives no access to it. */
export const urnOf = (id: string): string => `urn:colloquy:attachment:${id}`

const URN = /^urn:colloquy:attachment:(.*)$/i
/** Returns the id in a URL that `urnOf` returned; null for any other URL. */
export const idOfUrn = (url: string): string | null => URN.exec(url)?.[1] ?? null

/** Returns the attachments with these ids that the actor uploaded to the conversation, null for any, by id. */
export async function ownAttachments(
  db: Db,
  { tenant, conversationId, actor }: { tenant: string; conversationId: string | null; actor: string },
  ids: readonly string[],
): Promise<Map<string, Attachment>> {
  const known = ids.filter((id) => kindOf(id) === 'attachment')
  if (known.length === 0) return new Map()
  const rows = await readOwnAttachments(db, tenant, { conversationId, actor }, known)
  return new Map(rows.map((row) => [row.id, row]))
}

/** The error for an attachment that a turn may not use. The text is the same for each reason, so that it reveals nothing. */
export const unusable = (path: string, id: string): InvalidInput =>
  InvalidInput.at(
    path,
    `is ${JSON.stringify(id)}; the author has uploaded no such file to this conversation, or another turn already uses it. `
      + 'Upload the file again',
  )

/** Postgres' code of a turn whose attachment may not be used (prisma/functions/use_attachments.sql). */
const UNUSABLE = 'CQ001'

/** Returns the error of a statement that was refused because of an attachment; null for any other error. */
export function refusedAttachment(error: unknown, path: string): InvalidInput | null {
  const { code, detail } = (error ?? {}) as { code?: unknown; detail?: unknown }
  return code === UNUSABLE ? unusable(path, String(detail)) : null
}

/**
 * Returns the attachment: a turn that the viewer sees uses it in a version that the viewer sees, or no turn uses it and
 * the viewer has uploaded it. Null for any other one.
 */
export async function getAttachment(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  id: string,
): Promise<Attachment | null> {
  authorize(viewer, 'getAttachment')
  if (kindOf(id) !== 'attachment') return null
  const found = await readAttachment(db, viewer, id)
  return found && isWithinReach(viewer, found.conversationId) ? found : null
}

/** Returns the attachment of a valid signed URL; null if it was deleted. */
export const readLinked = ({ db }: Pick<Platform, 'db'>, { tenant, id }: Link): Promise<Attachment | null> =>
  readSharedAttachment(db, tenant, id)

/** Checks that the turn at the position may use the attachments. @throws InvalidInput */
export async function requireUsable(
  tx: Tx,
  of: { conversationId: string; position: number; actor: string; path: string },
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  const usable = await readUsable(tx, of, ids)
  const other = ids.find((id) => !usable.has(id))
  if (other !== undefined) throw unusable(of.path, other)
}
