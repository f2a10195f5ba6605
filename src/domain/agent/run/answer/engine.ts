// Creates the engine of this process: the runs that it executes, its tools, and the time limits of runs.

import { createActiveRuns, type ActiveRuns } from '../active-runs.ts'
import type { RunLimits } from '../deps.ts'
import { toolsOf, type Tool, type Tools } from '../tools/tools.ts'

/** Default maximum time, ms, for which a process executes a run before the run must end or wait. */
const MAX_MS = 600_000
/** Time without an event of the provider after which a call fails, ms, if the adapter has no limit of its own. */
const STALL_MS = 60_000

export type Engine = { runs: ActiveRuns; tools: Tools; runLimits: RunLimits }

/** Settings of the engine. */
export type EngineSettings = {
  /** Tools that runs may call and that this process executes. Defaults to none. */
  tools?: readonly Tool[] | undefined
  /** Maximum time, ms, for which a process executes a run before the run must end or wait. Defaults to 600,000. */
  runMs?: number | undefined
}

/**
 * Creates the engine. Close `runs` before its dependencies.
 * @param builtIn see Tools
 * @throws Error for an invalid tool, as `toolsOf` does
 */
export const createEngine = ({ tools = [], runMs = MAX_MS }: EngineSettings, builtIn: readonly Tool[]): Engine => ({
  runs: createActiveRuns(),
  tools: toolsOf(tools, builtIn),
  runLimits: { stallMs: STALL_MS, maxMs: runMs },
})
