// Compares a streaming replica with its primary. Named statements, because each read that may use the replica runs two
// of them, by primary key.

import { SYSTEM } from '../../db/scope.ts'
import type { Pool } from '../../db/tenant-pool.ts'

/**
 * The position that a replica must have replayed: the journal of a conversation up to a seq, or the write-ahead log up
 * to a location.
 */
export type Position = { conversationId: string; seq: number } | { conversationId: null; location: string }

/** Whether the replica is a standby of the primary's server, connected to the same database. */
export async function isSamePrimary(primary: Pool, replica: Pool): Promise<boolean> {
  const identify = (pool: Pool) =>
    pool.query<{ server: string; database: string; isStandby: boolean }>({
      scope: SYSTEM,
      text: `
        SELECT (SELECT system_identifier::text FROM pg_control_system()) AS server, current_database() AS database,
          pg_is_in_recovery() AS "isStandby"`,
    })
  const [ours, theirs] = (await Promise.all([identify(primary), identify(replica)])).map(({ rows }) => rows[0]!)
  return theirs!.isStandby && theirs!.server === ours!.server && theirs!.database === ours!.database
}

/**
 * Reads the current position of the primary, which includes all commits that it acknowledged before. Null if the tenant
 * has no such conversation.
 * @param conversationId null for the location of the write-ahead log
 */
export async function readPosition(
  primary: Pool,
  tenant: string,
  conversationId: string | null,
): Promise<Position | null> {
  if (conversationId === null) {
    const { rows } = await primary.query<{ location: string }>({
      scope: tenant,
      name: 'read-replica-location',
      text: 'SELECT pg_current_wal_flush_lsn()::text AS location',
      values: [],
    })
    return { conversationId: null, location: rows[0]!.location }
  }
  const { rows } = await primary.query<{ seq: number }>({
    scope: tenant,
    name: 'read-replica-seq',
    text: 'SELECT last_seq AS seq FROM journal WHERE conversation_id = $1 AND tenant = $2',
    values: [conversationId, tenant],
  })
  return rows[0] ? { conversationId, seq: rows[0].seq } : null
}

/** Whether the replica has replayed the position. False once it has become a primary itself. */
export async function hasReplayed(replica: Pool, tenant: string, position: Position): Promise<boolean> {
  const { rows } = await replica.query<{ isReplayed: boolean | null }>(
    position.conversationId === null
      ? {
          scope: tenant,
          name: 'has-replayed-location',
          text: 'SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= $1::pg_lsn AS "isReplayed"',
          values: [position.location],
        }
      : {
          scope: tenant,
          name: 'has-replayed-seq',
          text: `
            SELECT pg_is_in_recovery() AND last_seq >= $2 AS "isReplayed"
            FROM journal WHERE conversation_id = $1 AND tenant = $3`,
          values: [position.conversationId, position.seq, tenant],
        },
  )
  return rows[0]?.isReplayed === true
}
