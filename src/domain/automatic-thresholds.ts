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
  /** Turns by one user after which the facts about the user are reconciled; unused if factExtractionEvery is 0. */
  dedupEvery: number
}

/**
 * The conversations in which the turns of each user must be counted: ALL if profiles are refreshed automatically;
 * EXTRACTING, those with `factExtraction`, if only facts are reconciled.
 */
export const countsTurnsOf = (automatic: AutomaticThresholds): 'ALL' | 'EXTRACTING' | 'NONE' => {
  if (automatic.userSummaryEvery > 0) return 'ALL'
  return reconcilesEvery(automatic) > 0 ? 'EXTRACTING' : 'NONE'
}

/** The effective `dedupEvery`: 0 if facts are never extracted automatically. */
export const reconcilesEvery = ({ factExtractionEvery, dedupEvery }: AutomaticThresholds): number =>
  factExtractionEvery > 0 ? dedupEvery : 0

/**
 * Returns the number of runs that are due: one for each multiple of `every` above `done` and up to `turns`. Each run
 * adds `every` to `done`.
 */
export const runsDue = (turns: number, done: number, every: number): number =>
  every > 0 ? Math.max(0, Math.floor(turns / every) - Math.floor(done / every)) : 0
