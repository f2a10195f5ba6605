// The state of the engine in this process.

import { createActiveRuns, type ActiveRuns } from './active-runs.ts'
import type { RunLimits } from './deps.ts'
import { toolsOf, type Tool, type Tools } from './tools.ts'

/** Maximum time for which a process executes a run without a pause, ms, unless it is configured. */
const MAX_MS = 600_000
/** Maximum silence of a provider whose adapter has no limit of its own, ms. */
const STALL_MS = 60_000

export type Engine = { runs: ActiveRuns; tools: Tools; runLimits: RunLimits }

/** Settings of the engine. */
export type EngineSettings = {
  /** Tools that runs may call and that this process executes. Defaults to none. */
  tools?: readonly Tool[] | undefined
  /** Maximum time for which a process executes a run without a pause, ms. Defaults to 600,000. */
  runMs?: number | undefined
}

/** Creates the state. Close `runs` before the dependencies of runs. @throws Error as `toolsOf` does */
export const createEngine = ({ tools = [], runMs = MAX_MS }: EngineSettings): Engine => ({
  runs: createActiveRuns(),
  tools: toolsOf(tools),
  runLimits: { stallMs: STALL_MS, maxMs: runMs },
})
