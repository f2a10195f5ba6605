// Pins and unpins turns. Contexts include pinned turns regardless of their age. A pin belongs to the turn, not to a
// version: all versions of a turn have the same value of `pinned`, even after an edit.

import { z } from 'zod'
import { Conflict, NotFound } from '../../errors.ts'
import { writeEntry } from '../../store/sql/turn/journal/write-entry.ts'
import { withTransaction } from '../../store/db/tx.ts'
import { authorize, requireMembership, requirePermits, trusted } from '../kernel/rights/authorize.ts'
import { id, parse } from '../kernel/input.ts'
import type { Platform } from '../kernel/platform.ts'
import { announceEntries } from '../kernel/live/publisher.ts'
import { sees, viewIn, type Viewer } from '../kernel/view.ts'
import { lockConversationOf } from './append/lock-turn.ts'
import { getPreviousVersions, getTurns, type Turn } from './turn.ts'

const pinTurnInput = z.object({ turnId: id('turn') })
export type PinTurnInput = z.input<typeof pinTurnInput>

/** The turn after pinTurn or unpinTurn. */
export type Pinned = {
  /** The newest version that the viewer sees. */
  turn: Turn
  /** Whether the call changed the turn. False if the turn was already pinned, or unpinned, as requested. */
  changed: boolean
}

/**
 * Pins a turn, given by the id of any version. A turn that is already pinned does not change. The owner or an
 * administrator who sees the turn may pin it. Without a principal, any present participant who sees it may.
 * @throws InvalidInput @throws NotFound if the viewer does not see the version
 * @throws NotAllowed if the viewer is not a present participant, or without a right that rights.ts requires
 * @throws Conflict if the turn was erased
 */
export async function pinTurn(deps: Platform, viewer: Viewer, input: PinTurnInput): Promise<Pinned> {
  authorize(viewer, 'pinTurn')
  return setPinned(deps, viewer, input, true)
}

/** Unpins a turn. Throws in the same cases as pinTurn. */
export async function unpinTurn(deps: Platform, viewer: Viewer, input: PinTurnInput): Promise<Pinned> {
  authorize(viewer, 'unpinTurn')
  return setPinned(deps, viewer, input, false)
}

async function setPinned(deps: Platform, viewer: Viewer, input: PinTurnInput, pinned: boolean): Promise<Pinned> {
  const { turnId } = parse(pinTurnInput, input)
  const { newestId, changed } = await withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    const { conversationId, visibility } = await lockConversationOf(tx, viewer, turnId)
    const key = { conversationId_actor: { conversationId, actor: viewer.actor } }
    const view = viewIn(visibility, await tx.participant.findUnique({ where: key }))
    const { position, seq, status, audience } = await tx.turn.findUniqueOrThrow({
      where: { id_conversationId: { id: turnId, conversationId } },
    })
    // Prisma reads a null audience as an empty list.
    const isVisible = sees(view, { position, seq, audience: audience.length > 0 ? audience : null })
    if (!isVisible) throw new NotFound('turn', turnId)
    await requireMembership(tx, viewer.actor, conversationId)
    await requirePermits(tx, viewer, pinned ? 'pinTurn' : 'unpinTurn', { conversationId })
    if (status === 'ERASED') throw new Conflict(`Turn ${turnId} was erased. Append a new turn.`)
    const newest = await tx.turn.findFirstOrThrow({ where: { conversationId, position }, orderBy: { seq: 'desc' } })
    const { count } = await tx.turn.updateMany({
      where: { conversationId, position, pinned: !pinned },
      data: { pinned },
    })
    if (count > 0) {
      const entry = await writeEntry(tx, conversationId, 'UPDATED', { turnId: newest.id })
      const { tenant } = viewer
      afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: entry, last: entry }]))
    }
    return { newestId: newest.id, changed: count > 0 }
  })
  const turn =
    (await getTurns(deps, trusted(viewer), [newestId])).get(newestId)
    ?? (await getPreviousVersions(deps, trusted(viewer), [newestId])).get(newestId)
  // The conversation may have been deleted after the commit.
  if (!turn) throw new NotFound('turn', turnId)
  return { turn, changed }
}
