// Writes streaming turns: deltas, then commit or abort. A writer needs the turn's id and the token with which it opened
// the turn. A delta may be sent again: text that is already stored is dropped if it is equal; otherwise the delta fails
// with Conflict. A call for a turn outside the viewer's view fails with NotFound, so a refusal does not reveal that the
// turn exists.

import { z } from 'zod'
import { Conflict, InvalidInput, NotAllowed, NotFound, StreamClosed, type DomainError } from '../../../errors.ts'
import { closeTurn, type CloseRow, type ClosedTurn } from '../../../store/sql/turn/streaming/close-turn.ts'
import type { ResultFault, WaitingCall } from '../../../store/sql/turn/append-turns.ts'
import { readOpenTurn } from '../../../store/sql/turn/streaming/open-text.ts'
import { readSilentStreams } from '../../../store/sql/turn/streaming/read-silent-streams.ts'
import type { StreamDeps, Written } from './delta-queue.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import { authorize, trusted } from '../../kernel/rights/authorize.ts'
import { count, id, metadata, name, parse, text } from '../../kernel/input.ts'
import { redactInput } from '../../kernel/redaction.ts'
import { callWaits } from '../append/append-refusal.ts'
import { hashOfWriter, writerToken } from '../append/turn-input.ts'
import { contentOf, digest, parts, toParts, type ContentPart } from '../content.ts'
import { resultProblem } from '../append/tool-results.ts'
import { getTurns, requireTurnWithinReach, type Turn } from '../turn.ts'
import { indexEntry } from '../../memory/indexing/index-entry.ts'
import type { TurnStatus } from '../../../store/generated/enums.ts'
import { actAs, type Viewer } from '../../kernel/view.ts'
import { startsWithSecondHalf, type DeltaWrite } from './delta-batch.ts'

const appendDeltaInput = z.object({
  turnId: id('turn'),
  writerToken,
  text: z.string().refine((value) => !value.includes('\0'), 'must not contain U+0000'),
  start: count.nullish(),
})
export type AppendDeltaInput = z.input<typeof appendDeltaInput>

/** The end of the turn's text after the delta, in UTF-16 units, including a trailing half of a surrogate pair. */
export type DeltaReceipt = { turnId: string; end: number }

/**
 * Appends text at `start`, or at the turn's end if `start` is absent. Every accepted delta renews the lease, even
 * without new text. A surrogate pair may be split between two deltas. Deltas may be sent without waiting for replies.
 * @throws InvalidInput for malformed text, or a turn over the limit @throws NotFound @throws StreamClosed
 * @throws NotAllowed for another writerToken, or an author who has left
 * @throws Conflict if `start` is beyond the turn's end, or different text is stored there
 */
export async function appendDelta(deps: StreamDeps, viewer: Viewer, input: AppendDeltaInput): Promise<DeltaReceipt> {
  authorize(viewer, 'appendDelta')
  const { turnId, writerToken: token, start, text: content } = parse(appendDeltaInput, input)
  // Other deltas may complete surrogate halves at the ends of the text, but not halves within it.
  const whole = content.slice(startsWithSecondHalf(content) ? 1 : 0).replace(/[\ud800-\udbff]$/, '')
  if (!whole.isWellFormed()) throw unpairedHalf()
  if (viewer.principal?.conversations) await requireTurnWithinReach(deps, viewer, turnId)
  const { tenant, actor } = viewer
  const writer = hashOfWriter(token)
  const delta = { tenant, viewer: actor, turnId, writer, start: start ?? null, text: content }
  const { outcome, end, status } = await deps.deltas.write(delta)
  if (isRefusal(outcome)) throw await refusalOf(deps, viewer, turnId, { outcome, status })
  const after = endAfter(deps, delta, { outcome, end })
  deps.writers.wroteInto(tenant, turnId)
  return { turnId, end: after }
}

const REFUSALS = ['closed', 'other_writer', 'left', 'missing'] as const
type Refusal = (typeof REFUSALS)[number]

const isRefusal = (outcome: string): outcome is Refusal => (REFUSALS as readonly string[]).includes(outcome)

/** Returns the error for a refused call. A turn that the viewer does not see looks like an unknown turn. */
async function refusalOf(
  deps: StreamDeps,
  viewer: Viewer,
  turnId: string,
  { outcome: refusal, status }: { outcome: Refusal; status: TurnStatus | null },
): Promise<DomainError> {
  const isSeen = refusal !== 'missing' && (await getTurns(deps, trusted(viewer), [turnId])).has(turnId)
  if (!isSeen) return new NotFound('turn', turnId)
  if (refusal === 'closed') return new StreamClosed(turnId, status!)
  return new NotAllowed(
    refusal === 'left'
      ? `The author of turn ${turnId} has left the conversation. Add the participant again first.`
      : `Turn ${turnId} has another writer. Send the writerToken with which it was opened.`,
  )
}

const unpairedHalf = () => InvalidInput.at('text', 'must not contain half of a surrogate pair without the other half')

