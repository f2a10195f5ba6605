// Reads a user's number of turns, and advances the marks that record the number of turns processed by automatic work. A
// run advances its mark in the transaction that writes its result, so that both happen or neither.

import type { Db, Tx } from '../../db.ts'

type UserProgressRow = { turns: number; profiledTurns: number; reconciledTurns: number }

/** The user's progress; null if no turn of the user was counted. */
export async function readProgressOf(db: Db, tenant: string, userId: string): Promise<UserProgressRow | null> {
  const row = await db.userProgress.findUnique({ where: { tenant_userId: { tenant, userId } } })
  return (
    row && {
      turns: Number(row.turns),
      profiledTurns: Number(row.profiledTurns),
      reconciledTurns: Number(row.reconciledTurns),
    }
  )
}

/** Advances the reconciliation mark by `turns`, and counts the run. False if the mark no longer equals `from`. */
export async function advanceReconciliation(
  tx: Tx,
  tenant: string,
  userId: string,
  from: number,
  turns: number,
): Promise<boolean> {
  return (
    1
    === (await tx.$executeRaw`
    UPDATE user_progress
    SET reconciled_turns = reconciled_turns + ${turns}::bigint, reconciliations = reconciliations + 1
    WHERE tenant = ${tenant}::text AND user_id = ${userId}::text AND reconciled_turns = ${from}::bigint`)
  )
}

/** Advances the profile mark by `turns`, and counts the run. False if the mark no longer equals `from`. */
export async function advanceProfiling(
  tx: Tx,
  tenant: string,
  userId: string,
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
