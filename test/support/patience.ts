/** Maximum time for which tests wait for a condition, in ms. Long, because a loaded machine may be slow. */
export const PATIENCE_MS = 30_000
