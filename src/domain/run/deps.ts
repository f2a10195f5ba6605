// The dependencies of runs: those of turns, streaming turns and contexts, with the tools of the server.

import type { ContextDeps } from '../context/deps.ts'
import type { StreamDeps } from '../streaming-turn/delta-queue.ts'
import type { AppendDeps } from '../turn/append-queue.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { Tools } from './tools.ts'

/** Time limits of runs. */
export type RunLimits = {
  /** Milliseconds without an event of the provider after which a call fails, if the adapter has no limit of its own. */
  stallMs: number
  /** Milliseconds for which one process may execute a run without a pause. */
  maxMs: number
}

export type RunDeps = AppendDeps & StreamDeps & ContextDeps & { tools: Tools; runs: ActiveRuns; runLimits: RunLimits }
