// Answers wake-ups: runs the server's agent for each turn that woke it up, oldest turn first, and again after a
// failure. The clientId of a run names the turn and the attempt, so no attempt runs twice. The agent claims the turn,
// so that no agent outside the server answers it too. The transaction that commits the reply ends the wake-up
// (prisma/functions/wake_up_participants.sql).

import { backoffMs } from '../../../../runtime/clock.ts'
import { Conflict, InvalidInput, LimitReached, NotAllowed, NotFound, QuotaExceeded } from '../../../../errors.ts'
import { JobFailed } from '../../../../store/jobs/job-queue.ts'
import {
  beginAttempt,
  dropWakeUp,
  endWakeUp,
  postponeAttempt,
  type Attempt,
} from '../../../../store/sql/agent/wake-up/attempts.ts'
import { readDueWakeUp, RETRY_MS, type DueWakeUp } from '../../../../store/sql/agent/wake-up/due-wake-ups.ts'
import type { Run } from '../../definition/visible.ts'
import { answerStep, MAX_ANSWER_RUNS } from './answer-step.ts'
import type { RunDeps } from '../deps.ts'
import { holdClaim } from './hold-claim.ts'
import { runTurn } from '../start.ts'

/** An agent in a conversation. */
export type AgentOf = { tenant: string; conversationId: string; actor: string }

/** Limits for one wake-up. `delayMs` is the backoff after the first failure; it doubles after each further one. */
export type AnswerLimits = { attempts: number; delayMs: number }
const LIMITS: AnswerLimits = { attempts: MAX_ANSWER_RUNS, delayMs: RETRY_MS }

/** Time in which an attempt must start its run, ms. After that, another attempt begins. */
const GRACE_MS = 60_000
/** Delay after an attempt that this process could not start, because of MAX_ACTIVE_RUNS or its shutdown, ms. */
const BUSY_MS = 1_000

/**
 * Answers the agent's due wake-up whose turn has the lowest position. Returns false if no wake-up is due, its run has
 * not ended, another process has begun the attempt, or the run could not start.
 * @throws JobFailed if the attempt failed and the job must run again later
 */
export async function answerNext(
  deps: RunDeps,
  agent: AgentOf,
  stop: AbortSignal,
  limits: AnswerLimits = LIMITS,
): Promise<boolean> {
  const { tenant, actor } = agent
  const wakeUp = await readDueWakeUp(deps.db, tenant, agent, limits.delayMs)
  if (wakeUp === null) return false
  const { turnId, attempts, run } = wakeUp
  const attempt = { turnId, actor, attempts }
  const step = answerStep(attempts, run, limits.attempts)
  if (step.do === 'drop') {
    if (await dropWakeUp(deps.db, tenant, attempt, step.reason)) {
      deps.log.warn(
        { ...agent, turnId, attempts, runId: run?.id, code: run?.errorCode },
        'dropped a wake-up without an answer',
      )
    }
    return true
  }
  if (step.do === 'end') {
    await endWakeUp(deps.db, tenant, attempt)
    return true
  }
  if (step.do === 'wait' || !(await beginAttempt(deps.db, tenant, attempt, GRACE_MS))) return false
  const ended = await runAgent(deps, agent, wakeUp, stop).catch((error: unknown) =>
    handleRefusal(deps, { tenant, ...attempt }, error, limits),
  )
  if (ended?.state === 'FAILED' && answerStep(attempts + 1, ended, limits.attempts).do === 'start') {
    throw new JobFailed(`The run ${ended.id} failed: ${ended.errorCode}.`)
  }
  return ended !== null
}

/** Runs the agent until it has answered, waits or fails. Rejects when `stop` aborts; the shutdown then ends the run. */
async function runAgent(
  deps: RunDeps,
  { tenant, conversationId, actor }: AgentOf,
  { turnId, newestId, attempts }: DueWakeUp,
  stop: AbortSignal,
): Promise<Run> {
  const clientId = `wake-up:${turnId}:${attempts + 1}`
  const viewer = { tenant, actor }
  const claim = await holdClaim(deps, viewer, turnId)
  const input = { conversationId, actor, replyTo: newestId, clientId, wait: true }
  const answer = async () => {
    try {
      return await runTurn(deps, viewer, input, claim.token)
    } finally {
      await claim.release()
    }
  }
  const running = answer()
  let onStop = () => {}
  const stopped = new Promise<never>((_, reject) => {
    onStop = () => reject(new Error('The process that ran the job was stopped.'))
    if (stop.aborted) onStop()
    else stop.addEventListener('abort', onStop, { once: true })
  })
  try {
    return (await Promise.race([running, stopped])).run
  } finally {
    stop.removeEventListener('abort', onStop)
    running.catch(() => {})
    stopped.catch(() => {})
  }
}

/** Whether every attempt is refused until the settings of the agent or its conversation change. */
const isFinal = (error: unknown): boolean =>
  error instanceof InvalidInput || error instanceof NotFound || error instanceof NotAllowed

/**
 * Handles an attempt whose run did not start. Returns null if the wake-up is dropped, or is due again after another run
 * or claim has ended.
 * @throws the error, or JobFailed, if the job must run again later
 */
async function handleRefusal(
  deps: RunDeps,
  { tenant, ...attempt }: Attempt & { tenant: string },
  error: unknown,
  { attempts, delayMs }: AnswerLimits,
): Promise<null> {
  if (isFinal(error) || (error instanceof QuotaExceeded && attempt.attempts + 1 >= attempts)) {
    await dropWakeUp(deps.db, tenant, attempt, 'AGENT_FAILED')
    deps.log.warn({ err: error, tenant, ...attempt }, 'dropped a wake-up: the run of its agent was refused')
    return null
  }
  // The agent is already running, or another claim excludes its claim. The end of either makes the wake-up due again.
  if (error instanceof Conflict) {
    await postponeAttempt(deps.db, tenant, attempt, { delayMs: 0, isCounted: false })
    return null
  }
  const isBusy = error instanceof LimitReached
  const ms = isBusy ? BUSY_MS : backoffMs({ firstMs: delayMs }, attempt.attempts + 1)
  await postponeAttempt(deps.db, tenant, attempt, { delayMs: ms, isCounted: !isBusy })
  if (error instanceof QuotaExceeded || isBusy) throw new JobFailed(error.message)
  throw error
}
