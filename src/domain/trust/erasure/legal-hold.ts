// Legal holds: while a conversation or a user is under one, nothing deletes or erases its data.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { auditRecord } from '../../kernel/audit/line.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { id, name, parse } from '../../kernel/input.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

const setLegalHoldInput = z.object({
  conversationId: id('conversation').nullish(),
  userId: name.nullish(),
  legalHold: z.boolean(),
})
export type SetLegalHoldInput = z.input<typeof setLegalHoldInput>

/**
 * Sets or ends the legal hold on a user, or on a conversation of the tenant, even if the viewer does not see it.
 * @returns whether the call changed the hold
 * @throws InvalidInput unless either a conversation or a user is given @throws NotFound @throws NotAllowed
 */
export async function setLegalHold(deps: Platform, viewer: Viewer, input: SetLegalHoldInput): Promise<boolean> {
  authorize(viewer, 'setLegalHold')
  const { conversationId, userId, legalHold } = parse(setLegalHoldInput, input)
  if ((conversationId == null) === (userId == null)) {
    throw InvalidInput.at('conversationId', 'give either conversationId or userId')
  }
  const { tenant } = viewer
  return withTransaction(deps.db, tenant, async (tx) => {
    const changed =
      conversationId != null
        ? await holdConversation(tx, tenant, conversationId, legalHold)
        : await holdUser(tx, tenant, userId!, legalHold)
    const subject = conversationId ?? `user:${userId}`
    if (changed)
      await deps.audit.append(tx, [auditRecord(viewer, 'setLegalHold', [subject], { details: { legalHold } })])
    return changed
  })
}

async function holdConversation(tx: Tx, tenant: string, conversationId: string, legalHold: boolean): Promise<boolean> {
  const found = await tx.conversation.findFirst({ where: { id: conversationId, tenant }, select: { legalHold: true } })
  if (!found) throw new NotFound('conversation', conversationId)
  const { count } = await tx.conversation.updateMany({
    where: { id: conversationId, legalHold: !legalHold },
    data: { legalHold },
  })
  return count > 0
}

async function holdUser(tx: Tx, tenant: string, userId: string, legalHold: boolean): Promise<boolean> {
  const { count } = legalHold
    ? await tx.heldUser.createMany({ data: [{ tenant, userId }], skipDuplicates: true })
    : await tx.heldUser.deleteMany({ where: { tenant, userId } })
  return count > 0
}
