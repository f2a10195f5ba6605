// Ends streaming turns: a writer commits or aborts its turn, with the turn's id and the token with which it opened the
// turn; the server aborts a turn whose writer is silent. append-delta.ts writes the deltas.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../../errors.ts'
import { closeTurn, type CloseRow, type ClosedTurn } from '../../../store/sql/turn/streaming/close-turn.ts'
import type { ResultFault, WaitingCall } from '../../../store/sql/turn/append-turns.ts'
import { readOpenTurn, type OpenContent } from '../../../store/sql/turn/streaming/open-content.ts'
import { readSilentStreams } from '../../../store/sql/turn/streaming/read-silent-streams.ts'
import type { StreamDeps } from './delta-queue.ts'
import { refusedAttachment } from '../../conversation/attachment/attachment.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import { authorize, trusted } from '../../kernel/rights/authorize.ts'
import { count, id, metadata, name, parse, text } from '../../kernel/input.ts'
import { redactInput } from '../../kernel/redaction.ts'
import { callWaits } from '../append/append-refusal.ts'
import { hashOfWriter, writerToken } from '../append/turn-input.ts'
import { contentOf, parts, toParts } from '../content.ts'
import { digest } from '../append/turn-input.ts'
import { resultProblem } from '../append/tool-results.ts'
import { getTurns, requireTurnWithinReach, type Turn } from '../turn.ts'
import { indexEntry } from '../../memory/indexing/index-entry.ts'
import { actAs, type Viewer } from '../../kernel/view.ts'
import { isRefusal, refusalOf } from './refusal.ts'
import { withStreamedAttachments } from './streamed-attachments.ts'
import { abortedParts, committedParts } from '../streamed-part.ts'

const commitTurnInput = z.object({
  turnId: id('turn'),
  writerToken,
  parts: parts.nullish(),
  tokenUsage: z.object({ prompt: count, completion: count }).nullish(),
  model: name.nullish(),
  metadata: metadata.nullish(),
  omitIncompleteCalls: z.boolean().nullish(),
})
export type CommitTurnInput = z.input<typeof commitTurnInput>

/**
 * Commits the turn with its streamed text and parts, followed by the given parts, and returns it. A given tool call takes
 * the place of the streamed one with the same callId. A repeated call with the same input returns the current turn.
 * @throws InvalidInput for a text part, a result without a call, a streamed tool call whose arguments are not JSON, or a
 * turn without content
 * @throws NotFound
 * @throws StreamClosed if the turn was closed by another call, or with other input
 * @throws NotAllowed for another writerToken, or an author who has left
 * @throws Conflict if a call in the turn, or one that it answers, waits for approval
 */
export async function commitTurn(deps: StreamDeps, viewer: Viewer, input: CommitTurnInput): Promise<Turn> {
  authorize(viewer, 'commitTurn')
  const given = await redactInput(deps, viewer, 'commitTurn', parse(commitTurnInput, input))
  const named = { turnId: given.turnId, parts: toParts(given.parts ?? []), path: 'parts' }
  const more = await withStreamedAttachments(deps, viewer, named)
  if (more.some((part) => part.type === 'text')) {
    throw InvalidInput.at('parts', 'must not contain text; send it with appendDelta')
  }
  const end = async (streamed: OpenContent): Promise<Ending> => ({
    status: 'COMMITTED',
    ...(await contentOf(committedParts(streamed, more, given.omitIncompleteCalls ?? false), deps, 'parts')),
    promptTokens: given.tokenUsage?.prompt,
    completionTokens: given.tokenUsage?.completion,
    model: given.model,
    metadata: given.metadata,
  })
  return close(deps, viewer, given, { how: 'commit', end })
}

/** Maximum length of the reason of an abort, in characters. */
export const MAX_ABORT_REASON = 1000

const abortTurnInput = z.object({ turnId: id('turn'), writerToken, reason: text(MAX_ABORT_REASON).nullish() })
export type AbortTurnInput = z.input<typeof abortTurnInput>

/**
 * Aborts the turn and returns it. The turn keeps its text and parts, except tool calls without a result, but not its
 * clientId. A repeated call with the same input returns the turn.
 * @throws InvalidInput @throws NotFound @throws StreamClosed if the turn was closed by another call, or with other
 * input
 * @throws NotAllowed for another writerToken, or an author who has left
 */
export async function abortTurn(deps: StreamDeps, viewer: Viewer, input: AbortTurnInput): Promise<Turn> {
  authorize(viewer, 'abortTurn')
  const { reason, ...given } = await redactInput(deps, viewer, 'abortTurn', parse(abortTurnInput, input))
  const end = (streamed: OpenContent) => aborted(deps, streamed, reason ?? null)
  return close(deps, viewer, { ...given, reason }, { how: 'abort', end })
}

/** The final content and status of a turn. */
type Ending = Omit<ClosedTurn, 'tenant' | 'viewer' | 'id' | 'end' | 'partBytes' | 'writer' | 'hash'>
const EMPTY: Ending = { status: 'ABORTED', text: '', tokens: 0 }

/** Returns the ending of an aborted turn. Content that a turn may not have, such as blank text, is reduced to its text. */
async function aborted(deps: StreamDeps, streamed: OpenContent, reason: string | null): Promise<Ending> {
  const { text } = streamed
  for (const parts of [abortedParts(streamed), [{ type: 'text' as const, text }]]) {
    try {
      return { ...(await contentOf(parts, deps)), status: 'ABORTED', reason }
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
    }
  }
  return { ...EMPTY, text, reason }
}

/** Minimum length, in UTF-16 units, of a text whose commit waits for `gates.heavy`, the tenant's limit of such work. */
const LONG_TEXT = 32 * 1024

