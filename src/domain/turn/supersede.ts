// supersedeTurn: edits or regenerates a turn. Adds a newer version and keeps the older ones. All versions of a turn
// have the same position and audience; each has its own journal entry.

import { z } from 'zod'
import { NotFound } from '../../errors.ts'
import type { Tx } from '../../store/db/db.ts'
import { writeEntry } from '../../store/sql/turn/journal/write-entry.ts'
import type { Prisma } from '../../store/generated/client.ts'
import type { ParticipantKind } from '../../store/generated/enums.ts'
import { findMentioned } from '../../store/sql/turn/find-mentioned.ts'
import type { FoundCall } from '../../store/sql/turn/find-calls.ts'
import { withTransaction } from '../../store/db/tx.ts'
import { announceEntries } from '../kernel/live/publisher.ts'
import type { Platform } from '../kernel/platform.ts'
import { newId } from '../kernel/id.ts'
import { redactInput } from '../kernel/redaction.ts'
import { authorize, requirePermits, trusted } from '../kernel/rights/authorize.ts'
import { id, parse } from '../kernel/input.ts'
import { kindOfCredential } from '../kernel/rights/principal.ts'
import { actAs, sees, viewIn, type View, type Viewer } from '../kernel/view.ts'
import { indexEntry } from '../memory/indexing/index-entry.ts'
import { salted } from '../../text/words/hashed-terms.ts'
import { clientIdInUse, noStoredContext, notInView } from './append/append-refusal.ts'
import { conditionsOfTurn, contentGiven } from './append/append.ts'
import { turnVersionInput } from './append/turn-input.ts'
import { importTime } from './turn-row.ts'
import { lockConversationOf, type LockedConversation } from './append/lock-turn.ts'
import { digest, linkResults, type Content } from './content.ts'
import { findAnsweredCalls, requireUndecided } from './supersede-calls.ts'
import { refusalOf, type OlderVersion } from './supersede-check.ts'
import { getTurns, type Turn } from './turn.ts'

/** A written edit: the fields of both versions from which derivatives are computed. */
export type WrittenEdit = {
  conversationId: string
  /** Whether the turn has no audience. Turns with an audience are neither counted nor summarised. */
  isPublic: boolean
  older: { id: string; position: number; isCommitted: boolean; tokenCount: number }
  /** The newer version is always committed. */
  newer: { tokenCount: number }
}

/**
 * Corrects or deletes the data derived from the older version, in the transaction that writes the newer version and
 * under the conversation's lock. Returns the ids of the facts that it superseded. src/deps.ts injects it, because this
 * folder must not import domain/trust/erasure.
 */
export type UpdateDerivatives = (tx: Tx, edit: WrittenEdit) => Promise<string[]>

const supersedeTurnInput = z.object({ turnId: id('turn'), turn: turnVersionInput })
export type SupersedeTurnInput = z.input<typeof supersedeTurnInput>

export type SupersedeDeps = Platform & { updateDerivatives: UpdateDerivatives }

type Edit = {
  turnId: string
  actor: string
  /** The kind of the author's own credential; null if another credential, or none, writes the version. */
  authorKind: ParticipantKind | null
  turn: z.output<typeof turnVersionInput>
  content: Content
  /** Digest of the request; null without a clientId. */
  clientHash: string | null
}

/**
 * Returns the id of the turn that an earlier call with this clientId wrote, or null.
 * @throws Conflict for different content
 */
async function findByClientId(tx: Tx, { conversationId }: LockedConversation, edit: Edit): Promise<string | null> {
  const { clientId } = edit.turn
  if (clientId == null) return null
  const existing = await tx.turn.findFirst({ where: { conversationId, actor: edit.actor, clientId } })
  if (existing && existing.clientHash !== edit.clientHash) {
    throw clientIdInUse({ clientId, turnId: existing.id, status: existing.status, holder: null })
  }
  return existing?.id ?? null
}

type Older = OlderVersion & {
  seq: number
  position: number
  tokenCount: number
  text: string
  parts: Prisma.JsonValue
  replyToId: string | null
  pinned: boolean
  model: string | null
  metadata: Prisma.JsonValue
}

/** Reads the version to supersede. The transaction must have locked the conversation. */
async function readOlder(tx: Tx, conversationId: string, turnId: string): Promise<Older> {
  const older = await tx.turn.findUniqueOrThrow({ where: { id_conversationId: { id: turnId, conversationId } } })
  // Prisma reads a null audience as an empty list.
  return { ...older, audience: older.audience.length > 0 ? older.audience : null }
}

