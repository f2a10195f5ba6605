// What an agent does with turns that wake it up while it runs: its next round answers them, they wait until the run has
// ended, or they interrupt the reply that is being written, and the next round answers all of them.

import { takeWakeUps } from '../../../../store/sql/agent/wake-up/take-wake-ups.ts'
import { conversationTopic, type ConversationMessage } from '../../../kernel/live/publisher.ts'
import type { RunDeps } from '../deps.ts'
import type { HeldRun } from './held-run.ts'

/** Reason of the signal that interrupts a reply. */
const STEERED = 'STEERED'

/** The context of a run that regenerates a reply ends before the reply, so newer turns wait until the run has ended. */
const steeringOf = ({ options, run }: HeldRun) =>
  run.supersedesId === null ? (options.steering ?? 'NEXT_ROUND') : 'QUEUE'

/**
 * Takes up the turns that have woken up the agent since the run began. Returns the id of the newest one that the run has
 * taken up; null for none.
 */
export async function takeNewest(deps: RunDeps, held: HeldRun): Promise<string | null> {
  if (steeringOf(held) === 'QUEUE') return null
  const taken = await takeWakeUps(deps.pool, held.run.tenant, held.run)
  held.taken = taken.length
  return taken.at(-1) ?? null
}

export type TurnWatch = {
  /**
   * Returns a signal for the next reply, which aborts with STEERED when a turn wakes up the agent that no round has
   * taken up. It never aborts unless the steering is INTERRUPT.
   */
  nextSignal(): AbortSignal
  /** Looks for turns whose announcement was lost. */
  check(): void
  stop(): void
}

export async function watchForTurns(deps: RunDeps, held: HeldRun): Promise<TurnWatch> {
  let controller = new AbortController()
  const nextSignal = () => {
    controller = new AbortController()
    return controller.signal
  }
  if (steeringOf(held) !== 'INTERRUPT') return { nextSignal, check() {}, stop() {} }
  let isOver = false
  let checking = Promise.resolve()
  async function look(): Promise<void> {
    if (isOver) return
    const { signal } = controller
    const taken = await takeWakeUps(deps.pool, held.run.tenant, held.run)
    if (taken.length > held.taken && signal === controller.signal) controller.abort(STEERED)
  }
  const check = () => {
    checking = checking.then(look).catch(() => {})
  }
  const unsubscribe = await deps.bus.subscribe(conversationTopic(held.run.conversationId), (message) => {
    if ((JSON.parse(message) as ConversationMessage).type === 'entries') check()
  })
  return {
    nextSignal,
    check,
    stop() {
      isOver = true
      unsubscribe().catch(() => {})
    },
  }
}
