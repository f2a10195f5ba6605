// runTurn: appends the caller's turns, and lets an agent answer. A run is reserved first, so that a refused call writes
// nothing; then the turns are appended; then the run starts, with a journal entry.

import { randomBytes } from 'node:crypto'
import { sleep } from '../../../runtime/clock.ts'
import { Conflict, NotFound } from '../../../errors.ts'
import { readOpenCalls } from '../../../store/sql/agent/run/provider-calls.ts'
import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import { readRun } from '../../../store/sql/agent/run/read-runs.ts'
import { deleteUnseenRun, findRivals, insertRun, recordStart, type NewRun } from '../../../store/sql/agent/run/runs.ts'
import { writeEntry } from '../../../store/sql/turn/journal/write-entry.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { authorize, lockConversation, requirePermits, requireWriter, trusted } from '../../kernel/rights/authorize.ts'
import { requireSources } from '../../memory/context/sources.ts'
import { getConversations } from '../../conversation/conversation.ts'
import { newId } from '../../kernel/id.ts'
import { parse } from '../../kernel/input.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import { redactInput } from '../../kernel/redaction.ts'
import { appendTurns, type AppendTurnsInput } from '../../turn/append/append.ts'
import { digest } from '../../turn/append/turn-input.ts'
import type { Turn } from '../../turn/turn.ts'
import type { Condition } from '../../kernel/rights/rights.ts'
import type { Viewer } from '../../kernel/view.ts'
import { toRun, type Run } from '../definition/visible.ts'
import { changeRun, alreadyRunning } from './change.ts'
import { storedCredential } from './credential.ts'
import type { RunDeps } from './deps.ts'
import { execute } from './answer/execute.ts'
import { runLeaseSeconds } from './state.ts'
import { optionsOf, storedOptions } from './options.ts'
import { requireQuota } from './quota.ts'
import { findSuperseded, requireAlone, requireSupersedable } from './regenerate.ts'
import type { HeldRun, WaitingState } from './answer/held-run.ts'
import { newestAnswered, requireAnswered } from './answer/answered-turn.ts'
import { requireDecided } from './approval/request-approvals.ts'
import { requireRun } from './run.ts'
import {
  chooseModel,
  findAgent,
  mergeOptions,
  overridesSettings,
  runTurnInput,
  type ParsedRunTurn,
} from './run-input.ts'
import { offeredTools } from './tools/tools.ts'
import { waitForRun } from './wait.ts'

export type RunTurnInput = Omit<Partial<ParsedRunTurn>, 'turns' | 'conversationId'> & {
  conversationId: string
  turns?: AppendTurnsInput['turns'] | null
}

/** Result of runTurn: the run, and the turns that the call appended. */
export type RunTurnResult = { run: Run; turns: Turn[] }

/**
 * Appends `turns`, and runs the agent. With `wait` (the default), resolves when the run has ended or waits; otherwise
 * at once. With `runId`, continues a run that waits for the results of tools. If a run fails after its start, the
 * function returns the FAILED run. `claimToken` is the token of the agent's claim on `replyTo`; replies use it until
 * the run waits. With `supersedes`, the first reply is a newer version of that reply (regenerate.ts).
 * @throws InvalidInput @throws NotFound for an unknown conversation, agent, provider or run
 * @throws NotAllowed without a right that rights.ts requires, or if the agent cannot write to the conversation
 * @throws Conflict if the agent is already running in the conversation, the clientId was used with other input, the
 * run to continue does not wait for results, or the reply to supersede cannot be superseded
 * @throws QuotaExceeded @throws LimitReached if the process executes MAX_ACTIVE_RUNS runs
 */
export async function runTurn(
  deps: RunDeps,
  viewer: Viewer,
  input: RunTurnInput,
  claimToken: string | null = null,
): Promise<RunTurnResult> {
  authorize(viewer, 'runTurn', input)
  const given = await redactInput(deps, viewer, 'runTurn', parse(runTurnInput, input))
  requireAlone(given)
  deps.runs.requireCapacity()
  const { run, turns } =
    given.runId == null ? await begin(deps, viewer, given, claimToken) : await resume(deps, viewer, given)
  if (given.wait ?? true) await waitForRun(deps, run)
  return { run: toRun(await requireRun(deps, trusted(viewer), run.id)), turns }
}

/** Returns the turns to append. A turn without a clientId gets one that is derived from the clientId of the run. */
const turnsOf = ({ turns, clientId }: ParsedRunTurn): AppendTurnsInput['turns'] =>
  (turns ?? []).map((turn, index) =>
    clientId == null || turn.clientId != null ? turn : { ...turn, clientId: `run:${clientId}:${index}` },
  )

