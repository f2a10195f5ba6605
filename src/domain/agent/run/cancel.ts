// cancelRun: ends a run immediately, even if another process executes it. The reply keeps the text written so far.

import { z } from 'zod'
import { Conflict, NotFound } from '../../../errors.ts'
import { authorize, requirePermits, requireWriter, trusted } from '../../kernel/rights/authorize.ts'
import { id, parse } from '../../kernel/input.ts'
import { abortOwnTurn } from '../../turn/streaming/stream.ts'
import { getTurns } from '../../turn/turn.ts'
import type { Viewer } from '../../kernel/view.ts'
import { toRun, type Run } from '../definition/visible.ts'
import { changeRun } from './change.ts'
import type { RunDeps } from './deps.ts'
import { requireRun } from './run.ts'

const cancelRunInput = z.object({ runId: id('run') })
export type CancelRunInput = z.input<typeof cancelRunInput>

/** Whether the run answers a turn that the viewer wrote. */
async function answersViewer(deps: RunDeps, viewer: Viewer, { replyToId }: Pick<Run, 'replyToId'>): Promise<boolean> {
  if (replyToId === null) return false
  return (await getTurns(deps, trusted(viewer), [replyToId])).get(replyToId)?.actor === viewer.actor
}

/**
 * Cancels a run that is running or waiting, aborts its open reply, and returns the run. Returns a run that is already
 * cancelled unchanged.
 * @throws InvalidInput @throws NotFound @throws NotAllowed without a right that rights.ts requires
 * @throws Conflict if the run is COMPLETED or FAILED
 */
export async function cancelRun(deps: RunDeps, viewer: Viewer, input: CancelRunInput): Promise<Run> {
  authorize(viewer, 'cancelRun')
  const { runId } = parse(cancelRunInput, input)
  const run = await requireRun(deps, viewer, runId)
  await requireWriter(deps.db.of(viewer.tenant), viewer, run.conversationId)
  const isOther = run.viewer !== viewer.actor && run.actor !== viewer.actor && !(await answersViewer(deps, viewer, run))
  await requirePermits(deps.db.of(viewer.tenant), viewer, 'cancelRun', {
    conversationId: run.conversationId,
    conditions: isOther ? ['otherRun'] : [],
  })
  const changed = await changeRun(deps, run, { event: 'cancel', heldBy: null })
  if (changed.outcome === 'missing') throw new NotFound('run', runId)
  if (changed.outcome === 'refused') {
    throw new Conflict(`Run ${runId} is ${changed.run.state}, so it can no longer be cancelled.`)
  }
  if (changed.outcome === 'changed') {
    await deps.runs.stop(runId, 'CANCELLED')
    const { turnId } = await requireRun(deps, trusted(viewer), runId)
    // If another process executes the run, that process stops it, at the latest when its next delta is refused.
    if (turnId !== null) await abortOwnTurn(deps, run.tenant, turnId, 'The run was cancelled.')
  }
  return toRun(await requireRun(deps, trusted(viewer), runId))
}
