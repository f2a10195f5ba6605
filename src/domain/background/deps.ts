// The dependencies of background work: those of facts and of streaming turns.

import type { FactDeps } from '../fact/deps.ts'
import type { StreamDeps } from '../streaming-turn/delta-queue.ts'

export type BackgroundDeps = FactDeps & StreamDeps
