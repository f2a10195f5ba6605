// Retention: deletes expired conversations, and removes the content of turns that summaries cover. Both tasks are
// periodic and idempotent, and any number of processes may run them. Each transaction handles a limited batch, so that
// other work is not delayed.

import { z } from 'zod'
import { NotAllowed, NotFound } from '../../../errors.ts'
import {
  deleteExpired,
  expireInactive,
  findExpired,
  findRetained,
  readRemovable,
  readRemovableThrough,
  removeContent,
  type RetainedConversation,
} from '../../../store/sql/trust/erasure/retention.ts'
import { deleteAttachmentsAt } from '../../../store/sql/conversation/attachment/attachments.ts'
import { loseSources } from '../../../store/sql/trust/erasure/stored-contexts.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { yieldToEventLoop } from '../../../runtime/yield.ts'
import { auditRecord } from '../../kernel/audit/line.ts'
import { authorize, requirePermits } from '../../kernel/rights/authorize.ts'
import { lockConversations } from '../../memory/fact/write.ts'
import { parse } from '../../kernel/input.ts'
import { keyedHash, type IntegrityKeys } from '../../kernel/audit/integrity.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceDeleted } from '../../kernel/live/publisher.ts'
import type { Viewer } from '../../kernel/view.ts'
import { deleteConversation } from './delete-conversation.ts'
import { releaseDerivatives } from './run-derivatives.ts'

/** Maximum number of conversations that one transaction deletes. */
const BATCH_CONVERSATIONS = 50
/** Maximum number of conversations for which one statement sets the expiry. */
const BATCH_EXPIRING = 1_000
/** Maximum number of turns whose content one transaction removes. */
const BATCH_TURNS = 100
/** Time after which a run of a task ends, ms; the next run continues. */
const RUN_MS = 20_000
/** The actor of the lines that retention writes to the audit log. */
const SYSTEM = 'colloquy'

/** Deletes expired conversations, except those under legal hold. Returns the number of deleted conversations. */
export async function deleteExpiredConversations(deps: Platform): Promise<number> {
  const until = deps.clock.performance.now() + RUN_MS
  let count = 0
  while (deps.clock.performance.now() < until) {
    const expired = await findExpired(deps.db, BATCH_CONVERSATIONS)
    const [first] = expired
    if (!first) break
    const deleted = first.isAlone
      ? await deleteAlone(deps, first)
      : await deleteBatch(
          deps,
          first.tenant,
          expired.filter(({ isAlone }) => !isAlone).map(({ id }) => id),
        )
    // Other transactions have locked all of them: the next run tries again.
    if (deleted === 0) break
    count += deleted
    await yieldToEventLoop()
  }
  return count
}

/** Deletes a conversation with facts, by deleteConversation. */
async function deleteAlone(deps: Platform, { id, tenant }: { id: string; tenant: string }): Promise<number> {
  try {
    const owner = await deps.db.of(tenant).participant.findFirst({ where: { conversationId: id, leftAt: null } })
    await deleteConversation(deps, { tenant, actor: owner?.actor ?? SYSTEM }, id)
    return 1
  } catch (error) {
    if (error instanceof NotFound || error instanceof NotAllowed) return 0
    throw error
  }
}

/** Deletes those of the conversations that no other transaction has locked. Returns their number. */
function deleteBatch(deps: Platform, tenant: string, ids: readonly string[]): Promise<number> {
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const deleted = await deleteExpired(tx, ids)
    if (deleted.length === 0) return 0
    afterCommit(() => {
      for (const { id, actors } of deleted) {
        releaseDerivatives(deps, id)
        announceDeleted(deps, tenant, id, actors)
      }
    })
    const details = { conversations: deleted.length, turns: deleted.reduce((sum, { turns }) => sum + turns, 0) }
    const conversationIds = deleted.map(({ id }) => id)
    await deps.audit.append(tx, [
      auditRecord({ tenant, actor: SYSTEM }, 'expireConversation', conversationIds, { details }),
    ])
    return deleted.length
  })
}

