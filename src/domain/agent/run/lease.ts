// The lease of a run, of its open turn and of its claim: the time after which other processes notice that the process
// that executes the run has died. Short, because viewers see an answer that no longer grows until then.

import type { Platform } from '../../kernel/platform.ts'

/** Maximum duration of the lease, s. It is renewed after each third of its duration. */
const MAX_SECONDS = 8

/** Duration of the lease, s: at most that of other streaming turns. */
export const runLeaseSeconds = ({ streamLeaseMs }: Pick<Platform, 'streamLeaseMs'>): number =>
  Math.min(MAX_SECONDS, streamLeaseMs / 1000)
