// Streaming turns: deltas, then commit or abort. The writer is whoever sends the deltas; the turn's id is all it needs.
// Deltas may be sent again: what is there already, and equal, is dropped.

import { z } from 'zod'
import { Conflict, InvalidInput, NotFound, StreamClosed } from '../../errors.ts'
import { closeTurn, type CloseRow, type ClosedTurn } from '../../store/sql/streaming-turn/close-turn.ts'
import { readOpenTurn } from '../../store/sql/streaming-turn/read-text.ts'
import { readSilentStreams } from '../../store/sql/streaming-turn/read-silent-streams.ts'
import type { StreamDeps } from './delta-queue.ts'
import { announceEntries } from '../publisher.ts'
import { count, id, metadata, name, parse, text } from '../input.ts'
import { contentOf, parts, toParts, type ContentPart } from '../turn/content.ts'
import { getTurns, type Turn } from '../turn/turn.ts'
import { indexEntry } from '../indexing/index-entry.ts'
import { actAs, type Viewer } from '../view.ts'
import type { Written } from './delta-queue.ts'
import { isSecondHalf } from './state.ts'

const appendDeltaInput = z.object({
  turnId: id('turn'),
  text: z.string().refine((value) => !value.includes('\0'), 'must not contain U+0000'),
  start: count.nullish(),
})
export type AppendDeltaInput = z.input<typeof appendDeltaInput>

/** Where the turn's text ends now, as the writer counts: in UTF-16 units. */
export type DeltaReceipt = { turnId: string; end: number }

/**
 * Appends text at `start`, or at the turn's end. Empty text renews the writer's lease, and so does text that is there
 * already. A surrogate pair may come in two deltas; deltas may be sent without waiting for answers.
 * @throws InvalidInput for text that is none, or over the limit @throws NotFound @throws StreamClosed
 * @throws Conflict when `start` lies beyond the turn's end, or other text is there already
 */
export async function appendDelta(deps: StreamDeps, viewer: Viewer, input: AppendDeltaInput): Promise<DeltaReceipt> {
  const { turnId, start, text: content } = parse(appendDeltaInput, input)
  // Halves at the ends may be completed by other deltas; within, they are torn for good.
  const whole = content.slice(isSecondHalf(content.charCodeAt(0)) ? 1 : 0).replace(/[\ud800-\udbff]$/, '')
  if (!whole.isWellFormed()) throw torn()
  const answer = await deps.deltas.write({ tenant: viewer.tenant, turnId, start: start ?? null, text: content })
  return { turnId, end: endAfter(deps, turnId, start ?? null, answer) }
}

const torn = () => InvalidInput.at('text', 'holds half of a surrogate pair that its other half does not meet')

function endAfter(deps: StreamDeps, turnId: string, start: number | null, { outcome, end, status }: Written): number {
  switch (outcome) {
    case 'written':
    case 'renewed':
      return end!
    case 'missing':
      throw new NotFound('turn', turnId)
    case 'closed':
      throw new StreamClosed(turnId, status!)
    case 'full':
      throw InvalidInput.at('text', `would take the turn over ${deps.limits.turnBytes} bytes`)
    case 'half':
      throw torn()
    case 'elsewhere':
      throw new Conflict(`The text of turn ${turnId} ends at ${end}: what lies before ${start} is missing.`)
    case 'other':
      throw new Conflict(`Turn ${turnId} says something else from ${start} on; its text ends at ${end}.`)
  }
}

const commitTurnInput = z.object({
  turnId: id('turn'),
  parts: parts.nullish(),
  tokens: z.object({ prompt: count, completion: count }).nullish(),
  model: name.nullish(),
  metadata: metadata.nullish(),
})
export type CommitTurnInput = z.input<typeof commitTurnInput>

/**
 * The turn as committed: its streamed text, then the given parts.
 * @throws InvalidInput for text among the parts, or nothing said at all @throws NotFound @throws StreamClosed
 */
