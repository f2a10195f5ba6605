// Erases turns: the content of all their versions, and all data derived from it. An erased turn keeps its position,
// author and times, so that the journal has no gap.

import { z } from 'zod'
import { NotFound } from '../../../errors.ts'
import {
  lockTurnsToErase,
  readConversationsSupersededByTurns,
  writeErasedEntries,
} from '../../../store/sql/trust/erasure/erased-turns.ts'
import type { LockedJournal } from '../../../store/sql/turn/journal/write-entry.ts'
import type { Tx } from '../../../store/db/db.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import {
  authorize,
  isWithinReach,
  requireChange,
  requirePermits,
  trusted,
  requireNoHold,
} from '../../kernel/rights/authorize.ts'
import { appendFactsChanged, lockConversations } from '../../memory/fact/write.ts'
import { id, parse } from '../../kernel/input.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import { getTurns, type Turn } from '../../turn/turn.ts'
import type { Viewer } from '../../kernel/view.ts'
import { toReceipt, writeReceipt, type ErasureReceipt } from './receipt.ts'
import { eraseWithDerivatives, releaseDerivatives } from './run-derivatives.ts'

type Positions = { tenant: string; conversationId: string; positions: readonly number[] }

/**
 * Erases all versions of the turns at the positions, in one transaction. Subscribers receive TurnErased for each
 * version.
 * @param check runs under the conversation's lock, before anything is erased
 * @param finish runs last in the transaction, with the number of removed rows by table
 * @returns the result of `finish`; null if the tenant has no such conversation
 */
export async function erasePositions<T>(
  deps: Platform,
  { tenant, conversationId, positions }: Positions,
  check: (tx: Tx, head: LockedJournal) => Promise<void>,
  finish: (tx: Tx, rows: ReadonlyMap<string, number>) => Promise<T>,
): Promise<T | null> {
  const affectedIds = await readConversationsSupersededByTurns(deps.db, tenant, conversationId, positions)
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, [conversationId, ...affectedIds])
    const head = heads.get(conversationId)
    if (!head) return null
    await check(tx, head)
    const turns = await lockTurnsToErase(tx, conversationId, positions)
    if (turns.length === 0) return finish(tx, new Map())
    const { rows, changed, users } = await eraseWithDerivatives(tx, { tenant, conversationId, turns })
    const last = await writeErasedEntries(
      tx,
      conversationId,
      turns.map((turn) => turn.id),
    )
    // A conversation whose facts were superseded after `affectedIds` was read is not locked, so it gets no entry.
    const lockedChanges = changed.filter((fact) => fact.conversationId !== null && heads.has(fact.conversationId))
    await appendFactsChanged(deps, { tx, afterCommit }, tenant, lockedChanges)
    afterCommit(() => {
      releaseDerivatives(deps, conversationId)
      deps.notifyWorkers([], users)
      announceEntries(deps, [{ tenant, conversationId, first: last - turns.length + 1, last }])
    })
    return finish(tx, rows)
  })
}

const eraseTurnInput = z.object({ turnId: id('turn') })
export type EraseTurnInput = z.input<typeof eraseTurnInput>

export type ErasedTurn = { turn: Turn; receipt: ErasureReceipt }

/**
 * Erases a turn, given by the id of any version that the viewer sees. For a turn that is already erased, returns the
 * receipt of its erasure.
 * @throws InvalidInput @throws NotFound
 * @throws NotAllowed if rights.ts denies the call, if the viewer has left a MEMBERS conversation, or if the
 * conversation or the turn's actor is under legal hold
 */
export async function eraseTurn(deps: Platform, viewer: Viewer, input: EraseTurnInput): Promise<ErasedTurn> {
  authorize(viewer, 'eraseTurn')
  const { turnId } = parse(eraseTurnInput, input)
  const before = (await getTurns(deps, trusted(viewer), [turnId])).get(turnId)
  if (!before || !isWithinReach(viewer, before.conversationId)) throw new NotFound('turn', turnId)
  const { conversationId, position, actor } = before
  const { tenant } = viewer
  const root = await deps.db
    .of(tenant)
    .turn.findFirst({ where: { conversationId, seq: position }, select: { id: true } })
  const subject = root?.id ?? turnId
  const receipt = await erasePositions(
    deps,
    { tenant, conversationId, positions: [position] },
    async (tx, head) => {
      await requireChange(tx, viewer, conversationId, head)
      await requirePermits(tx, viewer, 'eraseTurn', {
        conversationId,
        conditions: actor === viewer.actor ? [] : ['otherAuthor'],
      })
      await requireNoHold(tx, tenant, conversationId, [actor])
    },
    async (tx, rows) => {
      const earlier = rows.size === 0 ? await readReceipt(tx, tenant, subject) : null
      return earlier ?? writeReceipt(deps, tx, viewer, { verb: 'eraseTurn', kind: 'TURN', subject, rows })
    },
  )
  const turn = (await getTurns(deps, trusted(viewer), [turnId])).get(turnId)
  // The conversation may have been deleted since.
  if (!receipt || !turn) throw new NotFound('turn', turnId)
  return { turn, receipt }
}

/** Reads the first receipt of the turn's erasure; null if there is none. */
async function readReceipt(tx: Tx, tenant: string, subject: string): Promise<ErasureReceipt | null> {
  const found = await tx.erasure.findFirst({ where: { tenant, subject, kind: 'TURN' }, orderBy: { createdAt: 'asc' } })
  if (!found?.completedAt || found.document === null) return null
  const { completedAt, document } = found
  return toReceipt({ ...found, counts: found.counts as Record<string, number>, completedAt, document })
}
