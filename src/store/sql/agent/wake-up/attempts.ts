// Records the attempts of the server to answer a wake-up, and the end of the wake-up. All times come from the clock of
// the database.

import type { Db } from '../../../db/db.ts'
import type { WakeUpDrop } from '../../../generated/enums.ts'

/** Identifies a wake-up, and the number of attempts that the caller has read. */
export type Attempt = { turnId: string; actor: string; attempts: number }

/**
 * Begins the next attempt. Returns false if another process has begun it, or the wake-up has ended. Until `graceMs` have
 * passed, the wake-up is not due, unless the run of the attempt starts and ends before.
 */
export async function beginAttempt(
  db: Db,
  tenant: string,
  { turnId, actor, attempts }: Attempt,
  graceMs: number,
): Promise<boolean> {
  const begun = await db.of(tenant).$executeRaw`
    UPDATE wake_up SET attempts = attempts + 1, retry_at = now() + make_interval(secs => ${graceMs / 1000}::double precision)
    WHERE turn_id = ${turnId}::text AND actor = ${actor}::text AND attempts = ${attempts}::integer
      AND answered_at IS NULL AND dropped_reason IS NULL`
  return begun === 1
}

/**
 * Makes the wake-up due after `delayMs`, because the run of the current attempt could not start. If `isCounted` is
 * false, the attempt does not count.
 */
export async function postponeAttempt(
  db: Db,
  tenant: string,
  { turnId, actor, attempts }: Attempt,
  { delayMs, isCounted }: { delayMs: number; isCounted: boolean },
): Promise<void> {
  await db.of(tenant).$executeRaw`
    UPDATE wake_up SET retry_at = now() + make_interval(secs => ${delayMs / 1000}::double precision),
                       attempts = attempts - ${isCounted ? 0 : 1}::integer
    WHERE turn_id = ${turnId}::text AND actor = ${actor}::text AND attempts = ${attempts + 1}::integer
      AND answered_at IS NULL AND dropped_reason IS NULL`
}

/** Ends the wake-up without an answer. Returns false if it has ended. */
export async function dropWakeUp(
  db: Db,
  tenant: string,
  { turnId, actor }: Omit<Attempt, 'attempts'>,
  reason: WakeUpDrop,
): Promise<boolean> {
  const dropped = await db.of(tenant).$executeRaw`
    UPDATE wake_up SET dropped_reason = ${reason}::wake_up_drop
    WHERE turn_id = ${turnId}::text AND actor = ${actor}::text AND answered_at IS NULL AND dropped_reason IS NULL`
  return dropped === 1
}

/** Ends the wake-up as answered. Used if the run is complete although no turn has ended it. */
export async function endWakeUp(db: Db, tenant: string, { turnId, actor }: Omit<Attempt, 'attempts'>): Promise<void> {
  await db.of(tenant).$executeRaw`
    UPDATE wake_up SET answered_at = now()
    WHERE turn_id = ${turnId}::text AND actor = ${actor}::text AND answered_at IS NULL AND dropped_reason IS NULL`
}
