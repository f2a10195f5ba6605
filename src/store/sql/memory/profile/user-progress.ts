// Reads the progress of automatic profiles, and advances it: the number of a user's turns, and the changes of facts in each
// visibility set. A run advances its marks in the transaction that writes its result, so that both happen or neither.

import type { Db, Tx } from '../../../db/db.ts'

type TurnProgress = { turns: number; profiledTurns: number }

/** The user's progress; zeros if no turn of the user was counted. */
export async function readTurnProgress(db: Db, tenant: string, userId: string): Promise<TurnProgress> {
  const row = await db.of(tenant).userProgress.findFirst({ where: { tenant, userId } })
  return { turns: Number(row?.turns ?? 0), profiledTurns: Number(row?.profiledTurns ?? 0) }
}

/**
 * Advances the mark from `from` by `turns`, and counts a run. Returns false if the mark is no longer at `from`.
 */
export async function advanceTurns(
  tx: Tx,
  { tenant, userId }: { tenant: string; userId: string },
  from: number,
  turns: number,
): Promise<boolean> {
  return (
    1
    === (await tx.$executeRaw`
    UPDATE user_progress SET profiled_turns = profiled_turns + ${turns}::bigint, profilings = profilings + 1
    WHERE tenant = ${tenant}::text AND user_id = ${userId}::text AND profiled_turns = ${from}::bigint`)
  )
}

/** The facts about a user in one visibility set, from which one profile is made. */
export type ProfileSet = { tenant: string; userId: string; visibility: string }

type SetProgress = { visibility: string; factChanges: number; profiledChanges: number }

/** The sets of facts about the user that changed since their profiles were refreshed, at most `limit`, in order. */
export async function readDueSets(db: Db, tenant: string, userId: string, limit: number): Promise<SetProgress[]> {
  const rows = await db.of(tenant).$queryRaw<SetProgress[]>`
    SELECT p.visibility, p.fact_changes::double precision AS "factChanges",
           p.profiled_changes::double precision AS "profiledChanges"
    FROM profile_progress p
    WHERE p.tenant = ${tenant}::text AND p.user_id = ${userId}::text AND p.fact_changes > p.profiled_changes
    ORDER BY p.visibility LIMIT ${limit}::integer`
  return rows
}

/**
 * Advances the mark of the set to the changes that were read. Returns false if the mark changed since it was read.
 */
export async function advanceChanges(
  tx: Tx,
  { tenant, userId, visibility }: ProfileSet,
  { factChanges, profiledChanges }: SetProgress,
): Promise<boolean> {
  return (
    1
    === (await tx.$executeRaw`
    UPDATE profile_progress SET profiled_changes = ${factChanges}::bigint
    WHERE tenant = ${tenant}::text AND user_id = ${userId}::text AND visibility = ${visibility}::text
      AND profiled_changes = ${profiledChanges}::bigint`)
  )
}

/** The sets of the facts that are about a user, active or not. Uses the primary key of fact. */
export const readSetsOfFacts = (tx: Tx, factIds: readonly string[]): Promise<ProfileSet[]> =>
  tx.$queryRaw<ProfileSet[]>`
    SELECT DISTINCT f.tenant, f.user_id AS "userId", f.visibility FROM fact f
    WHERE f.id = ANY (${factIds}::text[]) AND f.user_id IS NOT NULL`

/**
 * Counts one change of facts for each set, which makes its profile due. Call it after all locks on facts: see the order
 * of locks in count-user-turns.ts.
 */
export async function countFactChanges(tx: Tx, sets: readonly ProfileSet[]): Promise<void> {
  if (sets.length === 0) return
  await tx.$executeRaw`
    INSERT INTO profile_progress AS p (tenant, user_id, visibility, fact_changes)
    SELECT DISTINCT s.tenant, s."userId", s.visibility, 1
    FROM jsonb_to_recordset(${JSON.stringify(sets)}::jsonb) AS s(tenant text, "userId" text, visibility text)
    ORDER BY s.tenant, s."userId", s.visibility
    ON CONFLICT (tenant, user_id, visibility) DO UPDATE SET fact_changes = p.fact_changes + 1`
}

/** Deletes the progress of the sets of a MEMBERS conversation. */
export async function deleteProgressOfConversation(tx: Tx, tenant: string, conversationId: string): Promise<void> {
  await tx.$executeRaw`
    DELETE FROM profile_progress p
    WHERE p.tenant = ${tenant}::text AND split_part(p.visibility, ' ', 1) = ${conversationId}::text`
}
