// Chooses how deltas are written: redacted, with text held back, or as they are.

import type { Platform } from '../platform.ts'
import { announceDelta } from '../publisher.ts'
import { createDeltaQueue, type DeltaQueue, type OnWritten } from './delta-queue.ts'
import { createHeldDeltas } from './held-deltas.ts'

/** @param pool connections for appends and deltas */
export function createDeltas(platform: Platform, pool: Platform['pool']): DeltaQueue {
  const onWritten: OnWritten = (...written) => announceDelta(platform, ...written)
  return platform.redact === 'turns'
    ? createHeldDeltas(platform, pool, onWritten)
    : createDeltaQueue(pool, platform.limits.turnBytes, onWritten)
}
