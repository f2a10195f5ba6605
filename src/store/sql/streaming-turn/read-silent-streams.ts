// Finds open turns whose writer has not renewed the lease, for the sweep that aborts them. Reads all streams, and the
// last chunk of each, by the primary key of chunk.

import type { Db } from '../../db.ts'

/**
 * Open turns of any tenant whose writer has been silent for over `silentMs`. Longest silence first, at most `limit`.
 */
export const readSilentStreams = (
  db: Db,
  silentMs: number,
  limit: number,
): Promise<{ tenant: string; id: string }[]> => db.$queryRaw<{ tenant: string; id: string }[]>`
  SELECT c.tenant, t.id
  FROM stream s
  JOIN turn t ON t.id = s.turn_id
  JOIN conversation c ON c.id = t.conversation_id
  LEFT JOIN LATERAL (
    SELECT k.written_at FROM chunk k WHERE k.turn_id = s.turn_id ORDER BY k.start DESC LIMIT 1) k ON true
  WHERE greatest(s.renewed_at, k.written_at) < now() - make_interval(secs => ${silentMs}::double precision / 1000)
  ORDER BY greatest(s.renewed_at, k.written_at) LIMIT ${limit}::integer`
