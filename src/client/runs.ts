// Runs of agents: reads a run until it has ended or waits.

import type { Connection, RequestOptions } from './connection.ts'
import { FOLLOW_RUN } from './documents.ts'
import { ColloquyError } from './errors.ts'
import type { Run, Turn } from './generated.ts'

/** A run, and the turns that it has appended as replies. */
export type RunWithReplies = Run & { replies: Turn[] }

/** Yields the run now and after each change, until it has ended. */
export const followRun = (connection: Connection, runId: string, options?: RequestOptions) =>
  connection.subscribe(FOLLOW_RUN, () => ({ runId }), options) as AsyncGenerator<RunWithReplies, void>

/** Returns the run when it no longer runs. */
export async function settled(connection: Connection, runId: string, options: RequestOptions): Promise<RunWithReplies> {
  for await (const run of followRun(connection, runId, options)) if (run.state !== 'RUNNING') return run
  options.signal?.throwIfAborted()
  throw new ColloquyError('NOT_FOUND', `There is no run ${JSON.stringify(runId)}, or it is outside the view.`)
}
