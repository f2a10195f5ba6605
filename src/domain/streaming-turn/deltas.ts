// Writes deltas: of turns whose text is held back for redaction (held-deltas.ts), and of all others (delta-queue.ts).
// Whether text is held back is decided when a turn is opened, and stored with the turn.

import type { Platform } from '../platform.ts'
import { announceDelta } from '../publisher.ts'
import { createDeltaQueue, type DeltaQueue, type OnWritten } from './delta-queue.ts'
import { createHeldDeltas } from './held-deltas.ts'

/** @param pool connections for appends and deltas */
export function createDeltas(platform: Platform, pool: Platform['pool']): DeltaQueue {
  const onWritten: OnWritten = (...written) => announceDelta(platform, ...written)
  return createDeltaQueue(pool, platform.limits.turnBytes, onWritten, createHeldDeltas(platform, pool, onWritten))
}
