// The columns of a turn. The row type, the SELECT list and the conversion of positional rows are derived from COLUMNS.
// Add a new column to COLUMNS, and to prisma/schema.prisma with a migration.

import type { Role, TurnStatus } from '../../generated/enums.ts'
import { raw, type Sql } from '../kernel/sql.ts'

/** A column of the table turn, and the type of its values. */
const column = <Value>(name: string) => ({ name }) as { name: string; value?: Value }

const COLUMNS = {
  id: column<string>('id'),
  conversationId: column<string>('conversation_id'),
  seq: column<number>('seq'),
  position: column<number>('root_seq'),
  actor: column<string>('actor'),
  role: column<Role>('role'),
  status: column<TurnStatus>('status'),
  text: column<string>('text'),
  parts: column<unknown[] | null>('parts'),
  audience: column<string[] | null>('audience'),
  mentions: column<string[] | null>('mentions'),
  tokenCount: column<number>('token_count'),
  promptTokens: column<number | null>('prompt_tokens'),
  completionTokens: column<number | null>('completion_tokens'),
  model: column<string | null>('model'),
  adapter: column<string | null>('adapter'),
  traceId: column<string | null>('trace_id'),
  citations: column<unknown[] | null>('sources'),
  pinned: column<boolean>('pinned'),
  metadata: column<Record<string, unknown> | null>('metadata'),
  replyToId: column<string | null>('reply_to_id'),
  contextId: column<string | null>('context_id'),
  supersededBy: column<string | null>('superseded_by'),
  abortReason: column<string | null>('abort_reason'),
  createdAt: column<Date>('created_at'),
  importedAt: column<Date | null>('imported_at'),
  removedAt: column<Date | null>('removed_at'),
  contentHash: column<string | null>('content_hash'),
}

type Columns = typeof COLUMNS
export type TurnRow = { [Key in keyof Columns]: Exclude<Columns[Key]['value'], undefined> }

/** SELECT list of the turn aliased `t`, in the order that `turnOf` expects. */
export const TURN_COLUMNS: Sql = raw(
  Object.entries(COLUMNS)
    .map(([key, { name }]) => `t.${name} AS "${key}"`)
    .join(', '),
)

/**
 * SELECT list of the rows, aliased `t`, of a subquery that selects TURN_COLUMNS.
 * @param replaced the SQL of properties that are not selected as they are
 */
export const selectedColumns = (replaced: Partial<Record<keyof TurnRow, string>> = {}): Sql =>
  raw(
    Object.keys(COLUMNS)
      .map((key) => replaced[key as keyof TurnRow] ?? `t."${key}"`)
      .join(', '),
  )
export const SELECTED_COLUMNS: Sql = selectedColumns()

/**
 * Converts a row of TURN_COLUMNS that was read with `rowMode: 'array'`. Returns one object literal, compiled from
 * COLUMNS, because V8 creates it about three times as fast as it assigns properties by name (`npm run bench -- http`).
 */
// oxlint-disable-next-line typescript/no-implied-eval -- the source contains only the keys of COLUMNS
export const turnOf = new Function(
  'row',
  `return { ${Object.keys(COLUMNS)
    .map((key, index) => `${key}: row[${index}]`)
    .join(', ')} }`,
) as (row: readonly unknown[]) => TurnRow
