// Writes stored contexts, in the transaction that has locked the journals of the conversations of their source turns.

import type { Tx } from '../../../db/db.ts'

/** The columns of a stored context that are not computed by the database. `items` is JSON text. */
export type NewStoredContext = {
  id: string
  conversationId: string
  actor: string
  asOfSeq: number
  tokenBudget: number
  tokenCount: number
  stablePrefixTokens: number
  truncated: boolean
  items: string
}

/** A message as JSON text; null if one of its sources is gone. Messages are in order. */
export type NewBody = string | null

/** A source of the message at `index`. `conversationId`: see StoredContextSource in prisma/schema.prisma. */
export type NewSource = { index: number; sourceId: string; conversationId: string | null; gone: boolean }

/** Returns the conversations of the turns by id, of the turns that exist. */
export async function readConversationsOfTurns(tx: Tx, turnIds: readonly string[]): Promise<Map<string, string>> {
  if (turnIds.length === 0) return new Map()
  const rows = await tx.$queryRaw<{ id: string; conversationId: string }[]>`
    SELECT t.id, t.conversation_id AS "conversationId" FROM turn t WHERE t.id = ANY (${turnIds}::text[])`
  return new Map(rows.map(({ id, conversationId }) => [id, conversationId]))
}

/**
 * Returns the ids of the turns, facts and summaries that have their content, and locks the facts against deletion until
 * the transaction ends, in the lock order of write-facts.ts. The transaction has locked the journals of the
 * conversations.
 */
export async function lockPresent(
  tx: Tx,
  conversationIds: readonly string[],
  { turns, facts, summaries }: Record<'turns' | 'facts' | 'summaries', readonly string[]>,
): Promise<Set<string>> {
  const locked =
    facts.length === 0
      ? []
      : await tx.$queryRaw<{ id: string }[]>`
          SELECT f.id FROM fact f WHERE f.id = ANY (${facts}::text[]) ORDER BY f.content_hash, f.id FOR SHARE`
  const others = await tx.$queryRaw<{ id: string }[]>`
    SELECT t.id FROM turn t
    WHERE t.id = ANY (${turns}::text[]) AND t.conversation_id = ANY (${conversationIds}::text[])
      AND t.status <> 'ERASED' AND t.removed_at IS NULL
    UNION ALL
    SELECT s.id FROM summary s WHERE s.id = ANY (${summaries}::text[])`
  return new Set([...locked, ...others].map(({ id }) => id))
}

/** Those of the keys of shared state that were deleted after the entry `seq`. */
export async function readDeletedKeys(
  tx: Tx,
  conversationId: string,
  keys: readonly string[],
  seq: number,
): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const rows = await tx.$queryRaw<{ key: string }[]>`
    SELECT DISTINCT c.key FROM shared_state_change c
    WHERE c.conversation_id = ${conversationId}::text AND c.seq > ${seq}::integer AND c.deleted
      AND c.key = ANY (${keys}::text[])`
  return new Set(rows.map(({ key }) => key))
}

/** Writes the context with its messages and their sources. Returns the time at which it was stored. */
export async function insertStoredContext(
  tx: Tx,
  context: NewStoredContext,
  bodies: readonly NewBody[],
  sources: readonly NewSource[],
): Promise<Date> {
  const { createdAt } = await tx.storedContext.create({ data: context, select: { createdAt: true } })
  await tx.$executeRaw`
    INSERT INTO stored_context_message (context_id, index, body)
    SELECT ${context.id}::text, b.o::integer - 1, b.body FROM unnest(${bodies}::text[]) WITH ORDINALITY AS b(body, o)`
  await tx.$executeRaw`
    INSERT INTO stored_context_source (context_id, index, source_id, conversation_id, gone)
    SELECT ${context.id}::text, s.* FROM unnest(
      ${sources.map(({ index }) => index)}::integer[], ${sources.map(({ sourceId }) => sourceId)}::text[],
      ${sources.map(({ conversationId }) => conversationId)}::text[], ${sources.map(({ gone }) => gone)}::boolean[]) AS s`
  return createdAt
}

/** Deletes the oldest contexts of the conversation above `limit`. Uses the index stored_context_newest. */
export const deleteOldestContexts = (tx: Tx, conversationId: string, limit: number): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM stored_context WHERE id IN (
      SELECT c.id FROM stored_context c WHERE c.conversation_id = ${conversationId}::text
      ORDER BY c.created_at DESC, c.id DESC OFFSET ${limit}::integer)`
