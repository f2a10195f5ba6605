// Finds open turns whose writer no longer renews the lease, for the sweep that aborts them. Scans the table stream, and
// reads the last chunk of each streaming turn by the primary key of chunk.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'

/** `leaseMs` is the duration of the turn's lease. */
export type SilentStream = { tenant: string; id: string; leaseMs: number }

/**
 * Open turns whose lease has expired: it was last renewed (by a heartbeat or a delta) longer ago than its duration. At
 * most `limit`. Takes the tenants in rotation, the turn of each that has been silent longest first, so that one tenant's
 * turns do not delay another's.
 * @param defaultMs duration of a lease that was not given on opening
 * @param maxLeaseMs omits turns with a longer lease; null for none
 */
export const readSilentStreams = (
  db: Db,
  { defaultMs, maxLeaseMs }: { defaultMs: number; maxLeaseMs: number | null },
  limit: number,
): Promise<SilentStream[]> => db.of(SYSTEM).$queryRaw<SilentStream[]>`
  SELECT x.tenant, x.id, x.lease_ms AS "leaseMs"
  FROM (
    SELECT s.tenant, s.turn_id AS id, l.lease_ms, greatest(s.renewed_at, k.written_at) AS heard_at,
           row_number() OVER (PARTITION BY s.tenant ORDER BY greatest(s.renewed_at, k.written_at)) AS place
    FROM stream s
    CROSS JOIN LATERAL (SELECT coalesce(s.lease_seconds * 1000, ${defaultMs}::integer) AS lease_ms) l
    LEFT JOIN LATERAL (
      SELECT k.written_at FROM chunk k WHERE k.turn_id = s.turn_id AND k.part = 0 ORDER BY k.start DESC LIMIT 1) k ON true
    WHERE greatest(s.renewed_at, k.written_at) < now() - make_interval(secs => l.lease_ms / 1000.0)
      AND l.lease_ms <= coalesce(${maxLeaseMs}::double precision, 'Infinity')) x
  ORDER BY x.place, x.heard_at LIMIT ${limit}::integer`