/**
 * Stores the streamed content in the turn and closes its stream; retries if a delta was written concurrently.
 * @param by the viewer, the hash of the writer's token and the digest of the request; for the sweep, the minimum
 * silence of the writer in ms
 * @param end returns the turn's final content for the streamed content
 */
async function closeStream(
  deps: StreamDeps,
  { tenant, turnId }: { tenant: string; turnId: string },
  by:
    | { viewer: string; writer: string; hash: string; silentMs: null }
    | { viewer: null; writer: null; hash: null; silentMs: number },
  end: (streamed: OpenContent) => Promise<Ending>,
): Promise<CloseRow> {
  for (let isSealed = false; ;) {
    const open = await readOpenTurn(deps.pool, tenant, turnId, by.writer)
    if (open?.isHeld && !isSealed) {
      await deps.deltas.seal(tenant, turnId, by.writer === null ? null : by)
      isSealed = true
      continue
    }
    const write = async (): Promise<CloseRow> => {
      // For a turn that is not open, closeTurn returns the reason and ignores the ending.
      const ending = open ? await end(open) : EMPTY
      const index =
        open && ending.status === 'COMMITTED' ? indexEntry(open.actor, ending.text, { parts: ending.parts }) : null
      const read = { end: open?.text.length ?? 0, partBytes: open?.partBytes ?? 0 }
      return closeTurn(deps.pool, { ...ending, ...index, tenant, id: turnId, ...read, ...by })
    }
    const isLong = open !== null && open.text.length + open.partBytes >= LONG_TEXT
    const row = await (isLong ? deps.gates.heavy.run(tenant, write) : write())
    if (row.outcome === 'grown') {
      // A delta that arrived since may have opened a part, whose text is held back again.
      isSealed &&= by.writer === null
      continue
    }
    if (row.outcome === 'written') {
      announceEntries(deps, [{ tenant, conversationId: row.conversationId, first: row.seq!, last: row.lastSeq! }])
    }
    return row
  }
}

async function close(
  deps: StreamDeps,
  viewer: Viewer,
  { writerToken: token, ...request }: { turnId: string; writerToken: string; [input: string]: unknown },
  { how, end }: { how: 'commit' | 'abort'; end: (streamed: OpenContent) => Promise<Ending> },
): Promise<Turn> {
  const { turnId } = request
  await requireTurnWithinReach(deps, viewer, turnId)
  const writer = hashOfWriter(token)
  const by = { viewer: viewer.actor, writer, hash: digest({ ...request, how, writer }), silentMs: null }
  const row = await closeStream(deps, { tenant: viewer.tenant, turnId }, by, end).catch((error: unknown) => {
    throw refusedAttachment(error, 'parts') ?? error
  })
  if (isRefusal(row.outcome)) throw await refusalOf(deps, viewer, turnId, { outcome: row.outcome, status: row.status })
  if (row.outcome === 'no_call' || row.outcome === 'other_name' || row.outcome === 'ambiguous') {
    throw InvalidInput.at('parts', resultProblem(row.outcome, JSON.parse(row.detail!) as ResultFault))
  }
  if (row.outcome === 'waiting') throw callWaits(JSON.parse(row.detail!) as WaitingCall)
  const turn = (await getTurns(deps, actAs(trusted(viewer), row.actor), [turnId])).get(turnId)
  if (!turn) throw new NotFound('turn', turnId)
  return turn
}

/** Maximum number of turns that the sweep reads at once. */
const SWEEP_BATCH = 100

/**
 * Aborts all open turns whose lease has expired, alternating between tenants, and returns their number. Any number of
 * processes may run it. Reads again after each batch, so that a turn whose lease expires meanwhile waits for at most
 * one batch.
 * @param maxLeaseMs time for which writers could renew their leases without interruption; turns with a longer lease are
 * left for later. Null for any time.
 * @throws the first error, after all other turns have been tried
 */
export async function abortSilentTurns(deps: StreamDeps, maxLeaseMs: number | null = null): Promise<number> {
  const lease = { defaultMs: deps.streamLeaseMs, maxLeaseMs }
  const failed = new Map<string, unknown>()
  let count = 0
  for (;;) {
    const silent = await readSilentStreams(deps.db, lease, SWEEP_BATCH + failed.size)
    const untried = silent.filter(({ id: turnId }) => !failed.has(turnId))
    for (const { tenant, id: turnId, leaseMs } of untried) {
      const reason = `The writer sent nothing for more than ${leaseMs / 1000} s.`
      // Does nothing if another call has closed the turn or renewed its lease.
      const isAborted = await abortWithoutWriter(deps, tenant, turnId, { silentMs: leaseMs, reason }).catch(
        (error: unknown) => {
          failed.set(turnId, error)
          return false
        },
      )
      if (isAborted) count += 1
    }
    if (untried.length === 0) break
  }
  for (const error of failed.values()) throw error
  return count
}

/** Aborts an open turn whose writer is the server itself, in this or another process. Returns false if it is closed. */
export const abortOwnTurn = (deps: StreamDeps, tenant: string, turnId: string, reason: string): Promise<boolean> =>
  abortWithoutWriter(deps, tenant, turnId, { silentMs: 0, reason })

async function abortWithoutWriter(
  deps: StreamDeps,
  tenant: string,
  turnId: string,
  { silentMs, reason }: { silentMs: number; reason: string },
): Promise<boolean> {
  const by = { viewer: null, writer: null, hash: null, silentMs }
  const row = await closeStream(deps, { tenant, turnId }, by, (streamed) => aborted(deps, streamed, reason))
  return row.outcome === 'written'
}
