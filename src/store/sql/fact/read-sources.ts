// Reads the sources of facts that a viewer sees.

import type { Db } from '../../db.ts'
import type { FactRow } from './fact-columns.ts'
import { empty, named, raw, sql } from '../sql.ts'
import { views, visible } from '../visible.ts'

export type FactSourceRow = Pick<
  FactRow,
  'conversationId' | 'saidBy' | 'assertedBy' | 'confidence' | 'observedAt' | 'importedAt' | 'createdAt'
> & {
  factId: string
  /** Identifies the source among those of the fact: see `sourceOf` in fact-sources.ts. */
  source: string
  turnId: string | null
}

/** A position in the list of a fact's sources. */
export type SourcePosition = Pick<FactSourceRow, 'createdAt' | 'source'>

/**
 * The visible sources of the tenant's facts among the ids, at most `limit` of each fact, by fact and in the order in
 * which they were stored. Uses the primary key, and reads all sources of each fact.
 */
export const listSources = (
  db: Db,
  viewer: { tenant: string; actor: string },
  factIds: readonly string[],
  { limit, after }: { limit: number; after: SourcePosition | null },
): Promise<FactSourceRow[]> =>
  db.$queryRaw<FactSourceRow[]>`${named(after ? 'list-sources-after' : 'list-sources')}
    SELECT f.id AS "factId", s.* FROM fact f
    CROSS JOIN LATERAL (
      SELECT s.source, s.conversation_id AS "conversationId", s.turn_id AS "turnId", s.said_by AS "saidBy",
             s.asserted_by AS "assertedBy", s.confidence, s.observed_at AS "observedAt",
             s.imported_at AS "importedAt", s.created_at AS "createdAt"
      FROM fact_source s LEFT JOIN LATERAL (${views(viewer, raw('c.id = s.conversation_id'))}) v ON true
      WHERE s.fact_id = f.id AND (s.conversation_id IS NULL OR coalesce(${visible('s')}, false))
        ${after ? sql`AND (s.created_at, s.source) > (${after.createdAt}::timestamptz, ${after.source}::text)` : empty}
      ORDER BY s.created_at, s.source LIMIT ${limit}::integer) s
    WHERE f.id = ANY (${factIds}::text[]) AND f.tenant = ${viewer.tenant}::text
    ORDER BY f.id, s."createdAt", s.source`