async function appendGiven(deps: RunDeps, viewer: Viewer, given: ParsedRunTurn): Promise<Turn[]> {
  const { conversationId } = given
  const turns = turnsOf(given)
  return turns.length === 0 ? [] : (await appendTurns(deps, viewer, { conversationId, turns })).turns
}

async function begin(
  deps: RunDeps,
  viewer: Viewer,
  given: ParsedRunTurn,
  claimToken: string | null,
): Promise<{ run: RunRow; turns: Turn[] }> {
  const { conversationId } = given
  const { tenant } = viewer
  const conversation = (await getConversations(deps, trusted(viewer), [conversationId])).get(conversationId)
  if (!conversation) throw new NotFound('conversation', conversationId)
  await requireWriter(deps.db.of(tenant), viewer, conversationId)
  const superseded = await findSuperseded(deps, viewer, given)
  const agent = await findAgent(deps, viewer, conversation, { ...given, actor: given.actor ?? superseded?.actor })
  const { actor } = agent
  const isForeign = actor !== viewer.actor && (agent.settings === null || overridesSettings(given))
  const conditions: Condition[] = isForeign ? ['foreignAgent'] : []
  await requirePermits(deps.db.of(tenant), viewer, 'runTurn', { conversationId, conditions })
  await requireSources(deps, viewer, 'runTurn', { ...given.context, conversationId })
  const { provider, model } = chooseModel(deps, given, agent)
  await requireQuota(deps, tenant, conversationId, actor)
  const replyTo =
    given.replyTo == null ? null : await requireAnswered(deps, viewer, { conversationId, actor, turnId: given.replyTo })
  const holder = randomBytes(12).toString('base64url')
  const id = newId('run')
  const { wait: _, ...request } = given
  const reserved = {
    id,
    conversationId,
    actor,
    viewer: viewer.actor,
    provider: provider.name,
    model,
    supersedesId: superseded?.id ?? null,
    options: storedOptions(mergeOptions(given, agent)),
    credential: storedCredential(viewer),
    clientId: given.clientId ?? null,
    clientHash: given.clientId == null ? null : digest(request),
    holder,
    // The time for appending the turns. The start gives the run its own lease.
    leaseMs: deps.streamLeaseMs,
  }
  if (!(await insertRun(deps.pool, tenant, reserved))) return repeat(deps, viewer, given, reserved)
  try {
    const turns = await appendGiven(deps, viewer, given)
    const answered = superseded
      ? { id: superseded.replyToId, audience: superseded.audience }
      : (replyTo ?? (await newestAnswered(deps, viewer, { actor, conversationId, turns })))
    const run = await start(deps, viewer, reserved, answered)
    executeHere(deps, { ...run, holder }, { claimToken, from: null })
    return { run, turns }
  } catch (error) {
    await deleteUnseenRun(deps.pool, tenant, id).catch(() => {})
    throw error
  }
}

/** Time for which a call waits until another call with the same clientId has started its run, ms. */
const STARTING_MS = 5_000

/** Returns the run that an earlier call with the same clientId has started. @throws Conflict */
async function repeat(
  deps: RunDeps,
  viewer: Viewer,
  given: ParsedRunTurn,
  reserved: Parameters<typeof insertRun>[2],
): Promise<{ run: RunRow; turns: Turn[] }> {
  const { repeatedId, runningId } = await findRivals(deps.pool, viewer.tenant, reserved)
  const isSeen = (id: string) => requireRun(deps, trusted(viewer), id).catch(() => null)
  const until = deps.clock.performance.now() + STARTING_MS
  if (repeatedId === null) {
    throw alreadyRunning(reserved.actor, runningId !== null && (await isSeen(runningId)) ? runningId : null)
  }
  let run = await isSeen(repeatedId)
  // The other call is appending its turns.
  while (!run && deps.clock.performance.now() < until) {
    await sleep(deps.clock, 50)
    run = await isSeen(repeatedId)
  }
  const key = JSON.stringify(reserved.clientId)
  if (!run) throw new Conflict(`Another call with the clientId ${key} is starting a run. Try again.`)
  if (run.clientHash !== reserved.clientHash) {
    throw new Conflict(`The clientId ${key} was already used with other input, for the run ${repeatedId}.`)
  }
  // The turns have clientIds, so appendTurns returns the stored turns.
  return { run, turns: await appendGiven(deps, viewer, given) }
}

/**
 * Records the start of a reserved run in the journal. Limits its replies to the audience of the answered turn, or of the
 * reply that it supersedes.
 */
