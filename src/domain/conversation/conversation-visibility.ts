// Changes whether a conversation is OPEN or MEMBERS.

import { Conflict } from '../../errors.ts'
import type { Tx } from '../../store/db/db.ts'
import type { ConversationVisibility } from '../../store/generated/enums.ts'
import { requireMembership } from '../kernel/rights/authorize.ts'
import type { Platform } from '../kernel/platform.ts'
import type { Viewer } from '../kernel/view.ts'

/**
 * Changes which actors see the facts of a conversation when its visibility changes (erasure/change-visibility.ts).
 * Injected, because this file must not import domain/trust/erasure.
 */
export type MoveFacts = (
  tx: Tx,
  change: { tenant: string; conversationId: string; visibility: ConversationVisibility },
) => Promise<void>

export type VisibilityDeps = Platform & { moveFacts: MoveFacts }

/**
 * Changes the visibility of the conversation, which the transaction has locked. When a conversation becomes MEMBERS,
 * other conversations may use its key: a conflict about the key would reveal that the conversation exists.
 * @throws NotAllowed if the viewer is not in the conversation
 * @throws Conflict if the conversation would become OPEN and another OPEN conversation has its key
 */
export async function changeVisibility(
  deps: VisibilityDeps,
  tx: Tx,
  viewer: Viewer,
  { conversationId, visibility }: { conversationId: string; visibility: ConversationVisibility },
): Promise<void> {
  await requireMembership(tx, viewer.actor, conversationId)
  const keyScope = visibility === 'OPEN' ? '' : conversationId
  if (visibility === 'OPEN' && (await isKeyTaken(tx, conversationId))) {
    throw new Conflict('Another OPEN conversation has the same key, so this one must stay MEMBERS.')
  }
  await tx.conversation.update({ where: { id: conversationId }, data: { visibility, keyScope } })
  await tx.journal.update({ where: { conversationId }, data: { visibility } })
  await deps.moveFacts(tx, { tenant: viewer.tenant, conversationId, visibility })
}

/** Whether another conversation that is OPEN has the key of this one. */
async function isKeyTaken(tx: Tx, conversationId: string): Promise<boolean> {
  const { tenant, key } = await tx.conversation.findUniqueOrThrow({ where: { id: conversationId } })
  return key !== null && (await tx.conversation.findFirst({ where: { tenant, key, keyScope: '' } })) !== null
}
