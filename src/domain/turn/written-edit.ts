// What supersedeTurn hands to the function that updates the derivatives of an edited turn.

import type { Tx } from '../../store/db/db.ts'

/** A written edit: the fields of both versions from which derivatives are computed. */
export type WrittenEdit = {
  conversationId: string
  /** Whether the turn has no audience. Turns with an audience are neither counted nor summarised. */
  isPublic: boolean
  older: { id: string; position: number; isCommitted: boolean; tokenCount: number }
  /** The newer version is always committed. */
  newer: { tokenCount: number }
}

/**
 * Corrects or deletes the data derived from the older version, in the transaction that writes the newer version and
 * under the conversation's lock. Returns the ids of the facts that it superseded. src/deps.ts injects it, because this
 * folder must not import domain/trust/erasure.
 */
export type UpdateDerivatives = (tx: Tx, edit: WrittenEdit) => Promise<string[]>
