// Writes a newer version of a turn, in a transaction that has locked the conversation: the row, its entry, the link from
// the older version, and the corrected derivatives of the older version. supersede.ts writes committed versions,
// open-version.ts opens versions that are streamed.

import type { z } from 'zod'
import { NotFound } from '../../errors.ts'
import type { Tx } from '../../store/db/db.ts'
import type { Prisma } from '../../store/generated/client.ts'
import type { ParticipantKind } from '../../store/generated/enums.ts'
import type { FoundCall } from '../../store/sql/turn/find-calls.ts'
import { findMentioned } from '../../store/sql/turn/find-mentioned.ts'
import { writeEntry } from '../../store/sql/turn/journal/write-entry.ts'
import { salted } from '../../text/words/hashed-terms.ts'
import { newId } from '../kernel/id.ts'
import type { Platform } from '../kernel/platform.ts'
import { sees, viewIn, type View } from '../kernel/view.ts'
import { indexEntry } from '../memory/indexing/index-entry.ts'
import { noStoredContext, notInView } from './append/append-refusal.ts'
import type { LockedConversation } from './append/lock-turn.ts'
import type { turnVersionInput } from './append/turn-input.ts'
import { linkResults, type Content } from './content.ts'
import { refusalOf, type OlderVersion } from './supersede-check.ts'
import { importTime } from './turn-row.ts'

/** A written version: the fields of both versions from which derivatives are computed. */
export type WrittenVersion = {
  conversationId: string
  /** Whether the turn has no audience. Turns with an audience are neither counted nor summarised. */
  isPublic: boolean
  older: { id: string; position: number; isCommitted: boolean; tokenCount: number }
  /** A newer version that is not committed is open: it is counted when it is committed. */
  newer: { isCommitted: boolean; tokenCount: number }
}

/**
 * Corrects or deletes the data derived from the older version, in the transaction that writes the newer version and
 * under the conversation's lock. Returns the ids of the facts that it superseded. src/deps.ts injects it, because this
 * folder must not import domain/trust/erasure.
 */
export type UpdateDerivatives = (tx: Tx, version: WrittenVersion) => Promise<string[]>

export type SupersedeDeps = Platform & { updateDerivatives: UpdateDerivatives }

/** A version to write. An open version has no content. */
export type NewVersion = {
  status: 'COMMITTED' | 'STREAMING'
  actor: string
  /** The kind of the author's own credential; null if another credential, or none, writes the version. */
  authorKind: ParticipantKind | null
  turn: z.output<typeof turnVersionInput>
  content: Content
  /** Digest of the request; null without a clientId. */
  clientHash: string | null
}

