// Executes a run in this process: one reply after another, with the results of the server's own tools between them,
// until the agent has answered, the run waits, or it fails.

import { every } from '../../../../runtime/clock.ts'
import type { Tx } from '../../../../store/db/db.ts'
import { recordResults } from '../../../../store/sql/agent/run/provider-calls.ts'
import type { RunRow } from '../../../../store/sql/agent/run/run-columns.ts'
import { renewRun } from '../../../../store/sql/agent/run/runs.ts'
import type { ProviderToolCall } from '../../../../providers/ports/provider-adapter.ts'
import { appendTurn } from '../../../turn/append/append.ts'
import { announceRun, changeRun, subscribeToRun, type RunChanging } from '../change.ts'
import { readerOf } from '../credential.ts'
import { readDecidedReply } from '../approval/decided-reply.ts'
import type { RunDeps } from '../deps.ts'
import { failureOf, RunFailure, RunLost } from './failure.ts'
import { holdClaimAgain } from './hold-claim.ts'
import { runLeaseSeconds, type RunEvent } from '../state.ts'
import { ROUNDS } from '../options.ts'
import { agentOf, type HeldRun } from './held-run.ts'
import { writeReply, type Reply } from './reply.ts'
import { requestApprovals } from '../approval/request-approvals.ts'
import { callsToApprove, settleCalls, type CallDecision, type SettledCall } from '../tools/settle-calls.ts'
import { watchForTurns, type TurnWatch } from './steering.ts'
import { executeTool, invalidCalls } from '../tools/tools.ts'
import { persist } from './turn-writer.ts'

type Result = { call: ProviderToolCall; result: unknown }

/** Appends the results of a reply's tool calls. Idempotent: the clientId is derived from the run and the round. */
async function appendResults(
  deps: RunDeps,
  { run }: HeldRun,
  { round, turn }: Reply,
  { results, isCorrection }: { results: readonly Result[]; isCorrection: boolean },
): Promise<void> {
  const written = await persist(deps, () =>
    appendTurn(
      deps,
      agentOf(run),
      {
        conversationId: run.conversationId,
        turn: {
          role: 'TOOL',
          parts: results.map(({ call, result }) => ({
            toolResult: { callId: call.id, name: call.name, result, callTurnId: turn.id },
          })),
          audience: run.audience,
          replyToId: turn.id,
          traceId: run.id,
        },
      },
      { holder: run.holder, clientId: `${run.id}:${round}` },
    ),
  )
  const { tenant, id: runId } = run
  await persist(deps, () =>
    recordResults(deps.pool, { tenant, runId }, { round, resultsId: written.turn.id, isCorrection }),
  )
  announceRun(deps, runId)
}

/** Returns the results for a reply with an invalid call: an error for each of its calls, because none is executed. */
const corrections = (calls: readonly ProviderToolCall[], problems: ReadonlyMap<string, string>): Result[] =>
  calls.map((call) => ({
    call,
    result: {
      error: problems.get(call.id) ?? 'Not executed, because another call of the same reply is invalid. Call it again.',
    },
  }))

/** Executes the calls of the server's tools, in parallel. Returns all results except those that the caller appends. */
async function resultsOf(
  deps: RunDeps,
  { run }: HeldRun,
  { turnId, settled }: { turnId: string; settled: readonly SettledCall[] },
  signal: AbortSignal,
): Promise<Result[]> {
  const { tenant, conversationId, actor, audience, id: runId } = run
  const results = await Promise.all(
    settled.map(async (each): Promise<Result[]> => {
      const { call } = each
      if (each.by === 'DECISION') return [{ call, result: each.result }]
      if (each.by === 'CALLER') return []
      const context = { tenant, conversationId, actor, runId, turnId, audience, callId: call.id, signal }
      if (each.edited === null) {
        return [{ call, result: await executeTool(deps, each.execute, call.arguments, context) }]
      }
      // The model knows only the arguments that it wrote, so the result contains the edited ones.
      const result = await executeTool(deps, each.execute, each.edited, context)
      return [{ call, result: { editedArguments: each.edited, result } }]
    }),
  )
  return results.flat()
}

