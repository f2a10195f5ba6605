/** Default time for which tests wait for a condition, ms. It is long, because a loaded machine may be slow. */
export const PATIENCE_MS = 30_000
