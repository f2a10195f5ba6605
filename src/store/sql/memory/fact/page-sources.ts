// Reads the sources of facts that a viewer sees.

import type { Db } from '../../../db/db.ts'
import type { FactRow } from './fact-columns.ts'
import { empty, raw, sql } from '../../kernel/sql.ts'
import { views, visible } from '../../kernel/visible.ts'

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

type SourceBounds = { limit: number; after: SourcePosition | null; before: SourcePosition | null; backwards: boolean }

/**
 * Returns the visible sources of the given facts of the tenant: at most `limit` per fact, grouped by fact, in the order
 * of `createdAt`, or newest first if `backwards`. Uses the primary key, and reads all sources of each fact.
 */
export function pageSources(
  db: Db,
  viewer: { tenant: string; actor: string },
  factIds: readonly string[],
  { limit, after, before, backwards }: SourceBounds,
): Promise<FactSourceRow[]> {
  const direction = raw(backwards ? 'DESC' : 'ASC')
  const place = ({ createdAt, source }: SourcePosition) => sql`(${createdAt}::timestamptz, ${source}::text)`
  return db.of(viewer.tenant).$queryRaw<FactSourceRow[]>`
    SELECT f.id AS "factId", s.* FROM fact f
    CROSS JOIN LATERAL (
      SELECT s.source, s.conversation_id AS "conversationId", s.turn_id AS "turnId", s.said_by AS "saidBy",
             s.asserted_by AS "assertedBy", s.confidence, s.observed_at AS "observedAt",
             s.imported_at AS "importedAt", s.created_at AS "createdAt"
      FROM fact_source s LEFT JOIN LATERAL (${views(viewer, raw('c.id = s.conversation_id'))}) v ON true
      WHERE s.fact_id = f.id AND (s.conversation_id IS NULL OR coalesce(${visible('s')}, false))
        ${after ? sql`AND (s.created_at, s.source) > ${place(after)}` : empty}
        ${before ? sql`AND (s.created_at, s.source) < ${place(before)}` : empty}
      ORDER BY s.created_at ${direction}, s.source ${direction} LIMIT ${limit}::integer) s
    WHERE f.id = ANY (${factIds}::text[]) AND f.tenant = ${viewer.tenant}::text
    ORDER BY f.id, s."createdAt" ${direction}, s.source ${direction}`
}
