// Finds the conversations that a filter by metadata or title can match, by the database functions that use the indexes
// conversation_metadata and conversation_title. Row-level security keeps other statements from using them.

import type { Pool } from '../../tenant-pool.ts'
import type { MetadataConditions } from '../metadata.ts'
import { containing } from '../sql.ts'

/**
 * Maximum number of candidates of one condition. A condition that more conversations of the tenant meet is tested while
 * the list is read in its order, which then finds matches soon.
 */
const MAX_CANDIDATES = 1_000
/** Minimum length of a text that the index of trigrams finds, in UTF-16 units. */
const TRIGRAM = 3

type Filter = { search?: string | null; metadata?: MetadataConditions | null }

/**
 * For each condition that few conversations of the tenant meet, the ids of all of them, visible to the viewer or not.
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
  if (search && search.length >= TRIGRAM)
    await find('find-titled', 'find_titled_conversations($1::text, $2::integer)', containing(search))
  for (const values of metadata?.containing ?? []) {
    const objects = values.map((value) => JSON.stringify(value))
    await find('find-described', 'find_described_conversations($1::jsonb[], $2::integer)', objects)
  }
  return found
}
