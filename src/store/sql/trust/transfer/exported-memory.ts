// Reads facts with their sources, profiles, receipts of erasures and legal holds of users for an export, whatever its
// viewers see. The objects have the properties of columns.ts.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { TransferScope } from '../../../generated/enums.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'
import { ERASURE, FACT, FACT_SOURCE, HELD_USER, objectOf, PROFILE, selectList } from './columns.ts'
import type { ConversationsOf, ExportedObject } from './exported-conversation.ts'

/** A fact in the order of an export: by its creation time and id. */
export type FactPlace = { createdAt: Date; id: string }

/** The conversations of each scope, as a condition on `s.conversation_id`; null for all sources, those without one included. */
const IN_SCOPE: Partial<Record<TransferScope, Sql | null>> = {
  CONVERSATION: raw('s.conversation_id = $2::text'),
  OWNER: raw('s.conversation_id IN (SELECT c.id FROM conversation c WHERE c.tenant = $1::text AND c.owner = $2::text)'),
  TENANT: null,
}

// The first source of a fact is the one that its row names; import makes the row from the first source of the line.
const factsOf = (condition: Sql | null) =>
  sql`
  SELECT ${selectList(FACT, 'f')}, ARRAY(
    SELECT jsonb_build_array(${selectList(FACT_SOURCE, 's')}) FROM fact_source s
    WHERE s.fact_id = f.id AND ${condition ?? raw('true')}
    ORDER BY (s.conversation_id IS NOT DISTINCT FROM f.conversation_id AND s.seq IS NOT DISTINCT FROM f.seq
              AND s.turn_id IS NOT DISTINCT FROM f.source_turn_id) DESC, s.created_at, s.source COLLATE "C")
  FROM fact f
  WHERE f.tenant = $1::text AND f.created_at <= $3::timestamptz AND (f.created_at, f.id) > ($4::timestamptz, $5::text)
    AND ${condition === null ? raw('$2::text IS NULL') : sql`f.id IN (SELECT s.fact_id FROM fact_source s WHERE ${condition})`}
  ORDER BY f.created_at, f.id LIMIT $6::integer`.text

const FACTS = Object.fromEntries(
  Object.entries(IN_SCOPE).map(([scope, condition]) => [scope, factsOf(condition)]),
) as Partial<Record<TransferScope, string>>

const toSource = (values: unknown[]): ExportedObject => {
  const source = objectOf(FACT_SOURCE, values)
  // Postgres prints times inside JSON in another format.
  for (const { key, type } of FACT_SOURCE) {
    if (type === 'timestamptz' && source[key] !== undefined) source[key] = new Date(source[key] as string)
  }
  return source
}

/** Converts a row of the columns FACT and a list of sources as JSON. */
export const factOf = (row: readonly unknown[]): ExportedObject => ({
  ...objectOf(FACT, row),
  sources: (row[FACT.length] as unknown[][]).map(toSource),
})

/** Facts after the place, in the order of creation, with those of their sources that are in the scope. */
export async function readFactsAfter(
  pool: Pool,
  { tenant, scope, subject, until }: ConversationsOf,
  after: FactPlace,
  limit: number,
): Promise<ExportedObject[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: tenant,
    name: `export-facts-${scope}`,
    rowMode: 'array',
    text: FACTS[scope]!,
    values: [tenant, subject, until, after.createdAt, after.id, limit],
  })
  return rows.map(factOf)
}

const PROFILES = sql`
  SELECT ${selectList(PROFILE, 'u')} FROM user_profile u
  WHERE u.tenant = $1::text AND (u.user_id || chr(10) || u.visibility) COLLATE "C" > $2::text COLLATE "C"
  ORDER BY (u.user_id || chr(10) || u.visibility) COLLATE "C" LIMIT $3::integer`.text
const HELD_USERS = sql`
  SELECT ${selectList(HELD_USER, 'h')} FROM held_user h
  WHERE h.tenant = $1::text AND h.user_id COLLATE "C" > $2::text COLLATE "C"
  ORDER BY h.user_id COLLATE "C" LIMIT $3::integer`.text
const ERASURES = sql`
  SELECT ${selectList(ERASURE, 'e')} FROM erasure e
  WHERE e.tenant = $1::text AND e.completed_at IS NOT NULL AND e.document IS NOT NULL
    AND e.id COLLATE "C" > $2::text COLLATE "C"
  ORDER BY e.id COLLATE "C" LIMIT $3::integer`.text

const LISTS = {
  profile: { text: PROFILES, columns: PROFILE },
  erasure: { text: ERASURES, columns: ERASURE },
  heldUser: { text: HELD_USERS, columns: HELD_USER },
}
export type ListName = keyof typeof LISTS

/**
 * Profiles, completed erasures or held users of the tenant after the key (the id, the user, or the user of a profile, a
 * line break and its visibility set), in the order of the code points of their keys.
 */
export async function readListAfter(
  pool: Pool,
  tenant: string,
  list: ListName,
  { after, limit }: { after: string; limit: number },
): Promise<ExportedObject[]> {
  const { text, columns } = LISTS[list]
  const { rows } = await pool.query<unknown[]>({
    scope: tenant,
    name: `export-${list}`,
    rowMode: 'array',
    text,
    values: [tenant, after, limit],
  })
  return rows.map((row) => objectOf(columns, row))
}