/** An edit, the version that it replaces, and the locked conversation of both. */
type Replacement = LockedConversation & { older: Older; edit: Edit }

/**
 * Checks that the edit is allowed, and returns the author's view. @throws NotFound @throws NotAllowed @throws Conflict
 * @throws InvalidInput
 */
async function checkEdit(tx: Tx, { conversationId, visibility, older, edit }: Replacement): Promise<View> {
  const { actor } = edit
  const author = await tx.participant.findUnique({ where: { conversationId_actor: { conversationId, actor } } })
  const isPresent = author !== null && author.leftAt === null
  const view = viewIn(visibility, author)
  if (!sees(view, older)) throw new NotFound('turn', older.id)
  const refusal = refusalOf(older, { actor, isPresent })
  if (refusal) throw refusal
  await checkReply(tx, conversationId, view, edit.turn.replyToId)
  await checkContext(tx, conversationId, edit)
  return view
}

/** Checks the permits that the newer version needs. @throws NotFound @throws NotAllowed */
async function requirePermitsOfEdit(
  tx: Tx,
  viewer: Viewer,
  { conversationId, older, edit: { turn } }: Replacement,
): Promise<void> {
  const conditions = conditionsOfTurn(viewer, turn)
  if (turn.pinned !== undefined && (turn.pinned ?? false) !== older.pinned) conditions.push('pinned')
  await requirePermits(tx, viewer, 'supersedeTurn', { conversationId, conditions })
}

/** Checks that the view contains the turn to reply to. @throws InvalidInput */
async function checkReply(
  tx: Tx,
  conversationId: string,
  view: View,
  replyToId: string | null | undefined,
): Promise<void> {
  if (replyToId == null) return
  const turn = await tx.turn.findFirst({ where: { id: replyToId, conversationId } })
  // Prisma reads a null audience as an empty list.
  if (!turn || !sees(view, { ...turn, audience: turn.audience.length > 0 ? turn.audience : null })) {
    throw notInView('turn.replyToId', replyToId)
  }
}

/** Checks that the context was stored in the conversation, in the author's view. @throws InvalidInput */
async function checkContext(tx: Tx, conversationId: string, { turn: { contextId }, actor }: Edit): Promise<void> {
  if (contextId == null) return
  const context = await tx.storedContext.findFirst({ where: { id: contextId, conversationId, actor } })
  if (!context) throw noStoredContext('turn.contextId', contextId)
}

/** Writes the newer version, its entry and its tool calls, and links the older version to it. */
async function writeVersion(
  tx: Tx,
  { conversationId, salt, older, edit }: Replacement,
  calls: readonly FoundCall[],
): Promise<{ id: string; seq: number }> {
  const { turn, actor, authorKind, content, clientHash } = edit
  const newer = newId('turn')
  const own = { turnId: newer, callPosition: older.position }
  const { parts, answered } = linkResults(content.parts, content.results, calls, own)
  const { terms, cues } = indexEntry(actor, content.text, { parts: content.parts })
  const pinned = turn.pinned === undefined ? older.pinned : (turn.pinned ?? false)
  const seq = await writeEntry(tx, conversationId, 'SUPERSEDED', { turnId: newer })
  await tx.turn.create({
    data: {
      id: newer,
      conversationId,
      seq,
      position: older.position,
      actor,
      authorKind,
      role: turn.role,
      status: 'COMMITTED',
      text: content.text,
      parts: (parts as Prisma.InputJsonArray | null) ?? undefined,
      audience: older.audience ? [...older.audience] : undefined,
      mentions: content.mentions
        ? ((await findMentioned(tx, conversationId, content.mentions)) ?? undefined)
        : undefined,
      tokenCount: content.tokens,
      promptTokens: turn.tokenUsage?.prompt,
      completionTokens: turn.tokenUsage?.completion,
      model: turn.model === undefined ? older.model : turn.model,
      adapter: turn.adapter,
      traceId: turn.traceId,
      citations: turn.citations?.length ? turn.citations : undefined,
      replyToId: turn.replyToId === undefined ? older.replyToId : turn.replyToId,
      contextId: turn.contextId,
      pinned,
      metadata: (turn.metadata === undefined ? older.metadata : (turn.metadata as object | null)) ?? undefined,
      clientId: turn.clientId,
      clientHash,
      supersedes: older.id,
      createdAt: turn.createdAt ?? undefined,
      importedAt: importTime(turn.createdAt),
      terms: salted(terms, salt),
      cues,
    },
  })
  await tx.turn.update({
    where: { id_conversationId: { id: older.id, conversationId } },
    data: { supersededBy: newer },
  })
  if (pinned !== older.pinned) {
    // All versions of a turn have the same value; see pin.ts.
    await tx.turn.updateMany({ where: { conversationId, position: older.position }, data: { pinned } })
  }
  if (content.calls.length > 0) {
    await tx.toolCall.createMany({ data: content.calls.map((call) => ({ conversationId, ...call, turnId: newer })) })
  }
  if (answered.length > 0) {
    await tx.toolResult.createMany({ data: answered.map((call) => ({ conversationId, ...call, turnId: newer })) })
  }
  return { id: newer, seq }
}

