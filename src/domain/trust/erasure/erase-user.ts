// Erases a user's turns and all data about the user in the whole tenant. The work runs in steps, each in its own
// transaction. It continues after a crash, because the row in `erasure` stores the progress.

import { SYSTEM as ALL_TENANTS } from '../../../store/db/scope.ts'
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { Conflict } from '../../../errors.ts'
import {
  addErasureCounts,
  removeTransfersOf,
  ALL_POSITIONS,
  deleteJobsOfUser,
  findConversationOfUser,
  findUnfinishedErasure,
  moveErasure,
  readFactsAboutUser,
  readFactsOfUser,
  readPositionsOfUser,
  type ErasureRow,
} from '../../../store/sql/trust/erasure/erasures.ts'
import { deleteProfilesOfFacts, lockFactsById } from '../../../store/sql/trust/erasure/erased-facts.ts'
import {
  deleteFormerParticipant,
  deleteFormerProfilesOf,
  deleteFormerSourcesOf,
} from '../../../store/sql/trust/erasure/former-states.ts'
import { deleteAttachmentsOf } from '../../../store/sql/conversation/attachment/attachments.ts'
import { deleteContextsOf, loseSources } from '../../../store/sql/trust/erasure/stored-contexts.ts'
import { Prisma } from '../../../store/generated/client.ts'
import { writeEntry } from '../../../store/sql/turn/journal/write-entry.ts'
import { readFactsFrom, removeSources } from '../../../store/sql/memory/fact/fact-sources.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { clearDecisionsOf } from '../../../store/sql/agent/approval/approvals.ts'
import type { Tx } from '../../../store/db/db.ts'
import { changeResponse } from '../../agent/definition/agent-settings.ts'
import { auditRecord } from '../../kernel/audit/line.ts'
import { authorize, requirePermits, requireNoHold } from '../../kernel/rights/authorize.ts'
import { derivedId } from '../../kernel/derived-id.ts'
import { appendFactsChanged, lockConversations } from '../../memory/fact/write.ts'
import { name, parse } from '../../kernel/input.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceEntries, announcePresence } from '../../kernel/live/publisher.ts'
import type { Viewer } from '../../kernel/view.ts'
import { eraseStatesOf } from '../../conversation/shared-state/delete-shared-state.ts'
import { finishFacts } from './erase-steps.ts'
import { readErasure, type Erasure } from './erasure.ts'
import { erasePositions } from './erase-turn.ts'
import { HELD, hashOfUser, receiptOf, receiptRecord } from './receipt.ts'

/** Maximum number of turns that one transaction erases. */
const BATCH_TURNS = 100
/** Maximum number of facts that one transaction erases. */
const BATCH_FACTS = 100
/** Maximum number of stored contexts that one transaction deletes. */
const BATCH_CONTEXTS = 100
/** Maximum time for which one call erases, ms; the background task continues. */
export const INLINE_MS = 2_000
/** The actor of the lines that the background task writes to the audit log. */
const SYSTEM = 'colloquy'

const eraseUserInput = z.object({ userId: name })
export type EraseUserInput = z.input<typeof eraseUserInput>

/**
 * Erases the user's turns, display names, metadata, agent settings, profile and presence, the options of its runs, the
 * texts of its decisions about approvals, the facts about the user or asserted by it, the contexts stored in its view,
 * the title and metadata of conversations that it owns, and what it wrote into shared state (eraseStatesOf). Messages of
 * other stored contexts that quote any of this lose their content. Cancels imports that are writing turns of the user.
 * Skips conversations under legal hold. Erases for up to INLINE_MS; a background task continues. If the user has an
 * unfinished erasure, continues it instead of starting another one.
 * @throws InvalidInput @throws NotAllowed if rights.ts denies the call, or if the user is under legal hold
 */
export async function eraseUser(deps: Platform, viewer: Viewer, input: EraseUserInput): Promise<Erasure> {
  authorize(viewer, 'eraseUser')
  const { userId } = parse(eraseUserInput, input)
  const { tenant } = viewer
  await requirePermits(deps.db.of(viewer.tenant), viewer, 'eraseUser', {
    conversationId: null,
    conditions: userId === viewer.actor ? [] : ['otherUserErased'],
  })
  const id = await withTransaction(deps.db, tenant, async (tx) => {
    await requireNoHold(tx, tenant, null, [userId])
    const where = { tenant, kind: 'USER' as const, subject: userId, completedAt: null }
    const unfinished = await tx.erasure.findFirst({ where, select: { id: true } })
    if (unfinished) return unfinished.id
    await removeTransfersOf(tx, tenant, userId)
    const created = await tx.erasure.create({ data: { id: randomUUID(), tenant, kind: 'USER', subject: userId } })
    const subject = hashOfUser(deps.integrityKeys, tenant, userId)
    await deps.audit.append(tx, [auditRecord(viewer, 'eraseUser', [subject, created.id])])
    return created.id
  })
  const until = deps.clock.performance.now() + INLINE_MS
  while (deps.clock.performance.now() < until && (await eraseNext(deps, id)));
  return (await readErasure(deps, tenant, id))!
}

