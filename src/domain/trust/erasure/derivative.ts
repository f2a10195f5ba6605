// The type of an entry in the register of derivatives (derivatives.ts): a table with data that comes from turns, and
// how the data is corrected or deleted.

import type { VectorSearch } from '../../../store/vectors/vector-search.ts'
import type { UpdateDerivatives } from '../../turn/version.ts'
import type { PrepareDelete } from './derivative-steps.ts'
import type { PrepareErase } from './erase-steps.ts'

export type Derivative = {
  table: string
  /** The stored data that comes from turns. */
  data: string
  onEdit: { how: string; update?: UpdateDerivatives }
  /** How the data is corrected or deleted when the content of all versions of a turn is erased. */
  onErase: { how: string; erase?: PrepareErase }
  onDelete: OnDelete
}

type OnDelete = {
  how: string
  /** Removes the conversation's data from the memory of this process. Called after the commit. */
  release?: (deps: { vectors: VectorSearch }, conversationId: string) => void
} & (
  | { by: 'STATEMENT'; prepare: PrepareDelete }
  /**
   * CASCADE: ON DELETE CASCADE deletes the rows with the conversation. KEPT: nothing deletes them. STATEMENT: `prepare`
   * deletes them.
   */
  | { by: 'CASCADE' | 'KEPT'; prepare?: PrepareDelete }
)

/** For rows that the database deletes together with the conversation. */
export const CASCADE = { how: 'Deleted with the conversation.', by: 'CASCADE' } as const