/** Returns the end of a delta that was not refused. @throws InvalidInput @throws Conflict */
function endAfter(
  deps: StreamDeps,
  { turnId, start }: Pick<DeltaWrite, 'turnId' | 'start'>,
  { outcome, end }: { outcome: Exclude<Written['outcome'], Refusal>; end: number | null },
): number {
  switch (outcome) {
    case 'written':
    case 'renewed':
      return end!
    case 'full':
      throw InvalidInput.at('text', `would make the turn longer than ${deps.limits.turnBytes} bytes`)
    case 'half':
      throw unpairedHalf()
    case 'elsewhere':
      throw new Conflict(`The text of turn ${turnId} ends at ${end}; the text between ${end} and ${start} is missing.`)
    case 'other':
      throw new Conflict(`Turn ${turnId} has different text at ${start}; its text ends at ${end}.`)
  }
}

const commitTurnInput = z.object({
  turnId: id('turn'),
  writerToken,
  parts: parts.nullish(),
  tokenUsage: z.object({ prompt: count, completion: count }).nullish(),
  model: name.nullish(),
  metadata: metadata.nullish(),
})
export type CommitTurnInput = z.input<typeof commitTurnInput>

/**
 * Commits the turn with its streamed text followed by the given parts, and returns it. A repeated call with the same
 * input returns the current turn.
 * @throws InvalidInput for a text part, a result without a call, or a turn without content @throws NotFound
 * @throws StreamClosed if the turn was closed by another call, or with other input
 * @throws NotAllowed for another writerToken, or an author who has left
 * @throws Conflict if a call in the turn, or one that it answers, waits for approval
 */
export async function commitTurn(deps: StreamDeps, viewer: Viewer, input: CommitTurnInput): Promise<Turn> {
  authorize(viewer, 'commitTurn')
  const given = await redactInput(deps, viewer, 'commitTurn', parse(commitTurnInput, input))
  const more = toParts(given.parts ?? [])
  if (more.some((part) => part.type === 'text')) {
    throw InvalidInput.at('parts', 'must not contain text; send it with appendDelta')
  }
  const end = async (streamed: ContentPart[]): Promise<Ending> => ({
    status: 'COMMITTED',
    ...(await contentOf([...streamed, ...more], deps, 'parts')),
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
 * Aborts the turn and returns it. The turn keeps its text, but not its clientId. A repeated call with the same input
 * returns the turn.
 * @throws InvalidInput @throws NotFound @throws StreamClosed if the turn was closed by another call, or with other
 * input
 * @throws NotAllowed for another writerToken, or an author who has left
 */
export async function abortTurn(deps: StreamDeps, viewer: Viewer, input: AbortTurnInput): Promise<Turn> {
  authorize(viewer, 'abortTurn')
  const { reason, ...given } = await redactInput(deps, viewer, 'abortTurn', parse(abortTurnInput, input))
  const end = (streamed: ContentPart[]) => aborted(deps, streamed, reason ?? null)
  return close(deps, viewer, { ...given, reason }, { how: 'abort', end })
}

/** The final content and status of a turn. */
type Ending = Omit<ClosedTurn, 'tenant' | 'viewer' | 'id' | 'end' | 'writer' | 'hash'>
const EMPTY: Ending = { status: 'ABORTED', text: '', tokens: 0 }

async function aborted(deps: StreamDeps, streamed: ContentPart[], reason: string | null): Promise<Ending> {
  // An aborted turn may have blank text, which contentOf rejects.
  const blank = streamed.every((part) => part.type === 'text' && part.text.trim() === '')
  return blank
    ? { ...EMPTY, text: streamed.map((part) => (part.type === 'text' ? part.text : '')).join(''), reason }
    : { ...(await contentOf(streamed, deps)), status: 'ABORTED', reason }
}

/** Minimum length, in UTF-16 units, of a text whose commit waits for `gates.heavy`, the tenant's limit of such work. */
const LONG_TEXT = 32 * 1024

/**
 * Stores the streamed text in the turn and closes its stream; retries if a delta was written concurrently.
 * @param by the viewer, the hash of the writer's token and the digest of the request; for the sweep, the minimum
 * silence of the writer in ms
 * @param end returns the turn's final content for the streamed parts
 */
async function closeStream(
  deps: StreamDeps,
  { tenant, turnId }: { tenant: string; turnId: string },
  by:
    | { viewer: string; writer: string; hash: string; silentMs: null }
    | { viewer: null; writer: null; hash: null; silentMs: number },
  end: (streamed: ContentPart[]) => Promise<Ending>,
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
      const ending = open ? await end(open.text === '' ? [] : [{ type: 'text', text: open.text }]) : EMPTY
      const index =
        open && ending.status === 'COMMITTED' ? indexEntry(open.actor, ending.text, { parts: ending.parts }) : null
      const closed = { ...ending, ...index, tenant, id: turnId, end: open?.text.length ?? 0, ...by }
      return closeTurn(deps.pool, closed)
    }
    const isLong = open !== null && open.text.length >= LONG_TEXT
    const row = await (isLong ? deps.gates.heavy.run(tenant, write) : write())
    if (row.outcome === 'grown') continue
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
  { how, end }: { how: 'commit' | 'abort'; end: (streamed: ContentPart[]) => Promise<Ending> },
): Promise<Turn> {
  const { turnId } = request
  await requireTurnWithinReach(deps, viewer, turnId)
  const writer = hashOfWriter(token)
  const by = { viewer: viewer.actor, writer, hash: digest({ ...request, how, writer }), silentMs: null }
  const row = await closeStream(deps, { tenant: viewer.tenant, turnId }, by, end)
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