export type Older = OlderVersion & {
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

/** A newer version, the one that it replaces, and the locked conversation of both. */
export type Replacement = LockedConversation & { older: Older; version: NewVersion }

/** Reads the version to supersede. The transaction must have locked the conversation. */
export async function readOlder(tx: Tx, conversationId: string, turnId: string): Promise<Older> {
  const older = await tx.turn.findUniqueOrThrow({ where: { id_conversationId: { id: turnId, conversationId } } })
  // Prisma reads a null audience as an empty list.
  return { ...older, audience: older.audience.length > 0 ? older.audience : null }
}

/**
 * Checks that the author may write the version, and returns the author's view. @throws NotFound @throws NotAllowed
 * @throws Conflict @throws InvalidInput
 */
export async function checkVersion(
  tx: Tx,
  { conversationId, visibility, older, version: { actor, turn } }: Replacement,
): Promise<View> {
  const author = await tx.participant.findUnique({ where: { conversationId_actor: { conversationId, actor } } })
  const isPresent = author !== null && author.leftAt === null
  const view = viewIn(visibility, author)
  if (!sees(view, older)) throw new NotFound('turn', older.id)
  const refusal = refusalOf(older, { actor, isPresent })
  if (refusal) throw refusal
  await checkReply(tx, conversationId, view, turn.replyToId)
  await checkContext(tx, conversationId, { actor, contextId: turn.contextId })
  return view
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
async function checkContext(
  tx: Tx,
  conversationId: string,
  { actor, contextId }: { actor: string; contextId: string | null | undefined },
): Promise<void> {
  if (contextId == null) return
  const context = await tx.storedContext.findFirst({ where: { id: contextId, conversationId, actor } })
  if (!context) throw noStoredContext('turn.contextId', contextId)
}

/** Returns the row of the newer version, without its id and seq. */
async function rowOf(tx: Tx, { conversationId, salt, older, version }: Replacement) {
  const { turn, actor, content, status } = version
  const index = status === 'COMMITTED' ? indexEntry(actor, content.text, { parts: content.parts }) : null
  return {
    conversationId,
    position: older.position,
    actor,
    authorKind: version.authorKind,
    role: turn.role,
    status,
    text: content.text,
    audience: older.audience ? [...older.audience] : undefined,
    mentions: content.mentions ? ((await findMentioned(tx, conversationId, content.mentions)) ?? undefined) : undefined,
    tokenCount: content.tokens,
    promptTokens: turn.tokenUsage?.prompt,
    completionTokens: turn.tokenUsage?.completion,
    model: turn.model === undefined ? older.model : turn.model,
    adapter: turn.adapter,
    traceId: turn.traceId,
    citations: turn.citations?.length ? turn.citations : undefined,
    replyToId: turn.replyToId === undefined ? older.replyToId : turn.replyToId,
    contextId: turn.contextId,
    pinned: turn.pinned === undefined ? older.pinned : (turn.pinned ?? false),
    metadata: (turn.metadata === undefined ? older.metadata : (turn.metadata as object | null)) ?? undefined,
    clientId: turn.clientId,
    clientHash: version.clientHash,
    supersedes: older.id,
    createdAt: turn.createdAt ?? undefined,
    importedAt: importTime(turn.createdAt),
    ...(index && { terms: salted(index.terms, salt), cues: index.cues }),
  }
}

/**
 * Writes the newer version, its entry and its tool calls, links the older version to it, and updates the derivatives of
 * the older version. `seq` is the version's; `last` is that of the newest entry.
 */
export async function writeVersion(
  { updateDerivatives }: SupersedeDeps,
  tx: Tx,
  replacement: Replacement,
  calls: readonly FoundCall[],
): Promise<{ id: string; seq: number; last: number }> {
  const { conversationId, older, version } = replacement
  const { content, status } = version
  const id = newId('turn')
  const own = { turnId: id, callPosition: older.position }
  const { parts, answered } = linkResults(content.parts, content.results, calls, own)
  const row = await rowOf(tx, replacement)
  const seq = await writeEntry(tx, conversationId, 'SUPERSEDED', { turnId: id })
  await tx.turn.create({ data: { ...row, id, seq, parts: (parts as Prisma.InputJsonArray | null) ?? undefined } })
  await tx.turn.update({ where: { id_conversationId: { id: older.id, conversationId } }, data: { supersededBy: id } })
  if (row.pinned !== older.pinned) {
    // All versions of a turn have the same value; see pin.ts.
    await tx.turn.updateMany({ where: { conversationId, position: older.position }, data: { pinned: row.pinned } })
  }
  if (content.calls.length > 0) {
    await tx.toolCall.createMany({ data: content.calls.map((call) => ({ conversationId, ...call, turnId: id })) })
  }
  if (answered.length > 0) {
    await tx.toolResult.createMany({ data: answered.map((call) => ({ conversationId, ...call, turnId: id })) })
  }
  const factIds = await updateDerivatives(tx, {
    conversationId,
    isPublic: older.audience === null,
    older: { ...older, isCommitted: older.status === 'COMMITTED' },
    newer: { isCommitted: status === 'COMMITTED', tokenCount: content.tokens },
  })
  const last = factIds.length > 0 ? await writeEntry(tx, conversationId, 'FACTS_CHANGED', { factIds }) : seq
  return { id, seq, last }
}
