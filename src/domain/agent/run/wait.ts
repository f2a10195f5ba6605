// Waits for the end of runs, and streams the state of a run after each change.

import { z } from 'zod'
import { every } from '../../../runtime/clock.ts'
import { createPushIterator } from '../../../runtime/push-iterator.ts'
import { readRun } from '../../../store/sql/agent/run/read-runs.ts'
import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import { authorize, trusted } from '../../kernel/rights/authorize.ts'
import type { Feeds } from '../../turn/journal/feeds.ts'
import { id, name, parse } from '../../kernel/input.ts'
import type { Platform } from '../../kernel/platform.ts'
import { actAs, type Viewer } from '../../kernel/view.ts'
import type { Run } from '../definition/visible.ts'
import { subscribeToRun } from './change.ts'
import type { RunDeps } from './deps.ts'
import { getRuns, requireRun } from './run.ts'
import { isEnded } from './state.ts'

/** Milliseconds after which a run is read again even if no change was announced. */
const POLL_MS = 2_000

/** Resolves when the run has ended or waits, or no longer exists; at the latest after the time limit of a run. */
export async function waitForRun(deps: RunDeps, { id: runId, tenant }: Pick<RunRow, 'id' | 'tenant'>): Promise<void> {
  const { clock } = deps
  if (await deps.runs.wait(runId)) return
  const until = clock.performance.now() + deps.runLimits.maxMs
  let wake = () => {}
  const unsubscribe = await subscribeToRun(deps, runId, () => wake())
  try {
    while (clock.performance.now() < until) {
      const announced = new Promise<void>((resolve) => {
        const timer = clock.setTimeout(resolve, POLL_MS)
        wake = () => {
          clock.clearTimeout(timer)
          resolve()
        }
      })
      if ((await readRun(deps.db.of(tenant), runId))?.state !== 'RUNNING') return
      await announced
    }
  } finally {
    wake()
    unsubscribe().catch(() => {})
  }
}

type EventDeps = Platform & { feeds: Pick<Feeds, 'enter'> }

const subscription = z.object({ runId: id('run'), as: name.nullish() })

/** Maximum number of states that wait for a consumer; the oldest are dropped, because each state is complete. */
const BUFFER = 4

/**
 * Returns the current run, then the run after each change of its state, its calls or its tokens; changes at almost the
 * same time may be delivered as one. Ends when the run has ended, or when the viewer no longer sees it.
 * @throws InvalidInput @throws NotFound @throws LimitReached
 */
export async function readRunEvents(
  deps: EventDeps,
  principal: Viewer,
  input: z.input<typeof subscription>,
): Promise<AsyncIterableIterator<Run>> {
  authorize(principal, 'readRunEvents', { as: input.as ?? null })
  const { runId, as } = parse(subscription, input)
  const viewer = actAs(principal, as)
  await requireRun(deps, viewer, runId)
  const leave = deps.feeds.enter(principal)
  const buffer = createPushIterator<Run>(BUFFER, { whenFull: 'drop-oldest' })
  let version = 0
  let isStopped = false
  let reading: Promise<void> | null = null
  let isStale = false

  async function read(): Promise<void> {
    const run = (await getRuns(deps, trusted(viewer), [runId])).get(runId)
    if (!run) return buffer.end()
    if (run.version > version) buffer.push(run)
    version = run.version
    if (isEnded(run.state)) buffer.end()
  }

  function refresh(): void {
    if (isStopped) return
    isStale = true
    reading ??= (async () => {
      while (isStale && !isStopped) {
        isStale = false
        await read().catch((err: unknown) => deps.log.warn({ err, runId }, 'could not read a run; trying again'))
      }
      reading = null
    })()
  }

  const stopPolling = every(deps.clock, POLL_MS, refresh)
  const unsubscribe = await subscribeToRun(deps, runId, refresh)
  refresh()
  return buffer.iterate(() => {
    isStopped = true
    void stopPolling()
    leave()
    unsubscribe().catch(() => {})
  })
}
