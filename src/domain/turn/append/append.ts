// Appends one turn or a batch of turns atomically; resolves after the commit. Opening a streaming turn appends a turn
// without content.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../../errors.ts'
import type { AppendedTurn } from '../../../store/sql/turn/append-call.ts'
import { createYield } from '../../../runtime/yield.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { AppendDeps } from './append-queue.ts'
import { refusedAttachment } from '../../conversation/attachment/attachment.ts'
import { authorize, requirePermits, trusted } from '../../kernel/rights/authorize.ts'
import { between, count, id, parse, parseItems, storable } from '../../kernel/input.ts'
import { redactInput, redactItems } from '../../kernel/redaction.ts'
import { holdText } from '../../../store/sql/turn/streaming/held-text.ts'
import type { Condition } from '../../kernel/rights/rights.ts'
import { actAs, type Viewer } from '../../kernel/view.ts'
import { refusalOf } from './append-refusal.ts'
import {
  hashOfWriter,
  writerToken,
  streamingTurnInput,
  turnInput,
  type ParsedTurn,
  type TurnInput,
} from './turn-input.ts'
import { single, type Appended, type AppendedTurns } from './appended.ts'
import { contentOf, toParts, type Content } from '../content.ts'
import { withAttachments, type AttachmentsOf } from '../parts/file-part.ts'
import { placeResults, type GivenTurn } from './tool-results.ts'
import { getTurns, type Turn } from '../turn.ts'
import { toRow, toTurn } from '../turn-row.ts'

/**
 * Returns the content of a turn's input; `path` is the turn's path in error texts. `of`: whose attachments the parts may
 * have. @throws InvalidInput
 */
export async function contentGiven(
  deps: Platform,
  of: AttachmentsOf,
  input: ParsedTurn,
  path: string,
): Promise<Content> {
  if (input.content != null && input.parts != null) {
    throw InvalidInput.at(`${path}.parts`, 'give content or parts, not both')
  }
  if (input.parts != null) {
    const given = await withAttachments(deps, of, toParts(input.parts), `${path}.parts`)
    return contentOf(given, deps, `${path}.parts`)
  }
  const content = input.content ?? ''
  const problem = storable(content)
  if (problem) throw InvalidInput.at(`${path}.content`, problem)
  return contentOf([{ type: 'text', text: content }], deps, `${path}.content`)
}

/** Returns whose attachments a turn to append may have. */
const authorOf = ({ tenant, actor }: Viewer, conversationId: string, turn: ParsedTurn): AttachmentsOf => ({
  tenant,
  conversationId,
  actor: turn.actor ?? actor,
})

/** The content of an open turn. */
export const NO_CONTENT: Content = { text: '', parts: null, tokens: 0, calls: [], results: [] }

/** Returns the conditions of rights.ts that writing the turn meets. */
export function conditionsOfTurn(viewer: Viewer, turn: Pick<ParsedTurn, 'actor' | 'role' | 'createdAt'>): Condition[] {
  const conditions: Condition[] = []
  if (turn.actor != null && turn.actor !== viewer.actor) conditions.push('foreignActor')
  if (turn.role === 'SYSTEM') conditions.push('systemRole')
  if (turn.createdAt != null) conditions.push('createdAt')
  return conditions
}

/** Checks the permits that the turns need. @throws NotFound @throws NotAllowed */
async function requirePermitsOfTurns(
  deps: Platform,
  viewer: Viewer,
  verb: 'appendTurn' | 'appendTurns' | 'openTurn',
  { conversationId, turns }: { conversationId: string; turns: readonly ParsedTurn[] },
): Promise<void> {
  if (viewer.principal === undefined) return
  const conditions = new Set(turns.flatMap((turn) => conditionsOfTurn(viewer, turn)))
  if (turns.some(({ pinned }) => pinned)) conditions.add('pinned')
  await requirePermits(deps.db.of(viewer.tenant), viewer, verb, { conversationId, conditions: [...conditions] })
}

/** Returns the hash of the token of a claim on `replyToId`. @throws InvalidInput for a token without a `replyToId` */
function claimHashOf(token: string | null | undefined, turn: Pick<ParsedTurn, 'replyToId'>): string | undefined {
  if (token == null) return undefined
  if (turn.replyToId == null) throw InvalidInput.at('claimToken', 'needs turn.replyToId, the claimed turn')
  return hashOfWriter(token)
}

