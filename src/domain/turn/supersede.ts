// supersedeTurn: edits or regenerates a turn. Adds a newer version and keeps the older ones. All versions of a turn
// have the same position and audience; each has its own journal entry.

import { z } from 'zod'
import { NotFound } from '../../errors.ts'
import type { Tx } from '../../store/db/db.ts'
import { withTransaction } from '../../store/db/tx.ts'
import { requireUsable } from '../conversation/attachment/attachment.ts'
import { announceEntries } from '../kernel/live/publisher.ts'
import { redactInput } from '../kernel/redaction.ts'
import { authorize, requirePermits, trusted } from '../kernel/rights/authorize.ts'
import { id, parse } from '../kernel/input.ts'
import { kindOfCredential } from '../kernel/rights/principal.ts'
import { actAs, type Viewer } from '../kernel/view.ts'
import { clientIdInUse } from './append/append-refusal.ts'
import { conditionsOfTurn, contentGiven } from './append/append.ts'
import { turnVersionInput } from './append/turn-input.ts'
import { lockConversationOf } from './append/lock-turn.ts'
import { digest } from './append/turn-input.ts'
import { attachmentOf } from './parts/file-part.ts'
import { findAnsweredCalls, requireUndecided } from './supersede-calls.ts'
import { getTurns, type Turn } from './turn.ts'
import {
  checkVersion,
  readOlder,
  writeVersion,
  type NewVersion,
  type Replacement,
  type SupersedeDeps,
} from './version.ts'

const supersedeTurnInput = z.object({ turnId: id('turn'), turn: turnVersionInput })
export type SupersedeTurnInput = z.input<typeof supersedeTurnInput>

/**
 * Returns the id of the turn that an earlier call with this clientId wrote, or null.
 * @throws Conflict for different content
 */
async function findByClientId(
  tx: Tx,
  conversationId: string,
  { actor, turn: { clientId }, clientHash }: NewVersion,
): Promise<string | null> {
  if (clientId == null) return null
  const existing = await tx.turn.findFirst({ where: { conversationId, actor, clientId } })
  if (existing && existing.clientHash !== clientHash) {
    throw clientIdInUse({ clientId, turnId: existing.id, status: existing.status, holder: null })
  }
  return existing?.id ?? null
}

/** Checks the permits that the newer version needs. @throws NotFound @throws NotAllowed */
async function requirePermitsOfEdit(
  tx: Tx,
  viewer: Viewer,
  { conversationId, older, version: { turn } }: Replacement,
): Promise<void> {
  const conditions = conditionsOfTurn(viewer, turn)
  if (turn.pinned !== undefined && (turn.pinned ?? false) !== older.pinned) conditions.push('pinned')
  await requirePermits(tx, viewer, 'supersedeTurn', { conversationId, conditions })
}

/** Checks the attachments of the version: those of its former versions may be used again. @throws InvalidInput */
function requireUsableParts(tx: Tx, { conversationId, older, version }: Replacement): Promise<void> {
  const ids = (version.content.parts ?? []).map(attachmentOf).filter((each) => each !== null)
  const of = { conversationId, position: older.position, actor: version.actor, path: 'turn.parts' }
  return requireUsable(tx, of, ids)
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
  const content = await contentGiven(deps, { tenant: viewer.tenant, conversationId: null, actor }, turn, 'turn')
  const clientHash = turn.clientId == null ? null : digest({ ...turn, actor, supersedes: turnId })
  const authorKind = kindOfCredential(viewer, actor)
  const version: NewVersion = { status: 'COMMITTED', actor, authorKind, turn, content, clientHash }
  const author = actAs(trusted(viewer), actor)

  const written = await withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    const locked = await lockConversationOf(tx, { ...viewer, actor }, turnId)
    const { conversationId } = locked
    const existing = await findByClientId(tx, conversationId, version)
    if (existing !== null) return { id: existing, last: null }
    const older = await readOlder(tx, conversationId, turnId)
    const replacement = { ...locked, older, version }
    const view = await checkVersion(tx, replacement)
    await requirePermitsOfEdit(tx, viewer, replacement)
    await requireUsableParts(tx, replacement)
    const calls = await findAnsweredCalls(tx, replacement, version, view.windows)
    await requireUndecided(tx, replacement, version)
    const { id: newer, seq, last } = await writeVersion(deps, tx, replacement, calls)
    afterCommit(() => announceEntries(deps, [{ tenant: viewer.tenant, conversationId, first: seq, last }]))
    return { id: newer, last }
  })
  const newer = (await getTurns(deps, author, [written.id])).get(written.id)
  // The conversation may have been deleted after the commit.
  if (!newer) throw new NotFound('turn', turnId)
  return { turn: newer, deduplicated: written.last === null, lastSeq: written.last ?? newer.seq }
}
