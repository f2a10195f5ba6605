// Dependencies of the background work.

import type { FactDeps } from '../fact/deps.ts'
import type { RunDeps } from '../run/deps.ts'
import type { StreamDeps } from '../streaming-turn/delta-queue.ts'

export type BackgroundDeps = FactDeps & StreamDeps & RunDeps
