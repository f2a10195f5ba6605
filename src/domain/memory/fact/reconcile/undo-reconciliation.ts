// Undoes a reconciliation: a fact that was superseded as a duplicate or as contradicted becomes active again. The restored
// facts are kept apart from the facts that are known then (active-fact.ts), so that no later reconciliation repeats the
// undone one unless a new source asserts one of the facts.

import { z } from 'zod'
import { Conflict, InvalidInput, NotFound } from '../../../../errors.ts'
import type { Tx } from '../../../../store/db/db.ts'
import { lockFactsById, reactivateFacts } from '../../../../store/sql/trust/erasure/erased-facts.ts'
import type { FactRow, RatedFactRow } from '../../../../store/sql/memory/fact/fact-columns.ts'
import { updateSourceColumns } from '../../../../store/sql/memory/fact/fact-sources.ts'
import { addSourcesOf } from '../../../../store/sql/memory/fact/moved-facts.ts'
import { readFacts } from '../../../../store/sql/memory/fact/read-facts.ts'
import { markRestored, readFactRows, readMerge } from '../../../../store/sql/memory/fact/restored-facts.ts'
import { supersedeFacts } from '../../../../store/sql/memory/fact/facts.ts'
import { withTransaction } from '../../../../store/db/tx.ts'
import {
  authorize,
  isWithinReach,
  requireChange,
  requirePermits,
  requireWriter,
  trusted,
} from '../../../kernel/rights/authorize.ts'
import { kindOf } from '../../../kernel/id.ts'
import { parse, text } from '../../../kernel/input.ts'
import { redactInput } from '../../../kernel/redaction.ts'
import type { Viewer } from '../../../kernel/view.ts'
import type { FactDeps } from '../deps.ts'
import { contentHash as hashOf, type Statement } from '../content-hash.ts'
import { getFacts, toFact, type Fact } from '../fact.ts'
import { MAX_REASON } from '../record.ts'
import { appendFactsChanged, lockConversations } from '../write.ts'

const undoInput = z.object({ factId: z.string(), reason: text(MAX_REASON).nullish() })
export type UndoReconciliationInput = z.input<typeof undoInput>

export type UndoneReconciliation = {
  /** The fact, active. */
  fact: Fact
  /** The other facts that became active again, because the same merge had superseded them; only those that the viewer sees. */
  otherFacts: Fact[]
}

const wasReconciled = ({ supersedeReason }: FactRow) =>
  supersedeReason === 'DUPLICATED' || supersedeReason === 'CONTRADICTED'

/** Returns the hash of the statement, whatever its period. */
const hashOfStatement = ({ subject, predicate, object }: Statement) => hashOf({ subject, predicate, object })

/** Returns the fact if the viewer sees it. @throws NotFound */
async function findFact({ db }: FactDeps, viewer: Viewer, factId: string): Promise<RatedFactRow> {
  const [fact] = await readFacts(db.of(viewer.tenant), viewer, [factId])
  if (!fact || !isWithinReach(viewer, fact.conversationId)) throw new NotFound('fact', factId)
  return fact
}

/** @throws NotFound for the fact, NotAllowed */
async function requirePermitsFor({ db }: FactDeps, viewer: Viewer, fact: FactRow): Promise<void> {
  const { conversationId } = fact
  if (conversationId !== null) {
    // A viewer who sees the fact through another source must not learn the id of the conversation.
    await requireWriter(db.of(viewer.tenant), viewer, conversationId).catch((error) => {
      throw error instanceof NotFound ? new NotFound('fact', fact.id) : error
    })
  }
  if (fact.userId === viewer.actor) return
  const condition = conversationId === null ? 'factsOfTenant' : 'factsAboutOthers'
  await requirePermits(db.of(viewer.tenant), viewer, 'undoReconciliation', { conversationId, conditions: [condition] })
}

/**
 * Undoes a merge: the merged fact is superseded by the original with the same text and period, or else only the same
 * text, which gets its sources, and all originals are to become active. Without such an original, the merged fact stays
 * active. Returns the originals.
 */
async function splitMerge(tx: Tx, merged: FactRow, originals: readonly FactRow[], note: string | null) {
  const equal =
    originals.find(({ contentHash }) => contentHash === merged.contentHash)
    ?? originals.find((original) => hashOfStatement(original) === hashOfStatement(merged))
  if (equal) {
    await supersedeFacts(tx, [{ id: merged.id, by: equal.id, reason: 'UNDONE', note }])
    await addSourcesOf(tx, [{ id: merged.id, duplicateOf: equal.id }])
    await updateSourceColumns(tx, [equal.id])
  }
  return originals
}