export async function commitTurn(deps: StreamDeps, viewer: Viewer, input: CommitTurnInput): Promise<Turn> {
  const given = parse(commitTurnInput, input)
  const more = toParts(given.parts ?? [])
  if (more.some((part) => part.type === 'text')) {
    throw InvalidInput.at('parts', 'must not be text: that comes by appendDelta')
  }
  return close(deps, viewer, given.turnId, async (said) => ({
    status: 'COMMITTED',
    ...(await contentOf([...said, ...more], deps, 'parts')),
    promptTokens: given.tokens?.prompt,
    completionTokens: given.tokens?.completion,
    model: given.model,
    metadata: given.metadata,
  }))
}

const abortTurnInput = z.object({ turnId: id('turn'), reason: text(1000).nullish() })
export type AbortTurnInput = z.input<typeof abortTurnInput>

/** The turn as aborted: with its text, and the reason. @throws NotFound @throws StreamClosed */
export async function abortTurn(deps: StreamDeps, viewer: Viewer, input: AbortTurnInput): Promise<Turn> {
  const { turnId, reason } = parse(abortTurnInput, input)
  return close(deps, viewer, turnId, (said) => aborted(deps, said, reason ?? null))
}

type Ending = Omit<ClosedTurn, 'tenant' | 'id' | 'end'>
const NOTHING: Ending = { status: 'ABORTED', text: '', tokens: 0 }

async function aborted(deps: StreamDeps, said: ContentPart[], reason: string | null): Promise<Ending> {
  // Text of nothing but spaces is no content, but it is what was said.
  const blank = said.every((part) => part.type === 'text' && part.text.trim() === '')
  return blank
    ? { ...NOTHING, text: said.map((part) => (part.type === 'text' ? part.text : '')).join(''), reason }
    : { ...(await contentOf(said, deps)), status: 'ABORTED', reason }
}

/** Folds what was said into the turn and ends its stream, again if a delta comes in between. */
async function fold(
  deps: StreamDeps,
  tenant: string,
  turnId: string,
  silentMs: number | null,
  end: (said: ContentPart[]) => Promise<Ending>,
): Promise<CloseRow> {
  for (;;) {
    const open = await readOpenTurn(deps.pool, tenant, turnId)
    // A turn that is not open is told apart below, whatever would be wrong with its end.
    const ending = open ? await end(open.text === '' ? [] : [{ type: 'text', text: open.text }]) : NOTHING
    const found = open && ending.status === 'COMMITTED' ? indexEntry(open.actor, ending.text) : null
    const row = await closeTurn(deps.pool, {
      ...ending,
      ...found,
      tenant,
      id: turnId,
      end: open?.text.length ?? 0,
      silentMs,
    })
    if (row.outcome === 'grown') continue
    if (row.outcome === 'written') {
      announceEntries(deps, [{ tenant, conversationId: row.conversationId, first: row.seq!, last: row.seq! }])
    }
    return row
  }
}

async function close(
  deps: StreamDeps,
  viewer: Viewer,
  turnId: string,
  end: (said: ContentPart[]) => Promise<Ending>,
): Promise<Turn> {
  const row = await fold(deps, viewer.tenant, turnId, null, end)
  if (row.outcome === 'closed') throw new StreamClosed(turnId, row.status)
  if (row.outcome === 'missing') throw new NotFound('turn', turnId)
  if (row.outcome === 'no_call') {
    throw InvalidInput.at('parts', `there is no tool call ${JSON.stringify(row.detail)} in the conversation to answer`)
  }
  const turn = (await getTurns(deps, actAs(viewer, row.actor), [turnId])).get(turnId)
  if (!turn) throw new NotFound('turn', turnId)
  return turn
}

/** Turns aborted by one sweep at most. */
const SWEEP = 100

/** Aborts the turns whose writers are silent for longer than their lease; how many. In any tenant, by any process. */
export async function abortSilentTurns(deps: StreamDeps): Promise<number> {
  const silent = await readSilentStreams(deps.db, deps.streamLeaseMs, SWEEP)
  let count = 0
  for (const { tenant, id: turnId } of silent) {
    const reason = `Its writer was silent for over ${deps.streamLeaseMs / 1000} s.`
    const row = await fold(deps, tenant, turnId, deps.streamLeaseMs, (said) => aborted(deps, said, reason))
    if (row.outcome === 'written') count += 1
  }
  return count
}