/**
 * The turns of one call, in order. The newest entry must be `expected` unless it is null; `path` returns the path of a
 * turn in error texts.
 */
type TurnsOfCall = {
  conversationId: string
  turns: AppendedTurn[]
  expected?: number | null | undefined
  path?: (index: number) => string
}

async function append(
  deps: AppendDeps,
  viewer: Viewer,
  { conversationId, turns, expected = null, path = () => 'turn' }: TurnsOfCall,
): Promise<AppendedTurns> {
  const rows = await deps.appends
    .append({
      conversationId,
      tenant: viewer.tenant,
      // The number of open turns is limited per principal, because one principal may act as many actors.
      viewer: viewer.principal?.actor ?? viewer.actor,
      expected,
      turns,
    })
    .catch((error: unknown) => {
      throw refusedAttachment(error, `${path(0)}.parts`) ?? error
    })
  const [first] = rows
  if (!first) throw new NotFound('conversation', conversationId)
  const refusal = refusalOf(conversationId, first, path)
  if (refusal) throw refusal
  for (const { outcome, index } of rows) {
    const turn = turns[index]!
    if (outcome !== 'written' || turn.importedAt != null) continue
    deps.writers.wrote({ tenant: viewer.tenant, actor: turn.actor }, conversationId)
  }
  // A turn that an earlier call wrote may have changed, so it is read again, in its author's view.
  const repeated = rows.filter(({ outcome }) => outcome === 'repeated')
  const earlier = new Map<string, Turn>()
  for (const { id, index } of repeated) {
    const [turn] = (await getTurns(deps, actAs(trusted(viewer), turns[index]!.actor), [id])).values()
    if (turn) earlier.set(id, turn)
  }
  return {
    turns: rows
      .filter(({ outcome }) => outcome !== 'stopped')
      .map((row) => earlier.get(row.id) ?? toTurn(conversationId, turns[row.index]!, row)),
    deduplicatedIds: repeated.map(({ id }) => id),
    joinedActors: rows.filter(({ detail }) => detail === 'joined').map(({ index }) => turns[index]!.actor),
    lastSeq: rows.reduce((last, { seq }) => Math.max(last, seq), 0),
  }
}

const appendTurnInput = z.object({
  conversationId: id('conversation'),
  turn: turnInput,
  claimToken: writerToken.nullish(),
  expectedLastSeq: count.nullish(),
})
export type AppendTurnInput = z.input<typeof appendTurnInput>

/**
 * Appends a turn. If its clientId was already used for the same content, the result contains the existing turn.
 * An actor who is not a participant joins an OPEN conversation in the same transaction, unless another actor has
 * removed the actor.
 * @throws InvalidInput @throws NotFound
 * @throws NotAllowed if the actor was removed from the conversation, or has left a MEMBERS conversation, or without a
 * right that rights.ts requires
 * @throws Conflict if the newest entry is not expectedLastSeq, the clientId was already used for different content,
 * claimToken has no live claim on the turn to reply to, or a call in the turn, or one that it answers, waits for approval
 * @throws LimitReached if the actor would join a conversation that has MAX_PARTICIPANTS
 * @param byRun for the results of a run's calls: the holder of the run, and the clientId, which no client can choose
 */
export async function appendTurn(
  deps: AppendDeps,
  viewer: Viewer,
  input: AppendTurnInput,
  byRun: { holder: string; clientId: string } | null = null,
): Promise<Appended> {
  authorize(viewer, 'appendTurn', input)
  const parsed = parse(appendTurnInput, input)
  const { conversationId, turn, claimToken, expectedLastSeq } = await redactInput(deps, viewer, 'appendTurn', parsed)
  await requirePermitsOfTurns(deps, viewer, 'appendTurn', { conversationId, turns: [turn] })
  const content = await contentGiven(deps, authorOf(viewer, conversationId, turn), turn, 'turn')
  const written = byRun === null ? turn : { ...turn, clientId: byRun.clientId }
  const claimHash = claimHashOf(claimToken, turn)
  const row = toRow(viewer, written, content, { status: 'COMMITTED', claimHash, runHolder: byRun?.holder })
  return single(await append(deps, viewer, { conversationId, turns: [row], expected: expectedLastSeq }))
}

const appendTurnsInput = z.object({ conversationId: id('conversation'), turns: z.array(z.unknown()) })
export type AppendTurnsInput = { conversationId: string; turns: TurnInput[] }

