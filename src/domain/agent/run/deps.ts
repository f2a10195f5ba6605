// The dependencies of runs: the dependencies of turns, their versions, streaming turns and contexts, the server's tools,
// and limits.

import type { Files } from '../../conversation/attachment/attachment.ts'
import type { ContextDeps } from '../../memory/context/deps.ts'
import type { StreamDeps } from '../../turn/streaming/delta-queue.ts'
import type { AppendDeps } from '../../turn/append/append-queue.ts'
import type { SupersedeDeps } from '../../turn/version.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { Tools } from './tools/tools.ts'

/** Time limits of runs. */
export type RunLimits = {
  /** Milliseconds without an event of the provider after which a call fails, if the adapter has no limit of its own. */
  stallMs: number
  /** Maximum time, ms, for which a process executes a run before the run must end or wait. */
  maxMs: number
}

export type RunDeps = AppendDeps
  & SupersedeDeps
  & StreamDeps
  & ContextDeps & { files: Files; tools: Tools; runs: ActiveRuns; runLimits: RunLimits }
