// The steps that update derivatives, as registered in derivatives.ts. Each runs in the transaction that edits the
// turn or deletes the conversation, under the conversation's lock.

import {
  deleteProfilesOfConversation,
  lockFactsOfConversation,
  reactivateFacts,
} from '../../store/sql/erasure/erase-facts.ts'
import { lockFactsOfTurn, supersedeFacts } from '../../store/sql/fact/write-facts.ts'
import type { Tx } from '../../store/db.ts'
import { revokeSummaries } from '../../store/sql/summary/write-summary.ts'
import type { UpdateDerivatives } from '../turn/supersede.ts'

/** A conversation to delete, with its journal locked. */
export type DeletedConversation = { tenant: string; conversationId: string }

/** A fact changed by deleting another fact; `conversationId` is null for a fact that belongs to no conversation. */
export type ChangedFact = { id: string; conversationId: string | null }

/**
 * Runs before the conversation's row is deleted. `rows` is the number of rows that will be deleted, for the receipt;
 * `finish` runs after the row is deleted, in the same transaction, and returns the facts of other conversations that it
 * changed.
 */
export type PrepareDelete = (
  tx: Tx,
  deleted: DeletedConversation,
) => Promise<{ rows: number; finish?: (tx: Tx) => Promise<ChangedFact[]> }>

/** Counts the newer version instead of the older one in the journal. An aborted older version was never counted. */
export const recount: UpdateDerivatives = async (tx, { conversationId, isPublic, older, newer }) => {
  if (isPublic) {
    await tx.journal.update({
      where: { conversationId },
      data: {
        turnCount: { increment: older.isCommitted ? 0 : 1 },
        tokenCount: { increment: newer.tokenCount - (older.isCommitted ? older.tokenCount : 0) },
      },
    })
  }
  return []
}

/**
 * Makes the summaries that cover the turn or a later one stale: the newer version and all turns after it are not
 * covered until they are summarised again.
 */
export const revokeCoverage: UpdateDerivatives = async (tx, { conversationId, isPublic, older }) => {
  if (isPublic) await revokeSummaries(tx, conversationId, older.rootSeq)
  return []
}

/** Supersedes the facts of the older version. If the newer version states them too, extraction writes them again. */
export const supersedeFactsOfTurn: UpdateDerivatives = async (tx, { older }) => {
  const facts = await lockFactsOfTurn(tx, older.id)
  return supersedeFacts(
    tx,
    facts.map((id) => ({ id, by: null, reason: 'UPDATE' })),
  )
}

export const countTurns: PrepareDelete = async (tx, { conversationId }) => ({
  rows: await tx.turn.count({ where: { conversationId } }),
})

export const countSummaries: PrepareDelete = async (tx, { conversationId }) => ({
  rows: await tx.summary.count({ where: { conversationId } }),
})

/**
 * Makes the facts active again that the conversation's facts superseded. The caller has locked the journals of their
 * conversations.
 */
export const reactivateSuperseded: PrepareDelete = async (tx, { conversationId }) => {
  const { facts, supersededElsewhere: superseded } = await lockFactsOfConversation(tx, conversationId)
  return { rows: facts, finish: (after) => reactivateFacts(after, superseded) }
}

/**
 * Deletes the profiles made from the conversation's facts. Skipped if it has no facts, because the statement reads
 * every profile of the tenant. Runs after `reactivateSuperseded` has locked the facts.
 */
export const deleteProfiles: PrepareDelete = async (tx, { tenant, conversationId }) => {
  const fact = await tx.fact.findFirst({ where: { conversationId }, select: { id: true } })
  return { rows: fact ? await deleteProfilesOfConversation(tx, tenant, conversationId) : 0 }
}
