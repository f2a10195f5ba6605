// Decides which process creates the first API key of a tenant.

import type { Tx } from '../../../db/db.ts'

/**
 * Locks the creation of first keys until the transaction ends. Returns whether the tenant has no key, not even a
 * revoked one.
 */
export async function lockFirstApiKey(tx: Tx, tenant: string): Promise<boolean> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('colloquy first api key'))`
  const rows = await tx.$queryRaw<{ found: boolean }[]>`
    SELECT EXISTS (SELECT FROM api_key WHERE tenant = ${tenant}::text) AS found`
  return !rows[0]!.found
}