async function start(
  deps: RunDeps,
  viewer: Viewer,
  reserved: Omit<NewRun, 'options' | 'credential'>,
  answered: { id: string | null; audience: readonly string[] | null } | null,
): Promise<RunRow> {
  const { id, conversationId, actor, supersedesId } = reserved
  const { tenant } = viewer
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const locked = await lockConversation(tx, trusted(viewer), conversationId)
    if (supersedesId !== null) {
      await requireSupersedable(tx, { conversationId, ...locked }, { ...reserved, tenant }, supersedesId)
    }
    const audience = answered?.audience ? await presentAmong(tx, conversationId, answered.audience, actor) : null
    const seq = await writeEntry(tx, conversationId, 'RUN_STARTED', { runId: id })
    const leaseMs = runLeaseSeconds(deps) * 1000
    await recordStart(tx, id, { seq, audience, replyToId: answered?.id ?? null, leaseMs })
    afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: seq, last: seq }]))
    const run = await readRun(tx, id)
    // The sweep deletes a run that was not started within its lease.
    if (!run) throw new Conflict('The run could not be started in time. Try again.')
    return run
  })
}

/** Returns the audience of the replies: the actors of `audience` who have not left, and the agent. */
async function presentAmong(
  tx: Parameters<typeof writeEntry>[0],
  conversationId: string,
  audience: readonly string[],
  agent: string,
): Promise<string[]> {
  const where = { conversationId, actor: { in: [...audience] }, leftAt: null }
  const present = await tx.participant.findMany({ where, select: { actor: true } })
  return [...new Set([agent, ...present.map(({ actor }) => actor)])]
}

/** Starts to execute the run in this process. */
function executeHere(deps: RunDeps, run: RunRow & { holder: string }, how: Pick<HeldRun, 'claimToken' | 'from'>): void {
  const options = optionsOf(run)
  const held = { run, options, tools: offeredTools(options.tools, deps.tools), claims: [], taken: 0, ...how }
  deps.runs.start(run.id, (signal) => execute(deps, held, signal))
}

async function resume(deps: RunDeps, viewer: Viewer, given: ParsedRunTurn): Promise<{ run: RunRow; turns: Turn[] }> {
  const run = await requireRun(deps, trusted(viewer), given.runId!)
  if (run.conversationId !== given.conversationId) throw new NotFound('run', run.id)
  await requireWriter(deps.db.of(viewer.tenant), viewer, run.conversationId)
  const conditions: Condition[] = run.viewer !== viewer.actor && run.actor !== viewer.actor ? ['otherRun'] : []
  await requirePermits(deps.db.of(viewer.tenant), viewer, 'runTurn', { conversationId: run.conversationId, conditions })
  if (run.state !== 'WAITING_FOR_TOOLS') throw notWaiting(run)
  await requireQuota(deps, run.tenant, run.conversationId, run.actor)
  const turns = await appendGiven(deps, viewer, given)
  const open = run.turnId === null ? [] : await readOpenCalls(deps.pool, run.tenant, run.turnId)
  if (open.length > 0) {
    throw new Conflict(`Run ${run.id} still waits for results of the calls ${open.join(', ')}. Append them first.`)
  }
  return { run: await continueRun(deps, run, 'WAITING_FOR_TOOLS'), turns }
}

const notWaiting = ({ id, state }: Pick<RunRow, 'id' | 'state'>, from: WaitingState = 'WAITING_FOR_TOOLS') =>
  new Conflict(
    state === 'WAITING_FOR_APPROVAL'
      ? `Run ${id} waits for approval. It continues after the last decision by resolveApproval.`
      : `Run ${id} is ${state}; only a run that is ${from} can be continued.`,
  )

/**
 * Continues a waiting run in this process. A run that waited for approval continues with the calls of its newest reply.
 * @throws Conflict if the run is not in the state `from`, a decision is pending, or another run of the agent is RUNNING
 * @throws NotFound @throws LimitReached
 */
export async function continueRun(
  deps: RunDeps,
  waiting: Pick<RunRow, 'tenant' | 'conversationId' | 'id'>,
  from: WaitingState,
): Promise<RunRow> {
  deps.runs.requireCapacity()
  const holder = randomBytes(12).toString('base64url')
  const hold = { holder, leaseMs: runLeaseSeconds(deps) * 1000 }
  const changed = await changeRun(deps, waiting, {
    event: 'continue',
    from,
    heldBy: null,
    hold,
    also: (tx, { id }) => requireDecided(tx, id),
  })
  if (changed.outcome === 'missing') throw new NotFound('run', waiting.id)
  if (changed.outcome !== 'changed') throw notWaiting(changed.run, from)
  executeHere(deps, { ...changed.run, holder }, { claimToken: null, from })
  return changed.run
}
