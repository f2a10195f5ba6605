// Settings of automatic background work: the number of turns after which each kind of work runs, and whether titles are
// written automatically.

/** Each number is the number of turns after which a kind of work runs again; 0 disables it. */
export type AutomaticThresholds = {
  /** Whether conversations without a title get one from their first turns. */
  titles: boolean
  /** Unsummarised turns without an audience in one conversation. Each run summarises this many of the oldest. */
  threadSummaryEvery: number
  /**
   * Turns of one conversation with `factExtraction` that have not been read for facts. Each run reads this many of the
   * oldest.
   */
  factExtractionEvery: number
  /**
   * Turns by one user, in all conversations of the tenant, after which the user's profile is refreshed. Unless this is
   * 0, the profile is also refreshed whenever facts about the user change.
   */
  userSummaryEvery: number
}

/**
 * Returns the number of runs that are due: one for each multiple of `every` above `done` and up to `turns`. Each run
 * adds `every` to `done`.
 */
export const runsDue = (turns: number, done: number, every: number): number =>
  every > 0 ? Math.max(0, Math.floor(turns / every) - Math.floor(done / every)) : 0
