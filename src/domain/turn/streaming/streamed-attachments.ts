// The attachments of streaming turns: a part of an open turn is seen before the turn takes its attachment, so it may name
// only attachments that the turn can take.

import { requireUsable } from '../../conversation/attachment/attachment.ts'
import type { Viewer } from '../../kernel/view.ts'
import { attachmentOf, withAttachments } from '../parts/file-part.ts'
import type { ContentPart } from '../parts/part.ts'
import { requireTurn } from '../turn.ts'
import type { StreamDeps } from './delta-queue.ts'

/**
 * Returns the parts with the attachments that they name. Committing the turn checks them again.
 * @throws InvalidInput for an attachment that the author has not uploaded to the conversation, or that another turn uses
 * @throws NotFound
 */
export async function withStreamedAttachments<Part extends ContentPart>(
  { db, pool }: Pick<StreamDeps, 'db' | 'pool'>,
  viewer: Viewer,
  { turnId, parts, path }: { turnId: string; parts: readonly Part[]; path: string },
): Promise<Part[]> {
  const ids = parts.map(attachmentOf).filter((each) => each !== null)
  if (ids.length === 0) return [...parts]
  const { tenant, actor } = viewer
  const { conversationId, position } = await requireTurn({ pool }, viewer, turnId)
  const found = await withAttachments({ db }, { tenant, conversationId, actor }, parts, path)
  await requireUsable(db.of(tenant), { conversationId, position, actor, path }, ids)
  return found
}
