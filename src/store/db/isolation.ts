// Checks that row-level security applies to the server: its role cannot bypass it, and it is forced on every table that
// the role can read.

import type { Pool } from './tenant-pool.ts'

/** Row-level security would not isolate tenants. The message is the reason. */
class NotIsolated extends Error {
  override readonly name = 'NotIsolated'
}

/** Tables without tenants that the server may read, each with the reason. @internal Exported for tests. */
export const SHARED_TABLES: Readonly<Record<string, string>> = {
  embedder: 'Names and dimensions of models, which belong to no tenant.',
}

/** @throws NotIsolated */
export async function checkIsolation(pool: Pick<Pool, 'connect'>): Promise<void> {
  const client = await pool.connect().catch((cause: Error) => {
    throw new NotIsolated(`The database refused a role of the server: ${cause.message}. See docs/security.md.`, {
      cause,
    })
  })
  try {
    const { rows: roles } = await client.query<{ name: string; bypasses: boolean }>(
      'SELECT rolname AS name, rolsuper OR rolbypassrls AS bypasses FROM pg_roles WHERE rolname = current_user',
    )
    const [role] = roles
    if (role!.bypasses)
      throw new NotIsolated(
        `The server's role ${role!.name} can read the rows of every tenant, because it is a superuser or has `
          + 'BYPASSRLS. Run: ALTER ROLE colloquy_app NOSUPERUSER NOBYPASSRLS.',
      )
    const { rows: open } = await client.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c
       WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relname = ANY ($1::text[])
         AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
         AND has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
       ORDER BY 1`,
      [Object.keys(SHARED_TABLES)],
    )
    if (open.length > 0)
      throw new NotIsolated(
        `Row-level security is not forced on ${open.map(({ name }) => name).join(', ')}. For each of them, run: `
          + 'ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY.',
      )
  } finally {
    client.release()
  }
}
