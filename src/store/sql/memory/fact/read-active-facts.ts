// Reads the facts that are compared or that a profile is written from, and the names of users. The facts of a set have
// the same visibility set and the same user; facts about no user form one set per conversation and visibility set. Jobs
// use these reads, so none is limited to a view, except `readActiveFacts` with an actor.

import type { Db } from '../../../db/db.ts'
import { FACT_COLUMNS, type FactRow } from './fact-columns.ts'
import { empty, sql } from '../../kernel/sql.ts'
import { factVisible, hasSourceIn } from '../../kernel/visible.ts'

export type FactScope = {
  tenant: string
  /** The user whom the facts are about; null for facts about any user or none. */
  userId: string | null
  /** The conversation of the facts; null for facts of any conversation or none. */
  conversationId: string | null
  /** The actor who sees the facts; null for all facts. */
  actor: string | null
  /** Key of the visibility set; absent for all sets. */
  visibility?: string
}

/** Maximum number of facts read for all sets together: each audience is a set, so a user may have many sets. */
const MAX_READ = 5_000

/**
 * The newest active facts in scope: up to `limit` of each set and MAX_READ in total, the newest of each set first. Uses
 * the index fact_user or fact_source_conversation.
 */
export async function readActiveFacts(
  db: Db,
  { tenant, userId, conversationId, actor, visibility }: FactScope,
  limit: number,
): Promise<FactRow[]> {
  const inConversation = hasSourceIn(sql`${conversationId}::text`)
  const inScope =
    userId === null
      ? sql`AND ${inConversation}`
      : sql`AND f.user_id = ${userId}::text ${conversationId === null ? empty : sql`AND ${inConversation}`}`
  const inSet = visibility === undefined ? empty : sql`AND f.visibility = ${visibility}::text`
  const inView = actor === null ? empty : sql`AND ${factVisible({ tenant, actor })}`
  return db.of(tenant).$queryRaw<FactRow[]>`
      SELECT ${FACT_COLUMNS}
      FROM (
        SELECT f.*, row_number() OVER (
          PARTITION BY coalesce(f.user_id, f.conversation_id), f.visibility
          ORDER BY f.created_at DESC, f.id DESC) AS ordinal
        FROM fact f
        WHERE f.tenant = ${tenant}::text AND f.superseded_at IS NULL ${inScope} ${inSet} ${inView}) f
      WHERE f.ordinal <= ${limit}::integer
      ORDER BY f.ordinal, coalesce(f.user_id, f.conversation_id), f.visibility LIMIT ${MAX_READ}::integer`
}

/**
 * Active and superseded facts about the users, and the conversation's facts about no user. Leaves out the facts of
 * MEMBERS conversations except `members`; null leaves out all of them. Newest first, at most `limit`.
 */
export async function readFactsAbout(
  db: Db,
  tenant: string,
  { users, conversationId, members }: { users: readonly string[]; conversationId: string; members: string | null },
  limit: number,
): Promise<FactRow[]> {
  return db.of(tenant).$queryRaw<FactRow[]>`
    SELECT ${FACT_COLUMNS} FROM fact f
           WHERE f.tenant = ${tenant}::text
             AND (NOT starts_with(f.visibility, 'conv_') OR starts_with(f.visibility, ${members}::text))
             AND (f.user_id = ANY (${users}::text[]) OR f.user_id IS NULL AND f.conversation_id = ${conversationId}::text)
           ORDER BY f.created_at DESC, f.id DESC LIMIT ${limit}::integer`
}

/**
 * Names of users from active facts with the predicate that have a source in the conversation and that all its viewers may
 * see; at most 1,000. `members` is the conversation if it is MEMBERS, otherwise null. Uses the index
 * fact_source_conversation.
 */
export const readOtherNames = (
  db: Db,
  tenant: string,
  { conversationId, predicate, members }: { conversationId: string; predicate: string; members: string | null },
): Promise<{ actor: string; name: string }[]> =>
  db.of(tenant).$queryRaw`
      SELECT DISTINCT f.user_id AS actor, f.object AS name FROM fact f
      WHERE f.tenant = ${tenant}::text AND ${hasSourceIn(sql`${conversationId}::text`)} AND f.user_id IS NOT NULL
        AND f.predicate = ${predicate}::text AND f.superseded_at IS NULL AND f.visibility IN ('', ${members}::text)
      ORDER BY 1, 2 LIMIT 1000`

/**
 * Display names of users in the tenant's OPEN conversations and in the MEMBERS conversations `members` (one, several, or
 * null for none), by actor, at most 100 each. Uses the index participant_actor.
 */
export async function readNames(
  db: Db,
  tenant: string,
  users: readonly string[],
  members: string | null | readonly string[],
): Promise<Map<string, string[]>> {
  const conversationIds = [members ?? []].flat()
  const rows = await db.of(tenant).$queryRaw<{ actor: string; names: string[] }[]>`
      SELECT a.actor, ARRAY(
        SELECT DISTINCT p.display_name FROM participant p
        JOIN conversation c ON c.id = p.conversation_id AND c.tenant = ${tenant}::text
        WHERE p.actor = a.actor AND p.display_name IS NOT NULL
          AND (c.visibility = 'OPEN' OR c.id = ANY (${conversationIds}::text[])) LIMIT 100) AS names
      FROM unnest(${users}::text[]) AS a(actor)`
  return new Map(rows.map(({ actor, names }) => [actor, names]))
}
