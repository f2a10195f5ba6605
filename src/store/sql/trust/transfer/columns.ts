// The columns that exports contain, by table. The lists of columns of every statement that exports or imports a row, and
// the schemas of the lines, are derived from these lists. Columns that a list omits are computed on import, or are not
// exported; docs/import-and-export.md names them.

import { raw, type Sql } from '../../kernel/sql.ts'

export type ColumnType =
  | 'text'
  | 'text[]'
  | 'integer'
  | 'integer[]'
  | 'bigint'
  | 'double precision'
  | 'boolean'
  | 'jsonb'
  | 'json'
  | 'timestamptz'
  | 'participant_kind'
  | 'conversation_visibility'
  | 'compaction_strategy'
  | 'retention'
  | 'entry_kind'
  | 'history_visibility'
  | 'respond'
  | 'role'
  | 'turn_status'
  | 'supersede_reason'
  | 'erasure_kind'

/**
 * A column, and the property of a line that contains its value. A property whose value is null is absent, and one whose
 * value is `fallback`. Without a fallback, a value is required unless `nullable`.
 */
export type Column = {
  readonly key: string
  readonly column: string
  readonly type: ColumnType
  readonly nullable?: boolean
  readonly fallback?: boolean | number | ''
}

type Options = Pick<Column, 'nullable' | 'fallback'>
const NULLABLE: Options = { nullable: true }

const snakeCase = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const column = (key: string, type: ColumnType, options: Options = {}, name = snakeCase(key)): Column => ({
  key,
  column: name,
  type,
  ...options,
})
const optional = (key: string, type: ColumnType, name?: string) => column(key, type, NULLABLE, name)
const flag = (key: string) => column(key, 'boolean', { fallback: false })

export const CONVERSATION: readonly Column[] = [
  column('id', 'text'),
  optional('key', 'text'),
  column('keyScope', 'text', { fallback: '' }),
  column('visibility', 'conversation_visibility'),
  column('owner', 'text'),
  optional('agentName', 'text'),
  optional('title', 'text'),
  column('automaticTitle', 'boolean', { fallback: true }),
  optional('titleFrom', 'integer'),
  optional('titleSeq', 'integer'),
  column('titleTried', 'integer', { fallback: 0 }),
  optional('systemPrompt', 'text'),
  column('metadata', 'jsonb'),
  column('triggerTurns', 'integer'),
  column('triggerTokens', 'integer'),
  optional('summarizerModel', 'text'),
  column('compactionStrategy', 'compaction_strategy'),
  flag('factExtraction'),
  column('retention', 'retention'),
  optional('expiresAt', 'timestamptz'),
  column('removedThrough', 'integer', { fallback: 0 }),
  flag('legalHold'),
  column('maxAgentTurns', 'integer'),
  column('version', 'integer'),
  column('createdAt', 'timestamptz'),
]

export const ENTRY: readonly Column[] = [
  column('seq', 'integer'),
  column('kind', 'entry_kind'),
  column('at', 'timestamptz'),
  optional('turnId', 'text'),
  optional('actor', 'text'),
  optional('summaryId', 'text'),
  optional('factIds', 'text[]'),
  optional('runId', 'text'),
  optional('approvalId', 'text'),
]

export const TURN: readonly Column[] = [
  column('id', 'text'),
  column('position', 'integer', {}, 'root_seq'),
  column('actor', 'text'),
  optional('authorKind', 'participant_kind'),
  column('role', 'role'),
  column('status', 'turn_status'),
  column('text', 'text'),
  optional('parts', 'jsonb'),
  optional('audience', 'text[]'),
  optional('mentions', 'text[]'),
  column('tokenCount', 'integer'),
  optional('promptTokens', 'integer'),
  optional('completionTokens', 'integer'),
  optional('model', 'text'),
  optional('adapter', 'text'),
  optional('traceId', 'text'),
  optional('citations', 'jsonb', 'sources'),
  flag('pinned'),
  optional('metadata', 'jsonb'),
  optional('clientId', 'text'),
  optional('clientHash', 'text'),
  optional('supersedes', 'text'),
  optional('replyToId', 'text'),
  optional('abortReason', 'text'),
  column('createdAt', 'timestamptz'),
  optional('importedAt', 'timestamptz'),
  optional('removedAt', 'timestamptz'),
  optional('contentHash', 'text'),
]

export const SUMMARY: readonly Column[] = [
  column('id', 'text'),
  column('level', 'integer'),
  column('fromPosition', 'integer', {}, 'from_seq'),
  column('toPosition', 'integer', {}, 'to_seq'),
  column('newestSeq', 'integer'),
  column('turns', 'integer'),
  column('turnTokens', 'bigint'),
  column('content', 'text'),
  column('tokenCount', 'integer'),
  optional('model', 'text'),
  optional('supersededBy', 'text'),
  flag('stale'),
  column('createdAt', 'timestamptz'),
]