/** The event after which the run has ended or waits; null for another round. */
type Outcome = { event: RunEvent; also?: (tx: Tx, run: RunRow) => Promise<void> } | null

/** A reply, and the decisions about its calls. */
type DecidedReply = Reply & { decisions: ReadonlyMap<string, CallDecision> }

/**
 * Appends the results of a reply's calls, except those that the caller must append; for these, the run then waits.
 * Executes no tool for a credential that was revoked.
 */
async function answerCalls(deps: RunDeps, held: HeldRun, reply: DecidedReply, signal: AbortSignal): Promise<Outcome> {
  await readerOf(deps, held.run)
  const settled = settleCalls(reply.calls, held.tools, reply.decisions)
  const results = await resultsOf(deps, held, { turnId: reply.turn.id, settled }, signal)
  signal.throwIfAborted()
  if (results.length > 0) await appendResults(deps, held, reply, { results, isCorrection: false })
  return results.length < settled.length ? { event: 'await-tools' } : null
}

/** Appends the results of the calls about which the run waited for decisions. */
async function answerDecided(deps: RunDeps, held: HeldRun, signal: AbortSignal): Promise<Outcome> {
  const reply = await readDecidedReply(deps, held.run)
  return answerCalls(deps, held, { ...reply, round: held.run.round }, signal)
}

/** Claims the turn that woke up the agent again, if one did. */
async function claimAgain(deps: RunDeps, held: HeldRun): Promise<void> {
  const claim = await persist(deps, () => holdClaimAgain(deps, held.run))
  if (claim) held.claims.push(claim)
  held.claimToken = claim?.token ?? null
}

/**
 * Executes one round: writes a reply, and appends the results of its tool calls or requests approvals of them. A reply
 * that a newer turn interrupts keeps its text; the next round answers that turn too.
 */
async function nextRound(deps: RunDeps, held: HeldRun, turns: TurnWatch, signal: AbortSignal): Promise<Outcome> {
  const { run, options } = held
  const maxRounds = options.maxRounds ?? ROUNDS.default
  if (run.round >= maxRounds) {
    throw new RunFailure('TOO_MANY_ROUNDS', `The agent has not answered after ${maxRounds} calls of the provider.`)
  }
  const steered = turns.nextSignal()
  const reply = await writeReply(deps, held, AbortSignal.any([signal, steered])).catch((error: unknown) => {
    if (signal.aborted || !steered.aborted) throw error
    return null
  })
  if (reply === null) {
    // The abort of the reply has released the claim.
    if (held.claimToken !== null) await claimAgain(deps, held)
    return null
  }
  const { calls } = reply
  if (calls.length === 0) return { event: 'complete' }
  const problems = invalidCalls(calls, held.tools)
  if (problems.size > 0) {
    if (run.corrected) {
      throw new RunFailure('INVALID_TOOL_CALL', `The agent repeated an invalid tool call: ${[...problems.values()][0]}`)
    }
    await appendResults(deps, held, reply, { results: corrections(calls, problems), isCorrection: true })
    held.run = { ...held.run, corrected: true }
    return null
  }
  const toApprove = callsToApprove(calls, held.tools)
  if (toApprove.length === 0) return answerCalls(deps, held, { ...reply, decisions: NO_DECISIONS }, signal)
  return {
    event: 'await-approval',
    also: async (tx, waiting) => void (await requestApprovals(tx, waiting, reply.turn.id, toApprove)),
  }
}

const NO_DECISIONS: ReadonlyMap<string, CallDecision> = new Map()

/**
 * Applies the event after which the run has ended or waits, unless another process or call has ended the run. Retries
 * for the duration of the lease while the database cannot be reached.
 */