/**
 * Appends all turns in order, or none. Each may answer tool calls of earlier turns in the batch.
 * @throws InvalidInput with the index of the turn in its path @throws NotFound @throws NotAllowed @throws Conflict
 * @throws LimitReached
 */
export async function appendTurns(deps: AppendDeps, viewer: Viewer, input: AppendTurnsInput): Promise<AppendedTurns> {
  authorize(viewer, 'appendTurns', input)
  const { conversationId, turns } = parse(appendTurnsInput, input)
  if (turns.length === 0) throw InvalidInput.at('turns', 'must not be empty')
  if (turns.length > deps.limits.batchTurns) {
    throw InvalidInput.at(
      'turns',
      `has ${turns.length} turns; at most ${deps.limits.batchTurns} can be appended at once`,
    )
  }
  const given = await parseItems(turnInput, turns, 'turns')
  const parsed = await redactItems(deps, viewer, { verb: 'appendTurns', resource: conversationId }, given)
  await requirePermitsOfTurns(deps, viewer, 'appendTurns', { conversationId, turns: parsed })
  const rows: AppendedTurn[] = []
  const refs: GivenTurn[] = []
  const keys = new Set<string>()
  const yieldIfDue = createYield()
  for (const [index, turn] of parsed.entries()) {
    const content = await contentGiven(deps, authorOf(viewer, conversationId, turn), turn, `turns.${index}`)
    const row = toRow(viewer, turn, content, { status: 'COMMITTED' })
    const key = row.clientId == null ? null : `${row.actor}\0${row.clientId}`
    if (key !== null && keys.has(key)) {
      throw InvalidInput.at(`turns.${index}.clientId`, 'occurs twice in the batch')
    }
    if (key !== null) keys.add(key)
    rows.push(row)
    refs.push({ actor: row.actor, audience: row.audience ?? null, calls: content.calls, results: content.results })
    await yieldIfDue()
  }
  const placed = placeResults(refs, (index) => `turns.${index}.parts`)
  for (const [index, results] of placed.entries()) if (results.length > 0) rows[index]!.results = [...results]
  return append(deps, viewer, { conversationId, turns: rows, path: (index) => `turns.${index}` })
}

/** Range of `leaseSeconds`: the number of seconds without a delta after which a streaming turn is aborted. */
export const STREAM_LEASE = { min: 5, max: 300 }

const openTurnInput = z.object({
  conversationId: id('conversation'),
  turn: streamingTurnInput,
  writerToken,
  leaseSeconds: between(STREAM_LEASE.min, STREAM_LEASE.max).nullish(),
  claimToken: writerToken.nullish(),
  expectedLastSeq: count.nullish(),
})
export type OpenTurnInput = z.input<typeof openTurnInput>

/**
 * Opens a streaming turn. Its seq is assigned at once; appendDelta adds text, with the same writerToken. Without
 * `leaseSeconds`, its lease is `deps.streamLeaseMs`. If its clientId was already used with the same fields and
 * writerToken, the result contains the existing turn, with its lease, unless that turn was aborted: an aborted turn
 * loses its clientId.
 * @throws InvalidInput @throws NotFound @throws NotAllowed @throws LimitReached
 * @throws Conflict if the newest entry is not expectedLastSeq, the clientId was used with other fields or another
 * writerToken (the error names the actor who is writing), or claimToken has no live claim on the turn to reply to
 */
export async function openTurn(deps: AppendDeps, viewer: Viewer, input: OpenTurnInput): Promise<Appended> {
  authorize(viewer, 'openTurn', input)
  const given = await redactInput(deps, viewer, 'openTurn', parse(openTurnInput, input))
  const { conversationId, turn, writerToken: token, leaseSeconds, claimToken, expectedLastSeq } = given
  await requirePermitsOfTurns(deps, viewer, 'openTurn', { conversationId, turns: [turn] })
  const writer = { writerHash: hashOfWriter(token), leaseSeconds, claimHash: claimHashOf(claimToken, turn) }
  const row = toRow(viewer, turn, NO_CONTENT, { status: 'STREAMING', ...writer })
  const opened = single(await append(deps, viewer, { conversationId, turns: [row], expected: expectedLastSeq }))
  // No delta can precede holdText, because the writer learns the id from this result. If the process crashes before
  // holdText, the repeated call of openTurn calls it.
  if ((await deps.redaction.of(viewer.tenant)) === 'turns') await holdText(deps.pool, viewer.tenant, opened.turn.id)
  return opened
}
