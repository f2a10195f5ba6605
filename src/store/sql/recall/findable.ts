// Which turns a search may find: committed, in the viewer's view, the newest version there, and as the search asks.

import type { SearchFilter } from '../../vector-search.ts'
import { newest, views, visible } from '../visible.ts'

/** Values for the five parameters that `meets` names. */
export const filterValues = ({ actors, roles, since, until, metadata }: SearchFilter): unknown[] => [
  actors ?? null,
  roles ?? null,
  since ?? null,
  until ?? null,
  metadata ? JSON.stringify(metadata) : null,
]

/** Whether a filter asks for anything. */
export const asksAnything = (filter: SearchFilter): boolean => filterValues(filter).some((value) => value !== null)

/** Whether turn `t` was said by whom, as what and with what metadata the filter asks for, whenever it was said. */
export const saidAs = (first: number, t = 't'): string => `(
  ($${first}::text[] IS NULL OR ${t}.actor = ANY ($${first}::text[]))
  AND ($${first + 1}::role[] IS NULL OR ${t}.role = ANY ($${first + 1}::role[]))
  AND ($${first + 4}::jsonb IS NULL OR ${t}.metadata @> $${first + 4}::jsonb))`

/** Whether turn `t` meets the filter whose values are the parameters from `$first` on. */
export const meets = (first: number, t = 't'): string => `(
  ${saidAs(first, t)}
  AND ($${first + 2}::timestamptz IS NULL OR ${t}.created_at >= $${first + 2}::timestamptz)
  AND ($${first + 3}::timestamptz IS NULL OR ${t}.created_at < $${first + 3}::timestamptz))`

/**
 * A lateral subquery of one row where the viewer may find the turn at the place of `x (conversation_id, root_seq,
 * seq)`, else of none. By the keys of conversation and participant and the index turn_place; its LIMIT keeps the
 * planner from turning the join around, so that rows of `x` are asked for in their order, and only as many as needed.
 */
export const findableAt = (x: string, tenant: string, actor: string, filter: number): string => `LATERAL (
  SELECT true
  FROM (${views(tenant, actor, `c.id = ${x}.conversation_id`)}) v
  JOIN turn t ON t.conversation_id = v.id AND t.root_seq = ${x}.root_seq AND t.seq = ${x}.seq
  WHERE t.status = 'COMMITTED' AND ${visible()} AND ${newest()} AND ${meets(filter)}
  LIMIT 1)`
