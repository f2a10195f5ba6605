// What is done without being asked, and after how many turns: the thresholds, and what follows from them. Pure.

/** Turns after which each thing is done once more; 0 for never. Nothing but turns is counted. */
export type Automatic = {
  /** Turns of a room, without audience, that no summary covers yet: so many of the oldest are summarised. */
  threadSummaryEvery: number
  /** Turns of a room that were not read for facts yet: so many of the oldest are read. */
  factExtractionEvery: number
  /** Turns that a person has said, in all rooms of the tenant: their profile is refreshed. */
  userSummaryEvery: number
  /** Such turns after which what is known of them is reconciled; only where facts are learned without being asked for. */
  dedupEvery: number
}

/** As a server that is told nothing does: nothing is learned, so nothing needs reconciling. */
export const DEFAULTS: Automatic = { threadSummaryEvery: 0, factExtractionEvery: 0, userSummaryEvery: 0, dedupEvery: 5 }