/** Continues unfinished erasures, oldest first, for up to INLINE_MS. Returns the number of steps. */
export async function continueErasures(deps: Platform): Promise<number> {
  const until = deps.clock.performance.now() + INLINE_MS
  let steps = 0
  for (; deps.clock.performance.now() < until; steps++) {
    const unfinished = await findUnfinishedErasure(deps.db)
    if (!unfinished) break
    await eraseNext(deps, unfinished.id)
  }
  return steps
}

/** Thrown to roll back a step that another process has already done. */
class AlreadyDone extends Conflict {}

/** Runs the next step of an erasure. Returns false if the erasure is complete. */
async function eraseNext(deps: Platform, id: string): Promise<boolean> {
  const erasure = (await deps.db.of(ALL_TENANTS).erasure.findFirst({ where: { id } })) as ErasureRow | null
  if (!erasure || erasure.completedAt !== null) return false
  try {
    return (
      (await eraseNextTurns(deps, erasure))
      || (await eraseNextFacts(deps, erasure))
      || (await eraseNextContexts(deps, erasure))
      || (await complete(deps, erasure))
    )
  } catch (error) {
    if (error instanceof AlreadyDone) return true
    throw error
  }
}

/** Stores that the erasure is complete through this position. @throws AlreadyDone */
async function saveProgress(tx: Tx, erasure: ErasureRow, conversationId: string, position: number): Promise<void> {
  if (!(await moveErasure(tx, erasure, { conversationId, position }))) {
    throw new AlreadyDone('Another process continues this erasure.')
  }
}

/**
 * Runs the next step in the user's conversations: starts a conversation, erases a batch of its turns, or ends it with
 * eraseMembership. Returns false after the last conversation.
 */
async function eraseNextTurns(deps: Platform, erasure: ErasureRow): Promise<boolean> {
  const { id, tenant, subject: user, throughConversation: conversationId, throughPosition } = erasure
  if (conversationId === '' || throughPosition === ALL_POSITIONS) {
    const next = await findConversationOfUser(deps.db, tenant, user, conversationId)
    if (!next) return false
    await withTransaction(deps.db, tenant, async (tx) => {
      await saveProgress(tx, erasure, next.id, next.isHeld ? ALL_POSITIONS : 0)
      if (next.isHeld) await addErasureCounts(tx, id, { [HELD]: 1 })
    })
    return true
  }
  const span = { conversationId, user, after: throughPosition }
  const positions = await readPositionsOfUser(deps.db, tenant, span, BATCH_TURNS)
  const last = positions.at(-1)
  if (last === undefined) {
    await eraseMembership(deps, erasure)
    return true
  }
  const erased = await erasePositions(
    deps,
    { tenant, conversationId, positions },
    async () => {},
    async (tx, rows) => {
      await saveProgress(tx, erasure, conversationId, last)
      await addErasureCounts(tx, id, Object.fromEntries([...rows].filter(([, count]) => count > 0)))
      return true
    },
  )
  // The conversation was deleted.
  if (!erased) await withTransaction(deps.db, tenant, (tx) => saveProgress(tx, erasure, conversationId, ALL_POSITIONS))
  return true
}

/** Clears the participant's own fields and deletes its wake-ups. Returns the number of changed rows: 0 or 1. */
async function clearParticipant(tx: Tx, conversationId: string, actor: string): Promise<number> {
  await tx.wakeUp.deleteMany({ where: { conversationId, actor } })
  const { count } = await tx.participant.updateMany({
    where: {
      conversationId,
      actor,
      OR: [
        { displayName: { not: null } },
        { metadata: { not: {} } },
        { respond: { not: 'NEVER' } },
        { agent: { not: Prisma.DbNull } },
      ],
    },
    data: { displayName: null, metadata: {}, respond: 'NEVER', agent: Prisma.DbNull },
  })
  await deleteFormerParticipant(tx, conversationId, actor)
  if (count > 0) await changeResponse(tx, conversationId, actor, 'NEVER')
  return count
}

/**
 * Clears the participant's display name, metadata and settings, the options of its runs, its presence, and what it wrote
 * into the shared state; if the user owns the conversation, also the title and the metadata of the conversation.
 */
