// The condition that application-defined metadata matches a filter. domain/kernel/metadata-filter.ts compiles filters.

import { raw, sql, type Bound, type Sql } from './sql.ts'

/** One condition on the value at a path of object keys. metadata_matches evaluates it. */
export type MetadataCondition = {
  path: readonly string[]
  /** An object with an object at each key of the path but the last. */
  parents: unknown
  operator: 'equals' | 'contains' | 'exists' | 'in' | 'range'
  operand: unknown
  /** The type of the bounds of a range: number or string; null for other operators. */
  type: string | null
}

/** Compiled conditions, all of which must be met. */
export type MetadataConditions = {
  conditions: readonly MetadataCondition[]
  /**
   * For some conditions, the values of which metadata must contain at least one. The index by containment finds them.
   */
  containing: readonly (readonly unknown[])[]
}

/** Returns the conditions as the parameter of `metadataMatches`; null if there are none. */
export const printConditions = (filter: MetadataConditions | null | undefined): string | null =>
  filter ? JSON.stringify(filter.conditions) : null

/** Whether the column meets the printed conditions; true if they are null. */
export const metadataMatches = (column: string, conditions: Bound<string | null>): Sql =>
  sql`(${conditions}::jsonb IS NULL OR metadata_matches(${raw(column)}, ${conditions}::jsonb))`
