// Opens the turn of a reply, and records the call of the provider that writes it: a new turn or, for the first reply of a
// run that regenerates a reply, a newer version.

import { randomBytes } from 'node:crypto'
import { Conflict, NotFound } from '../../../../errors.ts'
import type { Tx } from '../../../../store/db/db.ts'
import { isHeld } from '../../../../store/sql/agent/run/runs.ts'
import { beginCall } from '../../../../store/sql/agent/run/provider-calls.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { openTurn, STREAM_LEASE } from '../../../turn/append/append.ts'
import { openVersion } from '../../../turn/open-version.ts'
import { abortTurn } from '../../../turn/streaming/stream.ts'
import type { Turn } from '../../../turn/turn.ts'
import { announceRun } from '../change.ts'
import type { RunDeps } from '../deps.ts'
import { fieldsOfReply, versionOf } from '../regenerate.ts'
import { runLeaseSeconds } from '../state.ts'
import { RunFailure, RunLost } from './failure.ts'
import { agentOf, type HeldRun } from './held-run.ts'

type OpenReply = { turn: Turn; writerToken: string; round: number }

/** How a streaming turn is written. */
type Writing = { writerToken: string; leaseSeconds: number | null; contextId: string | null }

/** Opens the version. @throws RunFailure if the older version can no longer be superseded */
async function openNewer(deps: RunDeps, agent: Viewer, version: Parameters<typeof openVersion>[2]): Promise<Turn> {
  return openVersion(deps, agent, version).catch((error: unknown) => {
    if (!(error instanceof Conflict || error instanceof NotFound)) throw error
    throw new RunFailure('INVALID_REPLY', `The reply can no longer be regenerated: ${error.message}`)
  })
}

async function open(deps: RunDeps, { run, claimToken }: HeldRun, { contextId, ...writer }: Writing): Promise<Turn> {
  const agent = agentOf(run)
  if (run.supersedesId !== null && run.turnId === null) {
    // A run that has ended must not replace the reply.
    const check = async (tx: Tx) => {
      if (!(await isHeld(tx, run.id, run.holder))) throw new RunLost()
    }
    return openNewer(deps, agent, { ...versionOf(run, run.supersedesId, contextId), ...writer, check })
  }
  const { conversationId, replyToId, audience } = run
  const turn = { ...fieldsOfReply(run, contextId), replyToId, audience }
  return (await openTurn(deps, agent, { conversationId, claimToken, turn, ...writer })).turn
}

/** Opens the turn of the reply and records the call. @throws RunLost if the run has ended or has another holder */
export async function openReply(
  deps: RunDeps,
  held: HeldRun,
  prompt: { tokens: number; contextId: string | null },
): Promise<OpenReply> {
  const { run } = held
  const writerToken = randomBytes(24).toString('base64url')
  const seconds = runLeaseSeconds(deps)
  const leaseSeconds = seconds < STREAM_LEASE.min ? null : seconds
  const turn = await open(deps, held, { writerToken, leaseSeconds, contextId: prompt.contextId })
  const key = { tenant: run.tenant, runId: run.id, holder: run.holder }
  const round = await beginCall(deps.pool, key, { turnId: turn.id, promptTokens: prompt.tokens })
  if (round === null) {
    const ended = { turnId: turn.id, writerToken, reason: 'The run has ended.' }
    await abortTurn(deps, agentOf(run), ended).catch(() => {})
    throw new RunLost()
  }
  announceRun(deps, run.id)
  return { turn, writerToken, round }
}