async function eraseMembership(deps: Platform, erasure: ErasureRow): Promise<void> {
  const { id, tenant, subject: user, throughConversation: conversationId } = erasure
  await withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, [conversationId])
    const seqs: number[] = []
    if (heads.size > 0) {
      const participants = await clearParticipant(tx, conversationId, user)
      if (participants > 0) seqs.push(await writeEntry(tx, conversationId, 'UPDATED', { actor: user }))
      const { count: titles } = await tx.conversation.updateMany({
        where: { id: conversationId, owner: user, OR: [{ title: { not: null } }, { metadata: { not: {} } }] },
        data: { title: null, titleFrom: null, titleSeq: null, titleTried: 0, metadata: {}, version: { increment: 1 } },
      })
      if (titles > 0) seqs.push(await writeEntry(tx, conversationId, 'UPDATED', {}))
      // The user wrote the instructions of its waiting runs.
      const { count: runs } = await tx.run.updateMany({
        where: { conversationId, viewer: user, options: { not: {} } },
        data: { options: {} },
      })
      const { states, changes, seqs: deletions } = await eraseStatesOf(tx, conversationId, user)
      seqs.push(...deletions)
      await addErasureCounts(tx, id, {
        ...{ participant: participants, title: titles, run: runs },
        ...{ shared_state: states, shared_state_change: changes },
        // Those of turns were erased with the turns.
        attachment: await deleteAttachmentsOf(tx, conversationId, user),
      })
    }
    await saveProgress(tx, erasure, conversationId, ALL_POSITIONS)
    const [first, last] = [seqs[0], seqs.at(-1)]
    if (first !== undefined && last !== undefined) {
      afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first, last }]))
    }
  })
  // Presence expires anyway, so an unreachable Redis does not stop the erasure.
  if (await deps.presence.removeActor(conversationId, { tenant, actor: user }).catch(() => false)) {
    announcePresence(deps, conversationId, user, 'OFFLINE')
  }
}

/**
 * Erases a batch of facts: deletes those about the user, and those that only the user asserts; removes the user's
 * assertions from the others. Returns false if there are none.
 */
async function eraseNextFacts(deps: Platform, { id, tenant, subject: user }: ErasureRow): Promise<boolean> {
  const { ids, conversationIds } = await readFactsOfUser(deps.db, tenant, user, BATCH_FACTS)
  if (ids.length === 0) return false
  await withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, conversationIds)
    const facts = await lockFactsById(tx, ids)
    const source = { assertedBy: user }
    await deleteFormerSourcesOf(tx, facts, user)
    await removeSources(tx, facts, source)
    const ended = new Set([...(await readFactsAboutUser(tx, facts, user)), ...(await readFactsFrom(tx, facts, source))])
    const { rows, users = [], finish } = await finishFacts(tx, facts, [...ended])
    const profiles = await deleteProfilesOfFacts(tx, tenant, [...ended])
    const changed = (await finish?.(tx)) ?? []
    const lockedChanges = changed.filter((fact) => fact.conversationId !== null && heads.has(fact.conversationId))
    await appendFactsChanged(deps, { tx, afterCommit }, tenant, lockedChanges)
    // A quoted fact may name its author, so the messages of facts that have other sources lose their content, too.
    const messages = await loseSources(tx, facts)
    await addErasureCounts(tx, id, { fact: rows, user_profile: profiles, stored_context_message: messages })
    afterCommit(() => deps.notifyWorkers([], users))
  })
  return true
}

/** Deletes a batch of the contexts that were stored in the user's view. Returns false if there are none. */
async function eraseNextContexts(deps: Platform, { id, tenant, subject: user }: ErasureRow): Promise<boolean> {
  return withTransaction(deps.db, tenant, async (tx) => {
    const contexts = await deleteContextsOf(tx, tenant, user, BATCH_CONTEXTS)
    if (contexts > 0) await addErasureCounts(tx, id, { stored_context: contexts })
    return contexts > 0
  })
}

/** Deletes the profile and the other remaining data, and writes the receipt. Returns false, because no step follows. */
async function complete(deps: Platform, { id, tenant, subject: user }: ErasureRow): Promise<boolean> {
  await deleteJobsOfUser(deps.db, tenant, user)
  await withTransaction(deps.db, tenant, async (tx) => {
    const { count: profiles } = await tx.userProfile.deleteMany({ where: { tenant, userId: user } })
    await deleteFormerProfilesOf(tx, tenant, user)
    await tx.userProgress.deleteMany({ where: { tenant, userId: user } })
    await tx.profileProgress.deleteMany({ where: { tenant, userId: user } })
    const approvals = await clearDecisionsOf(tx, tenant, user)
    const messages = await loseSources(tx, [derivedId({ kind: 'profile', tenant, userId: user })])
    await addErasureCounts(tx, id, { user_profile: profiles, approval: approvals, stored_context_message: messages })
    const subject = hashOfUser(deps.integrityKeys, tenant, user)
    const { counts } = (await tx.erasure.findUniqueOrThrow({ where: { id } })) as ErasureRow
    const completedAt = new Date()
    const receipt = receiptOf(deps.integrityKeys, { id, tenant, kind: 'USER', subject, counts, completedAt })
    const { document, signature } = receipt
    const { count } = await tx.erasure.updateMany({
      where: { id, completedAt: null },
      data: { subject, completedAt, document, signature },
    })
    if (count > 0) await deps.audit.append(tx, [receiptRecord({ tenant, actor: SYSTEM }, 'completeErasure', receipt)])
  })
  return false
}
