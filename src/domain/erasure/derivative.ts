// One entry of the register of derivatives: a table, and how its data is corrected or deleted.

import type { VectorSearch } from '../../store/vector-search.ts'
import type { UpdateDerivatives } from '../turn/supersede.ts'
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
  /** Releases the data that this process has in memory. Called after the commit. */
  release?: (deps: { vectors: VectorSearch }, conversationId: string) => void
} & (
  | { by: 'STATEMENT'; prepare: PrepareDelete }
  /**
   * CASCADE: ON DELETE CASCADE deletes the rows with the conversation. KEPT: nothing deletes them. STATEMENT: `prepare`
   * deletes them.
   */
  | { by: 'CASCADE' | 'KEPT'; prepare?: PrepareDelete }
)

/** The rows go with the conversation. */
export const CASCADE = { how: 'Deleted with the conversation.', by: 'CASCADE' } as const
