// Statements of the table mcp_session. Only the database's clock decides whether a session has expired.

import { SYSTEM } from '../../db/scope.ts'
import { sql } from './sql.ts'
import type { Db } from '../../db/db.ts'

/** The journal number up to which the client has been notified, by the URI of the resource. */
export type Subscriptions = Readonly<Record<string, number>>

/** The session of an actor. */
export type SessionKey = { id: string; tenant: string; actor: string }

/**
 * Creates a session, and deletes the sessions of the actor except the `keep` that expire last. Uses the index
 * mcp_session_actor.
 */
export async function insertSession(
  db: Db,
  { id, tenant, actor }: SessionKey,
  { seconds, keep }: { seconds: number; keep: number },
): Promise<void> {
  await db.of(tenant).$executeRaw`
    WITH surplus AS (
      SELECT id FROM mcp_session WHERE tenant = ${tenant}::text AND actor = ${actor}::text
      ORDER BY expires_at DESC OFFSET ${keep}::integer),
    deleted AS (DELETE FROM mcp_session WHERE id IN (SELECT id FROM surplus))
    INSERT INTO mcp_session (id, tenant, actor, expires_at)
    VALUES (${id}::text, ${tenant}::text, ${actor}::text, now() + make_interval(secs => ${seconds}::integer))`
}

/** Returns the session's subscriptions, and the seconds until it expires; null if there is no such session. */
export async function readSession(
  db: Db,
  { id, tenant, actor }: SessionKey,
): Promise<{ subscriptions: Subscriptions; seconds: number } | null> {
  const rows = await db.of(tenant).$queryRaw<{ subscriptions: Subscriptions; seconds: number }[]>(sql`
    SELECT subscriptions, extract(epoch FROM expires_at - now())::float8 AS seconds
    FROM mcp_session WHERE id = ${id}::text AND tenant = ${tenant}::text AND actor = ${actor}::text
      AND expires_at > now()`)
  return rows[0] ?? null
}

/** Postpones the expiry of a session. */
export async function renewSession(db: Db, { id, tenant }: SessionKey, seconds: number): Promise<void> {
  await db.of(tenant).$executeRaw`
    UPDATE mcp_session SET expires_at = now() + make_interval(secs => ${seconds}::integer) WHERE id = ${id}::text`
}

/** Adds or moves subscriptions, unless the session would have more than `limit`. Returns whether they were stored. */
export async function putSubscriptions(
  db: Db,
  { id, tenant }: SessionKey,
  subscriptions: Subscriptions,
  limit: number,
): Promise<boolean> {
  const updated = await db.of(tenant).$executeRaw`
    UPDATE mcp_session SET subscriptions = subscriptions || ${JSON.stringify(subscriptions)}::jsonb
    WHERE id = ${id}::text AND (SELECT count(*) FROM jsonb_object_keys(
      subscriptions || ${JSON.stringify(subscriptions)}::jsonb)) <= ${limit}::integer`
  return updated === 1
}

/** Moves the subscriptions that the session still has. */
export async function moveSubscriptions(
  db: Db,
  { id, tenant }: SessionKey,
  subscriptions: Subscriptions,
): Promise<void> {
  await db.of(tenant).$executeRaw`
    UPDATE mcp_session s SET subscriptions = s.subscriptions || coalesce((
      SELECT jsonb_object_agg(n.key, n.value) FROM jsonb_each(${JSON.stringify(subscriptions)}::jsonb) n
      WHERE s.subscriptions ? n.key), '{}')
    WHERE s.id = ${id}::text`
}

/** Removes a subscription. */
export async function removeSubscription(db: Db, { id, tenant }: SessionKey, uri: string): Promise<void> {
  await db.of(tenant).$executeRaw`
    UPDATE mcp_session SET subscriptions = subscriptions - ${uri}::text WHERE id = ${id}::text`
}

/** Deletes a session. */
export async function deleteSession(db: Db, { id, tenant }: SessionKey): Promise<void> {
  await db.of(tenant).$executeRaw`DELETE FROM mcp_session WHERE id = ${id}::text`
}

/** Deletes at most `limit` expired sessions of all tenants, and returns their number. Uses mcp_session_expires. */
export const deleteExpired = (db: Db, limit: number): Promise<number> => db.of(SYSTEM).$executeRaw`
  DELETE FROM mcp_session WHERE id IN (
    SELECT id FROM mcp_session WHERE expires_at <= now() ORDER BY expires_at LIMIT ${limit}::integer)`
