// Records that an API key was used, by its primary key.

import type { Pool } from '../../../db/tenant-pool.ts'

/** Writes nothing if another process has recorded a use within the last minute. */
export async function markApiKeyUsed(pool: Pool, { tenant, id }: { tenant: string; id: string }): Promise<void> {
  await pool.query({
    scope: tenant,
    name: 'mark-api-key-used',
    text: `UPDATE api_key SET last_used_at = now()
      WHERE id = $1::text AND tenant = $2::text
        AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
    values: [id, tenant],
  })
}
