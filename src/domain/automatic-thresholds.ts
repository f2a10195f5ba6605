// What is done without being asked, and after how many turns: the thresholds, and what follows from them. Pure.

/** Turns after which each thing is done once more; 0 for never. Nothing but turns is counted. */
export type AutomaticThresholds = {
  /** Turns of a conversation, without audience, that no summary covers yet: so many of the oldest are summarised. */
  threadSummaryEvery: number
  /** Turns of a conversation that were not read for facts yet: so many of the oldest are read. */
  factExtractionEvery: number
  /** Turns that a person has said, in all conversations of the tenant: their profile is refreshed. */
  userSummaryEvery: number
  /** As many such turns, and what is known of them is reconciled; only where facts are learned by themselves. */
  dedupEvery: number
}

/** Whether anything that follows the turns of a user is to be done, so that they must be counted. */
export const countsUsers = (automatic: AutomaticThresholds): boolean =>
  automatic.userSummaryEvery > 0 || reconcilesEvery(automatic) > 0

/** Turns of a user after which what is known of them is reconciled; 0 for never: nothing is learned, then. */
export const reconcilesEvery = ({ factExtractionEvery, dedupEvery }: AutomaticThresholds): number =>
  factExtractionEvery > 0 ? dedupEvery : 0

/**
 * How often something is due: once for each multiple of `every` after `done`, up to and with `turns`. With `done`
 * raised by `every` each time, each run stands for exactly so many turns.
 */
export const runsDue = (turns: number, done: number, every: number): number =>
  every > 0 ? Math.max(0, Math.floor(turns / every) - Math.floor(done / every)) : 0
