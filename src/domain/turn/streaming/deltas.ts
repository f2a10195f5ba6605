// Creates the queue that writes all deltas: held-deltas.ts writes those of turns whose text is held back for redaction,
// delta-queue.ts all others. Opening a turn determines whether its text is held back, and stores that with the turn.

import type { Platform } from '../../kernel/platform.ts'
import { announceDelta } from '../../kernel/live/publisher.ts'
import { createDeltaQueue, type DeltaQueue, type OnWritten } from './delta-queue.ts'
import { createHeldDeltas } from './held-deltas.ts'

/** @param pool connections for appends and deltas */
export function createDeltas(platform: Platform, pool: Platform['pool']): DeltaQueue {
  const onWritten: OnWritten = (...written) => announceDelta(platform, ...written)
  return createDeltaQueue(pool, platform.limits.turnBytes, onWritten, createHeldDeltas(platform, pool, onWritten))
}
