// Runs the steps of the register of derivatives, in its order, which is the order of locks: journals, facts, profiles,
// stored contexts.

import type { Tx } from '../../../store/db/db.ts'
import type { Subject } from '../../../store/jobs/job-queue.ts'
import type { VectorSearch } from '../../../store/vectors/vector-search.ts'
import type { UpdateDerivatives } from '../../turn/version.ts'
import type { ChangedFact, DeletedConversation, PrepareDelete } from './derivative-steps.ts'
import type { Derivative } from './derivative.ts'
import { DERIVATIVES } from './derivatives.ts'
import type { ErasedTurns } from './erase-steps.ts'

/**
 * `rows`: number of removed rows by table, of tables whose rows are counted. `changed`: facts of other conversations
 * that became active again. `users`: users whose facts changed.
 */
export type Removed = { rows: ReadonlyMap<string, number>; changed: ChangedFact[]; users: Subject[] }

/** Updates every derivative of an edited turn. Returns the ids of the facts that became superseded. */
export const updateDerivatives: UpdateDerivatives = async (tx, edit) => {
  const factIds: string[] = []
  for (const { onEdit } of DERIVATIVES) factIds.push(...((await onEdit.update?.(tx, edit)) ?? []))
  return factIds
}

/**
 * Deletes the conversation's row and every derivative of its turns. The conversation's journal is locked.
 */
export async function deleteWithDerivatives(tx: Tx, deleted: DeletedConversation): Promise<Removed> {
  const prepared = await prepareAll(({ onDelete }) => onDelete.prepare?.(tx, deleted))
  await tx.conversation.delete({ where: { id: deleted.conversationId } })
  return prepared.finish(tx)
}

/**
 * Erases the content of the turn versions, and every derivative of it. The conversation's journal is locked.
 */
export async function eraseWithDerivatives(tx: Tx, erased: ErasedTurns): Promise<Removed> {
  const prepared = await prepareAll(({ onErase }) => onErase.erase?.(tx, erased))
  return prepared.finish(tx)
}

/** Runs the `prepare` step of each derivative in order. `finish` of the result runs their `finish` steps in order. */
async function prepareAll(prepare: (derivative: Derivative) => ReturnType<PrepareDelete> | undefined) {
  const rows = new Map<string, number>()
  const finishes: ((tx: Tx) => Promise<ChangedFact[]>)[] = []
  const users: Subject[] = []
  for (const derivative of DERIVATIVES) {
    const prepared = await prepare(derivative)
    if (prepared) rows.set(derivative.table, prepared.rows)
    if (prepared?.finish) finishes.push(prepared.finish)
    users.push(...(prepared?.users ?? []))
  }
  return {
    async finish(tx: Tx): Promise<Removed> {
      const changed: ChangedFact[] = []
      for (const finish of finishes) changed.push(...(await finish(tx)))
      return { rows, changed, users }
    },
  }
}

/**
 * Removes the data of a deleted or partly erased conversation from the memory of this process. Call it after the
 * commit.
 */
export function releaseDerivatives(deps: { vectors: VectorSearch }, conversationId: string): void {
  for (const { onDelete } of DERIVATIVES) onDelete.release?.(deps, conversationId)
}
