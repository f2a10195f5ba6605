// Reads a user's number of turns and of changed facts, and advances the marks that record how many of them automatic
// work has processed. A run advances its mark in the transaction that writes its result, so that both happen or
// neither.

import type { Db, Tx } from '../../db.ts'
import type { Subject } from '../../job-queue.ts'

type UserProgressRow = { turns: number; profiledTurns: number; factChanges: number; profiledChanges: number }

/** The user's progress; null if neither a turn of the user nor a change of a fact about the user was counted. */
export async function readProgressOf(db: Db, tenant: string, userId: string): Promise<UserProgressRow | null> {
  const row = await db.of(tenant).userProgress.findFirst({ where: { tenant, userId } })
  return (
    row && {
      turns: Number(row.turns),
      profiledTurns: Number(row.profiledTurns),
      factChanges: Number(row.factChanges),
      profiledChanges: Number(row.profiledChanges),
    }
  )
}

/**
 * Advances the profile marks from `from` by `turns` and to `changes`, and counts a run if `turns` is not 0. Returns
 * false if the marks are no longer at `from`.
 */
export async function advanceProfiling(
  tx: Tx,
  tenant: string,
  userId: string,
  from: Pick<UserProgressRow, 'profiledTurns' | 'profiledChanges'>,
  { turns, changes }: { turns: number; changes: number },
): Promise<boolean> {
  return (
    1
    === (await tx.$executeRaw`
    UPDATE user_progress
    SET profiled_turns = profiled_turns + ${turns}::bigint, profilings = profilings + ${Math.sign(turns)}::integer,
        profiled_changes = ${changes}::bigint
    WHERE tenant = ${tenant}::text AND user_id = ${userId}::text AND profiled_turns = ${from.profiledTurns}::bigint
      AND profiled_changes = ${from.profiledChanges}::bigint`)
  )
}

/** The users whom the facts without an audience are about, active or not. Uses the primary key of fact. */
export const readUsersOfFacts = (tx: Tx, factIds: readonly string[]): Promise<Subject[]> =>
  tx.$queryRaw<Subject[]>`
    SELECT DISTINCT f.tenant, f.user_id AS key FROM fact f
    WHERE f.id = ANY (${factIds}::text[]) AND f.user_id IS NOT NULL AND f.visibility = ''`

/**
 * Counts one change of facts for each user, which makes a profile due. Call it after all locks on facts: see the order
 * of locks in count-user-turns.ts.
 */
export async function countFactChanges(tx: Tx, users: readonly Subject[]): Promise<void> {
  if (users.length === 0) return
  await tx.$executeRaw`
    INSERT INTO user_progress AS u (tenant, user_id, fact_changes)
    SELECT a.tenant, a.key, 1
    FROM unnest(${users.map(({ tenant }) => tenant)}::text[], ${users.map(({ key }) => key)}::text[]) AS a(tenant, key)
    ORDER BY a.tenant, a.key
    ON CONFLICT (tenant, user_id) DO UPDATE SET fact_changes = u.fact_changes + 1`
}
