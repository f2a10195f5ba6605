// Statements for the refresh of a profile: read the current profile and its facts that were superseded since, and write
// the new profile. Also used by jobs, so not limited to a view.

import type { Db, Tx } from '../../../db/db.ts'
import type { ProfileSet } from './user-progress.ts'
import { factVisible } from '../../kernel/visible.ts'

export type ProfileRow = {
  content: string
  /** The model that wrote the profile, or `rules`. */
  madeBy: string
  /** Ids of the facts that the profile was made from. */
  madeOf: string[]
  /** Ids of these facts that it quotes as claims. */
  claims: string[]
  updatedAt: Date
}

/** The profile of the set; null if there is none, or if a fact that it was made from was deleted. */
export async function readProfileRow(db: Db, { tenant, userId, visibility }: ProfileSet): Promise<ProfileRow | null> {
  const rows = await db.of(tenant).$queryRaw<
    ProfileRow[]
  >`SELECT p.content, p.made_by AS "madeBy", p.made_of AS "madeOf", p.claims, p.updated_at AS "updatedAt"
           FROM user_profile p
           WHERE p.tenant = ${tenant}::text AND p.user_id = ${userId}::text AND p.visibility = ${visibility}::text
             AND (SELECT count(*) FROM fact f WHERE f.id = ANY (p.made_of)) = cardinality(p.made_of)`
  return rows[0] ?? null
}

export type EndedFact = { id: string; subject: string; predicate: string; object: string }

/** The given facts that are superseded, or had ended at `now`, in order of id. Uses the primary key. */
export async function readEndedAmong(db: Db, tenant: string, ids: readonly string[], now: Date): Promise<EndedFact[]> {
  const rows = await db.of(tenant).$queryRaw<EndedFact[]>`SELECT f.id, f.subject, f.predicate, f.object FROM fact f
           WHERE f.id = ANY (${ids}::text[]) AND (f.superseded_at IS NOT NULL OR f.valid_to <= ${now}::timestamptz)
           ORDER BY f.id`
  return rows
}

type NewProfile = Omit<ProfileRow, 'updatedAt'> & { tokenCount: number }

/**
 * Replaces the profile whose `updatedAt` was `before`; null if there was none. Returns false if the profile has changed
 * since, or if a fact of the new profile was deleted. Locks the facts of the new profile against deletion until the
 * transaction ends.
 */
export async function writeProfile(
  tx: Tx,
  { tenant, userId, visibility }: ProfileSet,
  before: Date | null,
  profile: NewProfile,
): Promise<boolean> {
  const kept = await tx.$queryRaw<{ id: string }[]>`
    SELECT f.id FROM fact f WHERE f.id = ANY (${profile.madeOf}::text[]) ORDER BY f.content_hash, f.id FOR KEY SHARE`
  if (kept.length < profile.madeOf.length) return false
  return (
    1
    === (await tx.$executeRaw`
    INSERT INTO user_profile AS p (tenant, user_id, visibility, content, token_count, made_by, made_of, claims, updated_at)
    VALUES (${tenant}::text, ${userId}::text, ${visibility}::text, ${profile.content}::text, ${profile.tokenCount}::integer,
            ${profile.madeBy}::text, ${profile.madeOf}::text[], ${profile.claims}::text[], clock_timestamp())
    ON CONFLICT (tenant, user_id, visibility) DO UPDATE
    SET content = excluded.content, token_count = excluded.token_count, made_by = excluded.made_by,
        made_of = excluded.made_of, claims = excluded.claims,
        updated_at = greatest(excluded.updated_at, p.updated_at + interval '1 millisecond')
    WHERE p.updated_at = ${before}::timestamptz
       OR (${before}::timestamptz IS NULL AND EXISTS (
         SELECT FROM unnest(p.made_of) AS m(id) WHERE NOT EXISTS (SELECT FROM fact f WHERE f.id = m.id)))`)
  )
}

/**
 * Deletes the profile of a set without facts, and keeps its text for reads as of an earlier time. Returns false if the
 * profile has changed since `before`.
 */
export async function deleteProfile(
  tx: Tx,
  { tenant, userId, visibility }: ProfileSet,
  before: Date | null,
): Promise<boolean> {
  if (before === null) return true
  return (
    1
    === (await tx.$executeRaw`
    WITH gone AS (
      DELETE FROM user_profile p
      WHERE p.tenant = ${tenant}::text AND p.user_id = ${userId}::text AND p.visibility = ${visibility}::text
        AND p.updated_at = ${before}::timestamptz RETURNING p.*)
    INSERT INTO former_state (tenant, relation, key, user_id, until, state)
    SELECT g.tenant, 'user_profile', concat_ws(' ', g.tenant, g.user_id, g.visibility), g.user_id, clock_timestamp(),
           to_jsonb(g)
    FROM gone g`)
  )
}

/**
 * The visibility sets of the active facts about the user that the viewer sees, at most `limit`, those with the newest
 * facts first. Uses the index fact_user, and reads all active facts about the user.
 */
export async function readSetsSeen(
  db: Db,
  viewer: { tenant: string; actor: string },
  userId: string,
  limit: number,
): Promise<string[]> {
  const rows = await db.of(viewer.tenant).$queryRaw<{ visibility: string }[]>`
    SELECT f.visibility FROM fact f
    WHERE f.user_id = ${userId}::text AND f.superseded_at IS NULL AND ${factVisible(viewer)}
    GROUP BY f.visibility ORDER BY max(f.created_at) DESC, f.visibility LIMIT ${limit}::integer`
  return rows.map(({ visibility }) => visibility)
}