async function finish(
  deps: RunDeps,
  { run }: HeldRun,
  how: Pick<RunChanging, 'event' | 'also' | 'failure'>,
): Promise<void> {
  await persist(deps, () => changeRun(deps, run, { ...how, heldBy: run.holder }))
}

async function runRounds(deps: RunDeps, held: HeldRun, turns: TurnWatch, signal: AbortSignal): Promise<void> {
  let outcome = held.from === 'WAITING_FOR_APPROVAL' ? await answerDecided(deps, held, signal) : null
  while (outcome === null) outcome = await nextRound(deps, held, turns, signal)
  await finish(deps, held, outcome)
}

/**
 * Renews the lease until the returned function is called. Calls `lose` when another process or call ends the run, and
 * `onRenew` with each periodic renewal.
 */
async function keepLease(
  deps: RunDeps,
  { run }: HeldRun,
  { lose, onRenew }: { lose: () => void; onRenew: () => void },
): Promise<() => void> {
  const leaseMs = runLeaseSeconds(deps) * 1000
  const key = { id: run.id, holder: run.holder, leaseMs }
  const renew = () =>
    renewRun(deps.pool, run.tenant, key).then(
      (isHeld) => isHeld || lose(),
      (err: unknown) => deps.log.warn({ err, runId: run.id }, 'could not renew the lease of a run; trying again'),
    )
  // A renewal that takes long does not delay the next one.
  const stopRenewing = every(deps.clock, leaseMs / 3, () => {
    void renew()
    onRenew()
  })
  // A cancellation is announced. If the announcement is lost, the next renewal detects the cancellation.
  const unsubscribe = await subscribeToRun(deps, run.id, () => void renew())
  return () => {
    void stopRenewing()
    unsubscribe().catch(() => {})
  }
}

/**
 * Executes the run until it ends or waits. A run that continues claims the turn that woke up its agent again. Never
 * rejects. `stop` aborts with a StopReason.
 */
export async function execute(deps: RunDeps, held: HeldRun, stop: AbortSignal): Promise<void> {
  const halt = new AbortController()
  const timer = deps.clock.setTimeout(() => halt.abort('TIME_LIMIT'), deps.runLimits.maxMs)
  const signal = AbortSignal.any([stop, halt.signal])
  let release = () => {}
  let turns: TurnWatch | null = null
  try {
    turns = await watchForTurns(deps, held)
    release = await keepLease(deps, held, { lose: () => halt.abort('CANCELLED'), onRenew: turns.check })
    if (held.from !== null) await claimAgain(deps, held)
    await runRounds(deps, held, turns, signal)
  } catch (error) {
    await end(deps, held, signal.aborted ? stoppedBy(signal.reason, deps.runLimits.maxMs) : error)
  } finally {
    deps.clock.clearTimeout(timer)
    release()
    turns?.stop()
    await Promise.all(held.claims.map((claim) => claim.release()))
  }
}

/** Returns the error for a run that was stopped. */
function stoppedBy(reason: unknown, maxMs: number): Error {
  if (reason === 'SHUTDOWN') return new RunFailure('INTERRUPTED', 'The server was shut down.')
  if (reason === 'TIME_LIMIT') return new RunFailure('TIME_LIMIT', `The run took longer than ${maxMs / 1000} s.`)
  return new RunLost()
}

/** Records the failure of a run. If this fails, the sweep ends the run when its lease expires. */
async function end(deps: RunDeps, held: HeldRun, error: unknown): Promise<void> {
  if (error instanceof RunLost) return
  const failure = failureOf(error)
  const { id: runId } = held.run
  if (failure.code === 'INTERNAL') deps.log.error({ err: error, runId }, 'a run failed unexpectedly')
  await finish(deps, held, { event: 'fail', failure }).catch((err: unknown) =>
    deps.log.error({ err, runId }, 'could not record the failure of a run; the run ends when its lease expires'),
  )
}
