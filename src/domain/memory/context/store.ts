// Stores a context as it was built, so that it can be shown again. Invariant: a stored context never contains data that
// was erased before it was stored, because storing locks the journals and facts that an erasure locks, and then reads
// which sources still exist; later erasures find the messages by their sources.

import { NotFound } from '../../../errors.ts'
import {
  deleteOldestContexts,
  insertStoredContext,
  lockPresent,
  readConversationsOfTurns,
  readDeletedKeys,
  type NewSource,
} from '../../../store/sql/memory/context/stored-contexts.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { requireChange } from '../../kernel/rights/authorize.ts'
import { derivedId, derivedKey } from '../../kernel/derived-id.ts'
import { lockConversations } from '../fact/write.ts'
import { kindOf, newId } from '../../kernel/id.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'
import { bodyOf, withoutLost } from './body.ts'
import type { Context, ContextMessage } from './message.ts'

/** Maximum number of stored contexts of one conversation. Storing another one deletes the oldest. */
export const MAX_STORED = 1_000

/** A source of the message at `index`, before its conversation is known. */
type Source = Pick<NewSource, 'index' | 'sourceId'> & { isQuoted: boolean }

/** Returns the sources of a message. The sources of profiles are the profiles, and the facts that they were made from. */
function sourcesOf(
  tenant: string,
  { kind, sourceIds }: ContextMessage,
  index: number,
  { profileFacts }: Pick<Context, 'profileFacts'>,
): Source[] {
  const ids =
    kind === 'PROFILE'
      ? sourceIds.flatMap((userId) => [
          derivedId({ kind: 'profile', tenant, userId }),
          ...(profileFacts.get(userId) ?? []),
        ])
      : sourceIds
  return [...new Set(ids)].map((sourceId) => ({ index, sourceId, isQuoted: kind === 'RECALLED' }))
}

const ofKind = (sources: readonly Source[], kind: 'turn' | 'fact' | 'summary') => [
  ...new Set(sources.map(({ sourceId }) => sourceId).filter((id) => kindOf(id) === kind)),
]

/** Returns the key of shared state that the source is; null for another source. */
function keyOf(sourceId: string): string | null {
  const key = derivedKey(sourceId)
  return key?.kind === 'state' ? key.key : null
}

/**
 * Stores the context, and returns it with its id, as getContexts returns it. Messages with a source that was erased
 * since the context was built are left out. Deletes the oldest contexts of the conversation above MAX_STORED.
 * @param viewer the actor in whose view the context was built
 * @throws NotFound if the conversation was deleted
 * @throws NotAllowed if the conversation is MEMBERS and the actor has left it
 */
export async function storeContext(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  conversationId: string,
  context: Context,
): Promise<Context> {
  const { tenant, actor } = viewer
  const sources = context.messages.flatMap((message, index) => sourcesOf(tenant, message, index, context))
  const turns = ofKind(sources, 'turn')
  // Only recalled turns may be of other conversations.
  const quoted = ofKind(
    sources.filter(({ isQuoted }) => isQuoted),
    'turn',
  )
  return withTransaction(db, tenant, async (tx) => {
    const homes = await readConversationsOfTurns(tx, quoted)
    const conversationIds = [...new Set([conversationId, ...homes.values()])]
    const heads = await lockConversations(tx, tenant, conversationIds)
    const head = heads.get(conversationId)
    if (!head) throw new NotFound('conversation', conversationId)
    await requireChange(tx, viewer, conversationId, head)
    const summaries = ofKind(sources, 'summary')
    const present = await lockPresent(tx, conversationIds, { turns, facts: ofKind(sources, 'fact'), summaries })
    const keys = sources.flatMap(({ sourceId }) => keyOf(sourceId) ?? [])
    const deletedKeys = await readDeletedKeys(tx, conversationId, keys, context.asOfSeq)
    const rows = sources.map(({ index, sourceId }): NewSource => {
      const kind = kindOf(sourceId)
      const home = kind === 'summary' ? conversationId : (homes.get(sourceId) ?? null)
      const isElsewhere = kind === 'summary' || home !== conversationId
      return {
        index,
        sourceId,
        conversationId: isElsewhere ? home : null,
        gone: kind === null ? deletedKeys.has(keyOf(sourceId) ?? '') : !present.has(sourceId),
      }
    })
    const lost = new Set(rows.filter(({ gone }) => gone).map(({ index }) => index))
    const id = newId('context')
    const { asOfSeq, tokenBudget, tokenCount, stablePrefixTokens, truncated } = context
    const createdAt = await insertStoredContext(
      tx,
      {
        ...{ id, conversationId, actor, asOfSeq, tokenBudget, tokenCount, stablePrefixTokens, truncated },
        items: JSON.stringify(context.items),
      },
      context.messages.map((message, index) => (lost.has(index) ? null : bodyOf(message))),
      rows,
    )
    await deleteOldestContexts(tx, conversationId, MAX_STORED)
    const messages = context.messages.map((message, index) => (lost.has(index) ? null : message))
    const gone = rows.filter((row) => row.gone).map(({ sourceId }) => sourceId)
    return { ...context, id, createdAt, ...withoutLost(messages, gone) }
  })
}