/**
 * Makes the superseded fact active again. If the fact was merged into one that is active, undoes the whole merge;
 * otherwise, the fact that replaced it stays as it is. Returns the restored facts, or null if the fact changed since it
 * was read. @throws Conflict if an equal fact is active
 */
async function restore(deps: FactDeps, viewer: Viewer, fact: FactRow, note: string | null): Promise<FactRow[] | null> {
  const { tenant } = viewer
  const isMerge = fact.supersedeReason === 'DUPLICATED' && fact.supersededBy !== null
  const merge = isMerge ? await readMerge(deps.db, tenant, fact.supersededBy!) : { ids: [], conversationIds: [] }
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, [
      ...merge.conversationIds,
      ...(fact.conversationId ? [fact.conversationId] : []),
    ])
    const head = fact.conversationId === null ? null : heads.get(fact.conversationId)
    if (head) await requireChange(tx, viewer, fact.conversationId!, head)
    const ids = await lockFactsById(tx, [...new Set([...merge.ids, fact.id])])
    const rows = new Map((await readFactRows(tx, tenant, ids)).map((row) => [row.id, row]))
    const current = rows.get(fact.id)
    if (!current || current.supersededBy !== fact.supersededBy || current.supersededAt === null) return null
    const merged = isMerge ? rows.get(fact.supersededBy!) : undefined
    const isActive = merged !== undefined && merged.supersededAt === null
    const originals = [...rows.values()].filter(
      ({ supersededBy, supersedeReason }) => supersededBy === merged?.id && supersedeReason === 'DUPLICATED',
    )
    // A merge of equal facts cannot be undone, because equal facts are one fact.
    const isSplit = isActive && originals.some(({ contentHash }) => contentHash !== merged.contentHash)
    const ended = isSplit ? await splitMerge(tx, merged, originals, note) : [current]
    const restored = await reactivateFacts(
      tx,
      ended.map(({ id }) => id),
    )
    const restoredIds = new Set(restored.map(({ id }) => id))
    if (!restoredIds.has(fact.id)) throw new Conflict('An equal fact is active, so this one cannot be.')
    await markRestored(tx, [...restoredIds], note)
    const changed = [...ended, ...(isSplit ? [merged] : [])]
    await appendFactsChanged(
      deps,
      { tx, afterCommit },
      tenant,
      changed.filter(({ conversationId }) => conversationId === null || heads.has(conversationId)),
    )
    return ended.filter(({ id }) => restoredIds.has(id))
  })
}

/**
 * Undoes the reconciliation that superseded the fact, and stores the reason. A fact that is active does not change.
 * @throws NotFound @throws InvalidInput if the fact was superseded for another reason than a reconciliation
 * @throws Conflict if an equal fact is active
 * @throws NotAllowed if the fact belongs to a MEMBERS conversation that the viewer has left, or if rights.ts denies the
 * call
 */
export async function undoReconciliation(
  deps: FactDeps,
  viewer: Viewer,
  input: UndoReconciliationInput,
): Promise<UndoneReconciliation> {
  authorize(viewer, 'undoReconciliation')
  const { factId, reason } = await redactInput(deps, viewer, 'undoReconciliation', parse(undoInput, input))
  // Do not query with other texts: they may contain characters that the database rejects.
  if (kindOf(factId) !== 'fact') throw new NotFound('fact', factId)
  for (;;) {
    const fact = await findFact(deps, viewer, factId)
    await requirePermitsFor(deps, viewer, fact)
    if (fact.supersededAt === null) return { fact: toFact(fact), otherFacts: [] }
    if (!wasReconciled(fact)) throw InvalidInput.at('factId', 'was not superseded by a reconciliation')
    const restored = await restore(deps, viewer, fact, reason ?? null)
    if (!restored) continue
    const ids = restored.map(({ id }) => id)
    const seen = await getFacts(deps, trusted(viewer), ids)
    return {
      fact: seen.get(factId) ?? toFact(await findFact(deps, viewer, factId)),
      otherFacts: ids.flatMap((id) => (id === factId ? [] : (seen.get(id) ?? []))),
    }
  }
}
