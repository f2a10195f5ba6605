// The conditions on turns that a search may return: committed turns that match the filter, each in the newest version
// that the viewer sees.

import type { SearchFilter } from '../../../vectors/vector-search.ts'
import { metadataMatches, printConditions } from '../../kernel/metadata.ts'
import { parameter, raw, sql, type Bound, type Sql } from '../../kernel/sql.ts'
import { newest, views, visible, type BoundViewer } from '../../kernel/visible.ts'

/** The conditions of a filter, as values or as parameters of the statement. A null value means no condition. */
export type BoundFilter = {
  actors: Bound<readonly string[] | null>
  roles: Bound<readonly string[] | null>
  since: Bound<Date | null>
  until: Bound<Date | null>
  /** Printed conditions. */
  metadata: Bound<string | null>
  writtenBy: Bound<Date | null>
}

export const filterOf = ({ actors, roles, since, until, metadata, writtenBy }: SearchFilter): BoundFilter => ({
  actors: actors ?? null,
  roles: roles ?? null,
  since: since ?? null,
  until: until ?? null,
  metadata: printConditions(metadata),
  writtenBy: writtenBy ?? null,
})

/** The filter as six parameters of a statement for pg, starting at $`first`; `filterValues` returns their values. */
export const filterParameters = (first: number): BoundFilter => ({
  actors: parameter(first),
  roles: parameter(first + 1),
  since: parameter(first + 2),
  until: parameter(first + 3),
  metadata: parameter(first + 4),
  writtenBy: parameter(first + 5),
})

export const filterValues = (filter: SearchFilter): unknown[] => {
  const { actors, roles, since, until, metadata, writtenBy } = filterOf(filter)
  return [actors, roles, since, until, metadata, writtenBy]
}

/** Whether a filter has any condition. */
export const hasConditions = (filter: SearchFilter): boolean => filterValues(filter).some((value) => value !== null)

/** Whether the actor, role and metadata of turn `t` match the filter. Does not check the time. */
export const matchesAuthor = ({ actors, roles, metadata }: BoundFilter, t = 't'): Sql => sql`(
  (${actors}::text[] IS NULL OR ${raw(t)}.actor = ANY (${actors}::text[]))
  AND (${roles}::role[] IS NULL OR ${raw(t)}.role = ANY (${roles}::role[]))
  AND ${metadataMatches(`${t}.metadata`, metadata)})`

/** Whether the first version of turn `t` was written by that time. Uses the primary key of entry. */
const matchesWriting = ({ writtenBy }: BoundFilter, t: string): Sql => sql`(
  ${writtenBy}::timestamptz IS NULL OR (
    SELECT e.at FROM entry e WHERE e.conversation_id = ${raw(t)}.conversation_id AND e.seq = ${raw(t)}.root_seq
  ) <= ${writtenBy}::timestamptz)`

/** Whether turn `t` matches the filter. */
export const matches = (filter: BoundFilter, t = 't'): Sql => sql`(
  ${matchesAuthor(filter, t)}
  AND (${filter.since}::timestamptz IS NULL OR ${raw(t)}.created_at >= ${filter.since}::timestamptz)
  AND (${filter.until}::timestamptz IS NULL OR ${raw(t)}.created_at < ${filter.until}::timestamptz)
  AND ${matchesWriting(filter, t)})`

/**
 * A lateral subquery that returns one row if the viewer may find the turn `x (conversation_id, root_seq, seq)`, else
 * none. Uses the keys of conversation and participant and the index turn_place. Its LIMIT prevents the planner from
 * reversing the join, so that the rows of `x` are looked up in order, and only as many as needed.
 */
export const findableAt = (x: string, viewer: BoundViewer, filter: BoundFilter): Sql => sql`LATERAL (
  SELECT true
  FROM (${views(viewer, raw(`c.id = ${x}.conversation_id`))}) v
  JOIN turn t ON t.conversation_id = v.id AND t.root_seq = ${raw(x)}.root_seq AND t.seq = ${raw(x)}.seq
  WHERE t.status = 'COMMITTED' AND ${visible()} AND ${newest()} AND ${matches(filter)}
  LIMIT 1)`
