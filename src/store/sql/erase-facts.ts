// What goes with the facts of a room that is deleted, inside the transaction that deletes it: its journal is locked.

import type { Tx } from '../db.ts'

/** Locks the facts of a room, superseded or not, in the order in which writers lock them; how many there are. */
export async function lockFactsOfRoom(tx: Tx, room: string): Promise<number> {
  const [row] = await tx.$queryRaw<[{ facts: number }]>`
    SELECT count(*)::integer AS facts FROM (
      SELECT FROM fact f WHERE f.conversation_id = ${room}::text ORDER BY f.content_hash, f.id FOR UPDATE) locked`
  return row.facts
}

/** Deletes the tenant's profiles that tell of any fact of that room; how many. Looks at each profile of the tenant. */
export async function deleteProfilesOfRoom(tx: Tx, tenant: string, room: string): Promise<number> {
  return tx.$executeRaw`
    DELETE FROM user_profile p
    WHERE p.tenant = ${tenant}::text AND EXISTS (
      SELECT FROM fact f WHERE f.id = ANY (p.made_of) AND f.conversation_id = ${room}::text)`
}
