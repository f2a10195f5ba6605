// Finds open turns whose writer no longer renews the lease, for the sweep that aborts them. Scans the table stream, and
// reads the last chunk of each streaming turn by the primary key of chunk.

import { SYSTEM } from '../../scope.ts'
import type { Db } from '../../db.ts'

/**
 * Open turns whose lease was last renewed (by a heartbeat or a chunk) more than `silentMs` ago, at most `limit`. Takes
 * the tenants in rotation, the oldest lease of each first, so that one tenant's turns do not delay another's.
 */
export const readSilentStreams = (
  db: Db,
  silentMs: number,
  limit: number,
): Promise<{ tenant: string; id: string }[]> => db.of(SYSTEM).$queryRaw<{ tenant: string; id: string }[]>`
  SELECT x.tenant, x.id
  FROM (
    SELECT s.tenant, s.turn_id AS id, greatest(s.renewed_at, k.written_at) AS heard_at,
           row_number() OVER (PARTITION BY s.tenant ORDER BY greatest(s.renewed_at, k.written_at)) AS place
    FROM stream s
    LEFT JOIN LATERAL (
      SELECT k.written_at FROM chunk k WHERE k.turn_id = s.turn_id ORDER BY k.start DESC LIMIT 1) k ON true
    WHERE greatest(s.renewed_at, k.written_at) < now() - make_interval(secs => ${silentMs}::double precision / 1000)) x
  ORDER BY x.place, x.heard_at LIMIT ${limit}::integer`
