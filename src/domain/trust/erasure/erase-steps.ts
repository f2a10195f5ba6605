// The steps that erase the derivatives of turn versions. derivatives.ts registers them. Each runs in the transaction
// that erases the versions, under the conversation's lock.

import {
  deleteFacts,
  deleteProfilesOfFacts,
  lockFactsOfTurns,
  reactivateFacts,
} from '../../../store/sql/trust/erasure/erased-facts.ts'
import {
  clearAutomaticTitle,
  deleteStreams,
  deleteSummaries,
  deleteToolCalls,
  deleteToolResults,
  deleteVectors,
  deleteWakeUps,
  eraseContent,
  type TurnToErase,
} from '../../../store/sql/trust/erasure/erased-turns.ts'
import { deleteFormerSources } from '../../../store/sql/trust/erasure/former-states.ts'
import { expireClaimsAnsweredBy } from '../../../store/sql/agent/claim/expired-claims.ts'
import { countFactChanges, readSetsOfFacts } from '../../../store/sql/memory/profile/user-progress.ts'
import { readSubjectsOfFacts } from '../../../store/sql/memory/fact/due-facts.ts'
import { readFactsFrom, readSupersededBy, removeSources } from '../../../store/sql/memory/fact/fact-sources.ts'
import { clearDecisions } from '../../../store/sql/agent/approval/approvals.ts'
import { deleteAttachmentsAt } from '../../../store/sql/conversation/attachment/attachments.ts'
import type { Tx } from '../../../store/db/db.ts'
import { cancelApprovals } from '../../agent/run/approval/request-approvals.ts'
import type { PrepareDelete } from './derivative-steps.ts'

/** Versions of turns to erase: all versions at some positions of one conversation, whose journal is locked. */
export type ErasedTurns = { tenant: string; conversationId: string; turns: readonly TurnToErase[] }

/** Erases one kind of data. Returns the same as PrepareDelete. */
export type PrepareErase = (tx: Tx, erased: ErasedTurns) => ReturnType<PrepareDelete>

const idsOf = ({ turns }: ErasedTurns) => turns.map(({ id }) => id)
const positionsOf = ({ turns }: ErasedTurns) => [...new Set(turns.map(({ position }) => position))]
/** Positions of turns without an audience: only these are counted, summarised and used for titles. */
const publicPositionsOf = ({ turns, ...rest }: ErasedTurns) =>
  positionsOf({ ...rest, turns: turns.filter(({ isPublic }) => isPublic) })

/** Subtracts the newest versions from the journal's totals, which count committed turns without an audience. */
export const uncount: PrepareErase = async (tx, { conversationId, turns }) => {
  const counted = turns.filter(({ isPublic, isNewest, status }) => isPublic && isNewest && status === 'COMMITTED')
  if (counted.length > 0) {
    await tx.journal.update({
      where: { conversationId },
      data: {
        turnCount: { decrement: counted.length },
        tokenCount: { decrement: counted.reduce((sum, { tokenCount }) => sum + tokenCount, 0) },
      },
    })
  }
  return { rows: 0 }
}

export const clearTitle: PrepareErase = async (tx, erased) => {
  const positions = publicPositionsOf(erased)
  return { rows: positions.length > 0 ? await clearAutomaticTitle(tx, erased.conversationId, positions) : 0 }
}

export const eraseTurnContent: PrepareErase = async (tx, erased) => ({
  rows: await eraseContent(tx, erased.conversationId, idsOf(erased)),
})

export const eraseToolCalls: PrepareErase = async (tx, erased) => ({
  rows: await deleteToolCalls(tx, erased.conversationId, idsOf(erased)),
})

export const eraseToolResults: PrepareErase = async (tx, erased) => ({
  rows: await deleteToolResults(tx, erased.conversationId, idsOf(erased)),
})

export const eraseAttachments: PrepareErase = async (tx, erased) => ({
  rows: await deleteAttachmentsAt(tx, erased.conversationId, positionsOf(erased)),
})

export const eraseWakeUps: PrepareErase = async (tx, erased) => ({
  rows: await deleteWakeUps(tx, erased.conversationId, positionsOf(erased)),
})

/** Cancels the pending approvals of calls in the turns, and clears the texts of all decisions about them. */
export const eraseApprovals: PrepareErase = async (tx, erased) => {
  const turnIds = idsOf(erased)
  await cancelApprovals(tx, { turnId: { in: turnIds } })
  return { rows: await clearDecisions(tx, turnIds) }
}

export const endStreams: PrepareErase = async (tx, erased) => ({ rows: await deleteStreams(tx, idsOf(erased)) })

/** Expires the claims that erased open turns keep, because these will not answer. endExpiredClaims ends the claims. */
export const expireClaims: PrepareErase = async (tx, erased) => {
  await expireClaimsAnsweredBy(tx, idsOf(erased))
  return { rows: 0 }
}

export const eraseVectors: PrepareErase = async (tx, erased) => ({
  rows: await deleteVectors(tx, erased.conversationId, positionsOf(erased)),
})

export const eraseSummaries: PrepareErase = async (tx, erased) => {
  const positions = publicPositionsOf(erased)
  return { rows: positions.length > 0 ? await deleteSummaries(tx, erased.conversationId, positions) : 0 }
}

/**
 * Removes the versions from the sources of facts. A fact without another source is deleted, and the facts that it
 * superseded become active again. The caller has locked the journals of the facts' conversations.
 */
export const eraseFacts: PrepareErase = async (tx, erased) => {
  const source = { turnIds: idsOf(erased) }
  await deleteFormerSources(tx, erased.conversationId, source.turnIds)
  const facts = await lockFactsOfTurns(tx, source.turnIds)
  if (facts.length === 0) return { rows: 0 }
  await removeSources(tx, facts, source)
  return finishFacts(tx, facts, await readFactsFrom(tx, facts, source))
}

/**
 * Prepares the deletion of the facts `ended`, a subset of the locked `facts`. `finish` deletes them and reactivates the
 * facts that they superseded; run it after their profiles are deleted.
 */
export async function finishFacts(
  tx: Tx,
  facts: readonly string[],
  ended: readonly string[],
): ReturnType<PrepareDelete> {
  const superseded = await readSupersededBy(tx, ended)
  const users = await readSubjectsOfFacts(tx, [...facts, ...superseded])
  const sets = await readSetsOfFacts(tx, [...facts, ...superseded])
  return {
    rows: ended.length,
    users,
    async finish(after) {
      await deleteFacts(after, ended)
      const reactivated = await reactivateFacts(after, superseded)
      await countFactChanges(after, sets)
      return reactivated
    },
  }
}

/**
 * Deletes the profiles made from the facts to delete. Runs after `eraseFacts`, when only these facts still have sources
 * in the versions.
 */
export const eraseProfiles: PrepareErase = async (tx, erased) => {
  const sources = await tx.factSource.findMany({ where: { turnId: { in: idsOf(erased) } }, select: { factId: true } })
  return {
    rows: await deleteProfilesOfFacts(
      tx,
      erased.tenant,
      sources.map(({ factId }) => factId),
    ),
  }
}
