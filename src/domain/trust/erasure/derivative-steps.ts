// The steps that update or delete derivatives when a turn is edited or a conversation is deleted. derivatives.ts
// registers them. Each runs in the transaction of the edit or the deletion, under the conversation's lock.

import type { Subject } from '../../../store/jobs/job-queue.ts'
import {
  deleteProfilesOfConversation,
  lockFactsOfConversation,
  reactivateFacts,
} from '../../../store/sql/trust/erasure/erased-facts.ts'
import {
  countFactChanges,
  deleteProgressOfConversation,
  readSetsOfFacts,
} from '../../../store/sql/memory/profile/user-progress.ts'
import { readSubjectsOfFacts } from '../../../store/sql/memory/fact/due-facts.ts'
import {
  keepSources,
  lockFactsOfTurn,
  readFactsFrom,
  readSupersededBy,
  removeSources,
} from '../../../store/sql/memory/fact/fact-sources.ts'
import { supersedeFacts } from '../../../store/sql/memory/fact/facts.ts'
import type { Tx } from '../../../store/db/db.ts'
import { revokeSummaries } from '../../../store/sql/memory/summary/write-summary.ts'
import { membersOf } from '../../memory/fact/write.ts'
import type { UpdateDerivatives } from '../../turn/version.ts'

/** A conversation to delete, with its journal locked. */
export type DeletedConversation = { tenant: string; conversationId: string }

/** A fact that became active again because another one was deleted. `conversationId` is null for a fact without one. */
export type ChangedFact = { id: string; conversationId: string | null }

/**
 * Runs before the conversation's row is deleted. `rows` is the number of rows that are deleted, for the receipt.
 * `users` are the subjects whose facts change. `finish` runs after the row is deleted, in the same transaction, and
 * returns the facts of other conversations that it changed.
 */
export type PrepareDelete = (
  tx: Tx,
  deleted: DeletedConversation,
) => Promise<{ rows: number; finish?: (tx: Tx) => Promise<ChangedFact[]>; users?: Subject[] }>

/** Returns the share of a version in the journal's totals. */
const countOf = ({ isCommitted, tokenCount }: { isCommitted: boolean; tokenCount: number }) => ({
  turns: isCommitted ? 1 : 0,
  tokens: isCommitted ? tokenCount : 0,
})

/**
 * Counts the newer version instead of the older one in the journal's totals, unless the turn has an audience. Only
 * committed versions are counted: an open one is when it is committed.
 */
export const recount: UpdateDerivatives = async (tx, { conversationId, isPublic, older, newer }) => {
  if (isPublic) {
    const [added, removed] = [countOf(newer), countOf(older)]
    await tx.journal.update({
      where: { conversationId },
      data: {
        turnCount: { increment: added.turns - removed.turns },
        tokenCount: { increment: added.tokens - removed.tokens },
      },
    })
  }
  return []
}

/** Makes the automatic title due again if the turns that it was made from may include the edited turn. */
export const renewTitle: UpdateDerivatives = async (tx, { conversationId, isPublic, older }) => {
  if (isPublic) {
    await tx.conversation.updateMany({
      where: { id: conversationId, titleFrom: { lte: older.position }, titleSeq: { gte: older.position } },
      data: { titleTried: 0 },
    })
  }
  return []
}

/**
 * Marks summaries that cover the turn or a later one as stale: no summary covers the newer version and the turns after
 * it until they are summarised again.
 */
export const revokeCoverage: UpdateDerivatives = async (tx, { conversationId, isPublic, older }) => {
  if (isPublic) await revokeSummaries(tx, conversationId, older.position)
  return []
}

/**
 * Removes the older version from the sources of its facts, and supersedes the facts that have no other source.
 * Duplicates from other turns that these facts superseded become active again. If the newer version states the facts
 * too, extraction writes them again.
 */
export const supersedeFactsOfTurn: UpdateDerivatives = async (tx, { older }) => {
  const source = { turnIds: [older.id] }
  const facts = await lockFactsOfTurn(tx, older.id)
  await keepSources(tx, facts, source)
  await removeSources(tx, facts, source)
  const ended = await readFactsFrom(tx, facts, source)
  const duplicates = await readSupersededBy(tx, ended, ['DUPLICATED'])
  const superseded = await supersedeFacts(
    tx,
    ended.map((id) => ({ id, by: null, reason: 'UPDATED' })),
  )
  await keepSources(tx, duplicates, source)
  await removeSources(tx, duplicates, source)
  const fromTurn = new Set(await readFactsFrom(tx, duplicates, source))
  await reactivateFacts(
    tx,
    duplicates.filter((id) => !fromTurn.has(id)),
  )
  await countFactChanges(tx, await readSetsOfFacts(tx, [...facts, ...duplicates]))
  return superseded
}

export const countTurns: PrepareDelete = async (tx, { conversationId }) => ({
  rows: await tx.turn.count({ where: { conversationId } }),
})

export const countSharedStates: PrepareDelete = async (tx, { conversationId }) => ({
  rows: await tx.sharedState.count({ where: { conversationId } }),
})

export const countAttachments: PrepareDelete = async (tx, { conversationId }) => ({
  rows: await tx.attachment.count({ where: { conversationId } }),
})

export const countSummaries: PrepareDelete = async (tx, { conversationId }) => ({
  rows: await tx.summary.count({ where: { conversationId } }),
})

/**
 * Removes the conversation from the sources of facts. A fact without another source is deleted with the conversation,
 * and the facts that it superseded become active again. The caller has locked the journals of the facts' conversations.
 */
export const removeConversationSources: PrepareDelete = async (tx, { conversationId }) => {
  const facts = await lockFactsOfConversation(tx, conversationId)
  await removeSources(tx, facts, { conversationId })
  const ended = await readFactsFrom(tx, facts, { conversationId })
  const superseded = await readSupersededBy(tx, ended)
  const users = await readSubjectsOfFacts(tx, [...facts, ...superseded])
  const sets = await readSetsOfFacts(tx, [...facts, ...superseded])
  const finish = async (after: Tx) => {
    const reactivated = await reactivateFacts(after, superseded)
    await countFactChanges(
      after,
      sets.filter(({ visibility }) => membersOf(visibility) !== conversationId),
    )
    return reactivated
  }
  return { rows: ended.length, finish, users }
}

/**
 * Deletes the profiles made from the conversation's facts, and the progress of those of its own visibility sets. Does nothing if the conversation has no facts, because the
 * statement reads every profile of the tenant. Runs after `removeConversationSources`, when only the facts to delete
 * are left in the conversation.
 */
export const deleteProfiles: PrepareDelete = async (tx, { tenant, conversationId }) => {
  const fact = await tx.fact.findFirst({ where: { conversationId }, select: { id: true } })
  if (fact) await deleteProgressOfConversation(tx, tenant, conversationId)
  return { rows: fact ? await deleteProfilesOfConversation(tx, tenant, conversationId) : 0 }
}
