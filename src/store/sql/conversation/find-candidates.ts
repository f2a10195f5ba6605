// Finds the conversations that can match a filter by metadata or title. Calls database functions that use the indexes
// conversation_metadata and conversation_title, because row-level security keeps other statements from using them.

import type { Pool } from '../../db/tenant-pool.ts'
import type { MetadataConditions } from '../kernel/metadata.ts'
import { containing } from '../kernel/sql.ts'

/**
 * Maximum number of candidates of one condition. If more conversations of the tenant meet the condition, the statement
 * that lists them tests each conversation instead; so many match that it reads only a small part of the list.
 */
const MAX_CANDIDATES = 1_000
/** Minimum length of a search text for which the trigram index is used, in UTF-16 units. */
const MIN_SEARCH_LENGTH = 3

type Filter = { search?: string | null; metadata?: MetadataConditions | null }

/**
 * For each condition that at most MAX_CANDIDATES conversations of the tenant meet, returns the ids of these
 * conversations, whether or not the viewer sees them. Omits other conditions.
 */
export async function findCandidates(pool: Pool, tenant: string, { search, metadata }: Filter): Promise<string[][]> {
  const found: string[][] = []
  const find = async (name: string, call: string, value: unknown) => {
    const { rows } = await pool.query<{ id: string }>({
      scope: tenant,
      name,
      text: `SELECT id FROM ${call} AS f(id)`,
      values: [value, MAX_CANDIDATES + 1],
    })
    if (rows.length <= MAX_CANDIDATES) found.push(rows.map(({ id }) => id))
  }
  if (search && search.length >= MIN_SEARCH_LENGTH)
    await find('find-conversations-by-title', 'find_conversations_by_title($1::text, $2::integer)', containing(search))
  for (const values of metadata?.containing ?? []) {
    const objects = values.map((value) => JSON.stringify(value))
    await find('find-conversations-by-metadata', 'find_conversations_by_metadata($1::jsonb[], $2::integer)', objects)
  }
  return found
}
