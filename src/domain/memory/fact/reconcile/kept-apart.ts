// Decides which facts reconciliation leaves alone because somebody undid a reconciliation. Pure. A restored fact is kept
// apart from every fact that was known when it was restored, until a new source asserts one of the two.

/** The latest of the times that are not null; null for none. */
export const latest = (times: readonly (Date | null)[]): Date | null =>
  times.reduce((last, time) => (time !== null && (last === null || time > last) ? time : last), null)

type Restorable = { assertedAt: Date; restoredAt: Date | null }

/** Whether one of the facts was restored, and no source has asserted either of them anew since then. Symmetric. */
export function isKeptApart(a: Restorable, b: Restorable): boolean {
  const restoredAt = latest([a.restoredAt, b.restoredAt])
  return restoredAt !== null && a.assertedAt <= restoredAt && b.assertedAt <= restoredAt
}
