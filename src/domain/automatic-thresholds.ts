// Thresholds of automatic work: after how many turns each kind of background work runs. Pure.

/** Number of turns after which each kind of work runs again; 0 switches it off. */
export type AutomaticThresholds = {
  /** Unsummarised turns without an audience in a conversation; that many of the oldest are summarised. */
  threadSummaryEvery: number
  /** Turns of a conversation that were not yet read for facts; that many of the oldest are read. */
  factExtractionEvery: number
  /** Turns by a person, over all conversations of the tenant, after which the profile is refreshed. */
  userSummaryEvery: number
  /** Turns by a person after which the facts about them are reconciled; only if facts are extracted automatically. */
  dedupEvery: number
}

/** Whether turns must be counted for each user. */
export const countsUsers = (automatic: AutomaticThresholds): boolean =>
  automatic.userSummaryEvery > 0 || reconcilesEvery(automatic) > 0

/** Turns of a user after which the facts about them are reconciled; 0 if facts are never extracted automatically. */
export const reconcilesEvery = ({ factExtractionEvery, dedupEvery }: AutomaticThresholds): number =>
  factExtractionEvery > 0 ? dedupEvery : 0

/**
 * Number of runs due: one for each multiple of `every` above `done` and up to `turns`. `done` rises by `every` with each
 * run, so each run accounts for exactly `every` turns.
 */
export const runsDue = (turns: number, done: number, every: number): number =>
  every > 0 ? Math.max(0, Math.floor(turns / every) - Math.floor(done / every)) : 0