export const PARTICIPANT: readonly Column[] = [
  column('actor', 'text'),
  column('kind', 'participant_kind'),
  optional('displayName', 'text'),
  column('historyVisibility', 'history_visibility', {}, 'history'),
  column('metadata', 'jsonb'),
  column('joinedAt', 'timestamptz'),
  optional('leftAt', 'timestamptz'),
  flag('removed'),
  flag('administrator'),
  column('lastReadSeq', 'integer', { fallback: 0 }),
  column('windows', 'integer[]'),
  flag('addressed'),
  column('respond', 'respond'),
  optional('agent', 'jsonb'),
]

/** Without a value, the value is null. */
export const SHARED_STATE: readonly Column[] = [
  column('key', 'text'),
  optional('value', 'json'),
  column('version', 'integer'),
  optional('schema', 'json'),
  optional('audience', 'text[]'),
  column('writers', 'text[]'),
  column('updatedBy', 'text'),
  column('createdAt', 'timestamptz'),
  column('updatedAt', 'timestamptz'),
]

export const ATTACHMENT: readonly Column[] = [
  column('id', 'text'),
  column('sha256', 'text'),
  column('bytes', 'integer'),
  column('mediaType', 'text'),
  optional('fileName', 'text'),
  optional('width', 'integer'),
  optional('height', 'integer'),
  column('uploadedBy', 'text'),
  optional('clientId', 'text'),
  column('position', 'integer'),
  column('createdAt', 'timestamptz'),
]

export const FACT: readonly Column[] = [
  column('id', 'text'),
  optional('userId', 'text'),
  optional('audience', 'text[]'),
  column('saidBy', 'participant_kind'),
  optional('assertedBy', 'text'),
  column('subject', 'text'),
  column('predicate', 'text'),
  column('object', 'text'),
  column('confidence', 'double precision'),
  column('tokenCount', 'integer'),
  column('observedAt', 'timestamptz'),
  optional('importedAt', 'timestamptz'),
  optional('validFrom', 'timestamptz'),
  optional('validTo', 'timestamptz'),
  column('createdAt', 'timestamptz'),
  optional('supersededBy', 'text'),
  optional('supersededAt', 'timestamptz'),
  optional('supersedeReason', 'supersede_reason'),
  optional('supersedeNote', 'text'),
  optional('contradictedFrom', 'timestamptz'),
  optional('restoredAt', 'timestamptz'),
  optional('restoreNote', 'text'),
  optional('recalledAt', 'timestamptz'),
  column('recallDays', 'integer', { fallback: 0 }),
]

export const FACT_SOURCE: readonly Column[] = [
  column('source', 'text'),
  optional('conversationId', 'text'),
  optional('position', 'integer', 'root_seq'),
  optional('seq', 'integer'),
  optional('turnId', 'text'),
  column('saidBy', 'participant_kind'),
  optional('assertedBy', 'text'),
  column('confidence', 'double precision'),
  column('observedAt', 'timestamptz'),
  optional('importedAt', 'timestamptz'),
  column('assertions', 'integer'),
  column('createdAt', 'timestamptz'),
]

export const PROFILE: readonly Column[] = [
  column('userId', 'text'),
  column('visibility', 'text', { fallback: '' }),
  column('content', 'text'),
  column('tokenCount', 'integer'),
  column('madeBy', 'text'),
  column('madeOf', 'text[]'),
  column('claims', 'text[]'),
  column('updatedAt', 'timestamptz'),
]

export const ERASURE: readonly Column[] = [
  column('id', 'text'),
  column('kind', 'erasure_kind'),
  column('subject', 'text'),
  column('counts', 'jsonb'),
  column('createdAt', 'timestamptz'),
  column('completedAt', 'timestamptz'),
  column('document', 'text'),
  optional('signature', 'text'),
]

export const HELD_USER: readonly Column[] = [column('userId', 'text'), column('since', 'timestamptz')]

/** SELECT list of the columns of the table aliased `alias`, for rows that are read with `rowMode: 'array'`. */
export const selectList = (columns: readonly Column[], alias: string): Sql =>
  raw(
    columns
      .map(({ column: name, type }) => `${alias}.${name}${type === 'bigint' ? '::double precision' : ''}`)
      .join(', '),
  )

/** Names of the columns, as the target of an INSERT. */
export const names = (columns: readonly Column[]): Sql => raw(columns.map(({ column: name }) => name).join(', '))

/** The value of a column of the record `x` that `recordOf` defines, with its fallback. */
const valueOf = ({ key, fallback }: Column): string =>
  fallback === undefined ? `x."${key}"` : `coalesce(x."${key}", ${fallback === '' ? "''" : fallback})`

/** The values of the record `x` that `recordOf` defines, with their fallbacks. */
export const values = (columns: readonly Column[]): Sql => raw(columns.map(valueOf).join(', '))

/** Column definitions of jsonb_to_recordset for objects with the properties of the columns. */
export const recordOf = (columns: readonly Column[]): Sql =>
  raw(columns.map(({ key, type }) => `"${key}" ${type}`).join(', '))

/** Returns the object of a line: the properties of the values that begin at index `from` of the row. */
export function objectOf(columns: readonly Column[], row: readonly unknown[], from = 0): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const [index, { key, fallback }] of columns.entries()) {
    const value = row[from + index]
    if (value !== null && value !== fallback) object[key] = value
  }
  return object
}