/** Returns the hash that replaces the content: of the text alone, or of the JSON of all parts. @internal */
export const contentHashOf = (keys: IntegrityKeys, { text, parts }: { text: string; parts: unknown }): string =>
  keyedHash(keys.content, parts == null ? text : JSON.stringify(parts))

/**
 * Removes the content of turns that summaries cover, in conversations with retention AUDIT_ONLY or EPHEMERAL. Returns
 * the number of changed versions. Pinned turns keep their content, because every context includes it.
 */
export async function removeSummarizedContent(deps: Platform): Promise<number> {
  const until = deps.clock.performance.now() + RUN_MS
  const extracts = deps.automatic.factExtractionEvery > 0
  let count = 0
  for (let after = ''; deps.clock.performance.now() < until;) {
    const found = await findRetained(deps.db, after, BATCH_CONVERSATIONS, extracts)
    for (const conversation of found) count += await removeFrom(deps, conversation, extracts)
    if (found.length < BATCH_CONVERSATIONS) break
    after = found.at(-1)!.id
  }
  return count
}

async function removeFrom(
  deps: Platform,
  { id, tenant, retention }: RetainedConversation,
  extracts: boolean,
): Promise<number> {
  const keys = deps.integrityKeys
  // AUDIT_ONLY needs the key for its hashes: the content is kept until the operator sets the key again.
  if (retention === 'AUDIT_ONLY' && !keys) return 0
  let count = 0
  for (;;) {
    const removed = await withTransaction(deps.db, tenant, async (tx, afterCommit) => {
      const heads = await lockConversations(tx, tenant, [id])
      const through = heads.size > 0 ? await readRemovableThrough(tx, id, extracts) : null
      if (through === null) return null
      const { removedThrough } = await tx.conversation.findUniqueOrThrow({ where: { id } })
      const turns = await readRemovable(tx, id, { after: removedThrough, through, limit: BATCH_TURNS })
      const last = turns.at(-1)?.position ?? through
      const removable = turns.filter(({ pinned }) => !pinned)
      const hashed = removable.map((turn) => ({
        ...turn,
        hash: retention === 'AUDIT_ONLY' && keys ? contentHashOf(keys, turn) : null,
      }))
      await removeContent(tx, id, hashed, retention === 'EPHEMERAL')
      await deleteAttachmentsAt(
        tx,
        id,
        removable.map(({ position }) => position),
      )
      await loseSources(
        tx,
        removable.map((turn) => turn.id),
      )
      await tx.conversation.update({ where: { id }, data: { removedThrough: last } })
      afterCommit(() => releaseDerivatives(deps, id))
      return { count: removable.length, isComplete: last >= through }
    })
    count += removed?.count ?? 0
    if (!removed || removed.isComplete) return count
    await yieldToEventLoop()
  }
}

const DAY_MS = 86_400_000
const pruneConversationsInput = z.object({ olderThanDays: z.int().min(1, 'must be at least 1').max(36_500) })
export type PruneConversationsInput = z.input<typeof pruneConversationsInput>

/**
 * Makes the tenant's conversations without a journal entry in the given number of days expire immediately, except those
 * under legal hold. A background task deletes them. Returns the number of conversations that were not expired before.
 * @throws InvalidInput @throws NotAllowed
 */
export async function pruneConversations(
  deps: Platform,
  viewer: Viewer,
  input: PruneConversationsInput,
): Promise<number> {
  authorize(viewer, 'pruneConversations')
  const { olderThanDays } = parse(pruneConversationsInput, input)
  await requirePermits(deps.db.of(viewer.tenant), viewer, 'pruneConversations', { conversationId: null })
  const before = new Date(deps.clock.Date.now() - olderThanDays * DAY_MS)
  let count = 0
  for (let after = ''; ;) {
    const ids = await expireInactive(deps.db, viewer.tenant, before, { after, limit: BATCH_EXPIRING })
    count += ids.length
    if (ids.length < BATCH_EXPIRING) break
    after = ids.at(-1)!
    await yieldToEventLoop()
  }
  const record = auditRecord(viewer, 'pruneConversations', [], { details: { olderThanDays, conversations: count } })
  await withTransaction(deps.db, viewer.tenant, (tx) => deps.audit.append(tx, [record]))
  return count
}
