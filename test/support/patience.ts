/** Time for which tests wait for a condition, ms. It is long, because a loaded machine may be slow. */
export const PATIENCE_MS = 120_000
/** Time after which a test or a hook fails, ms. Only one that hangs takes so long. */
export const HANG_MS = 600_000