/**
 * Updates the derivatives of the older version. Returns the seq of the FACTS_CHANGED entry; null if no fact changed.
 */
async function updateDerivativesOf(
  { updateDerivatives }: SupersedeDeps,
  tx: Tx,
  { conversationId, older, edit }: Replacement,
): Promise<number | null> {
  const factIds = await updateDerivatives(tx, {
    conversationId,
    isPublic: older.audience === null,
    older: { ...older, isCommitted: older.status === 'COMMITTED' },
    newer: { tokenCount: edit.content.tokens },
  })
  return factIds.length > 0 ? writeEntry(tx, conversationId, 'FACTS_CHANGED', { factIds }) : null
}

/** Result of supersedeTurn. */
export type Superseded = {
  /** The newer version. */
  turn: Turn
  /** Whether an earlier call with the same clientId had already written the version. */
  deduplicated: boolean
  /** Seq of the newest entry that the call wrote, or of the version if an earlier call had written it. */
  lastSeq: number
}

/**
 * Writes a newer, committed version of the turn. The clientId makes it idempotent, as in appendTurn.
 * Keeps the older version's `replyToId`, `pinned`, `model` and `metadata` if omitted; null clears them. Other fields
 * are not kept.
 * @throws InvalidInput @throws NotFound
 * @throws NotAllowed for an actor who is not the turn's author, or has left, or without a right that rights.ts requires
 * @throws Conflict if the turn is open, erased or already superseded, retention removed its content, the clientId was
 * used for different content, or an approval protects a call in either version (supersede-calls.ts)
 */
export async function supersedeTurn(
  deps: SupersedeDeps,
  viewer: Viewer,
  input: SupersedeTurnInput,
): Promise<Superseded> {
  authorize(viewer, 'supersedeTurn')
  const { turnId, turn } = await redactInput(deps, viewer, 'supersedeTurn', parse(supersedeTurnInput, input))
  const actor = turn.actor ?? viewer.actor
  const content = await contentGiven(deps, turn, 'turn')
  const clientHash = turn.clientId == null ? null : digest({ ...turn, actor, supersedes: turnId })
  const edit: Edit = { turnId, actor, authorKind: kindOfCredential(viewer, actor), turn, content, clientHash }
  const author = actAs(trusted(viewer), actor)

  const written = await withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    const locked = await lockConversationOf(tx, { ...viewer, actor }, turnId)
    const existing = await findByClientId(tx, locked, edit)
    if (existing !== null) return { id: existing, last: null }
    const older = await readOlder(tx, locked.conversationId, turnId)
    const replacement = { ...locked, older, edit }
    const view = await checkEdit(tx, replacement)
    await requirePermitsOfEdit(tx, viewer, replacement)
    const calls = await findAnsweredCalls(tx, replacement, edit, view.windows)
    await requireUndecided(tx, replacement, edit)
    const { id: newer, seq } = await writeVersion(tx, replacement, calls)
    const last = (await updateDerivativesOf(deps, tx, replacement)) ?? seq
    const { conversationId } = locked
    afterCommit(() => announceEntries(deps, [{ tenant: viewer.tenant, conversationId, first: seq, last }]))
    return { id: newer, last }
  })
  const newer = (await getTurns(deps, author, [written.id])).get(written.id)
  // The conversation may have been deleted after the commit.
  if (!newer) throw new NotFound('turn', turnId)
  return { turn: newer, deduplicated: written.last === null, lastSeq: written.last ?? newer.seq }
}
