import { isLong } from './long.ts'

// A loaded machine may be slow, and LONG=1 runs tests that start many processes.

/** Time for which tests wait for a condition, ms. */
export const PATIENCE_MS = isLong ? 300_000 : 120_000
/** Time after which a test or a hook fails, ms. Only one that hangs takes so long. */
export const HANG_MS = isLong ? 1_800_000 : 600_000
