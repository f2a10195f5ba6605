// Partitions of the tables that grow with the turns, by a hash of the conversation: DATABASE_PARTITIONS chooses their
// number when a database is created. Statements do not depend on it, because the partitioned tables have the names,
// keys and policies of the plain ones. The partitions are made from the plain tables, as the migrations left them, so that
// there is one definition of each table.

import pg, { type PoolClient } from 'pg'

/** The partitioned tables. Their primary keys contain `conversation_id`. @internal Exported for tests. */
export const PARTITIONED_TABLES = [
  'turn',
  'entry',
  'turn_vector',
  'tool_call',
  'tool_result',
  'shared_state_change',
] as const

/** The number of partitions of the database differs from the setting. */
export class PartitionError extends Error {
  override readonly name = 'PartitionError'
}

const name = pg.escapeIdentifier

/** Returns the number of partitions of the tables; 0 if they are not partitioned. */
async function countPartitions(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ partitions: number }>(
    `SELECT count(*)::integer AS partitions FROM pg_inherits WHERE inhparent = to_regclass('public.turn')`,
  )
  return rows[0]!.partitions
}

/**
 * Partitions the tables of a migrated database without conversations; does nothing if they have this number of partitions.
 * @throws PartitionError if the number differs and there are conversations, or other partitions
 */
export async function ensurePartitions(client: PoolClient, partitions: number): Promise<void> {
  const existing = await countPartitions(client)
  if (existing === partitions) return
  const { rows } = await client.query<{ isUsed: boolean }>('SELECT EXISTS (SELECT FROM conversation) AS "isUsed"')
  if (existing > 0 || rows[0]!.isUsed) {
    const found = existing > 0 ? `has ${existing} partitions` : 'has no partitions, but conversations'
    throw new PartitionError(
      `DATABASE_PARTITIONS is ${partitions}, but the database ${found}. The number is chosen when a database is created: `
        + 'unset DATABASE_PARTITIONS, or restore a dump of the data into a new database.',
    )
  }
  await client.query('BEGIN')
  for (const table of PARTITIONED_TABLES) {
    for (const statement of partition(await readTable(client, table), partitions)) await client.query(statement)
  }
  // The new tables have neither the views of the past nor the triggers that keep former values, which create_past creates.
  await client.query('SELECT create_past()')
  await client.query('COMMIT')
}

/**
 * The parts of a table's definition that `CREATE TABLE … (LIKE …)` does not copy. `constraints`, `indexes`,
 * `references`, `policies`, `grants` and `triggers` are statements.
 */
type Table = {
  name: string
  /** Storage parameters, for example `toast_tuple_target=8160`. Only partitions can have them. */
  storage: string[]
  constraints: string[]
  indexes: string[]
  /** Foreign keys of other tables to this one. */
  references: string[]
  /** With the placeholder %TABLE%, because each partition gets the same policies. */
  policies: string[]
  grants: string[]
  /** Triggers other than those of foreign keys and of create_past. */
  triggers: string[]
  /** Columns whose number of distinct values is set, for the planner. */
  distinct: { column: string; values: number }[]
  /** Names of the sequences of identity columns. */
  sequences: string[]
}

async function readTable(client: PoolClient, table: string): Promise<Table> {
  const { rows } = await client.query<Table>(
    `SELECT c.relname AS name, coalesce(c.reloptions, '{}') AS storage,
       ARRAY(SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', c.oid::regclass, k.conname, pg_get_constraintdef(k.oid))
             FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f')) AS constraints,
       ARRAY(SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i
             WHERE i.indrelid = c.oid AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)) AS indexes,
       ARRAY(SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid))
             FROM pg_constraint k WHERE k.confrelid = c.oid AND k.contype = 'f') AS "references",
       ARRAY(SELECT format('CREATE POLICY %I ON %%TABLE%% TO %s USING (%s)', p.polname,
                           (SELECT string_agg(r.oid::regrole::text, ', ') FROM pg_roles r WHERE r.oid = ANY (p.polroles)),
                           pg_get_expr(p.polqual, c.oid))
             FROM pg_policy p WHERE p.polrelid = c.oid) AS policies,
       ARRAY(SELECT format('GRANT %s ON %s TO %s', string_agg(a.privilege_type, ', '), c.oid::regclass, a.grantee::regrole)
             FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner GROUP BY a.grantee) AS grants,
       ARRAY(SELECT pg_get_triggerdef(g.oid) FROM pg_trigger g
             WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgname <> 'keep_former_state') AS triggers,
       ARRAY(SELECT s.relname::text FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
             WHERE d.refobjid = c.oid AND d.deptype = 'i') AS sequences,
       (SELECT coalesce(json_agg(json_build_object('column', a.attname, 'values', o.option_value::integer)), '[]')
        FROM pg_attribute a CROSS JOIN pg_options_to_table(a.attoptions) o
        WHERE a.attrelid = c.oid AND o.option_name = 'n_distinct') AS distinct
     FROM pg_class c WHERE c.oid = to_regclass('public.' || $1)`,
    [table],
  )
  return rows[0]!
}

/** Returns the statements that replace an empty table by a partitioned one. */
function partition(table: Table, partitions: number): string[] {
  const parent = name(table.name)
  const source = name(`${table.name}_source`)
  const parts = Array.from({ length: partitions }, (_, remainder) => ({
    part: name(`${table.name}_${remainder}`),
    remainder,
  }))
  const storage = table.storage.length > 0 ? ` WITH (${table.storage.join(', ')})` : ''
  return [
    `ALTER TABLE ${parent} RENAME TO ${source}`,
    // So that the sequence of the new column gets this name.
    ...table.sequences.map((each) => `ALTER SEQUENCE ${name(each)} RENAME TO ${name(`${each}_source`)}`),
    `CREATE TABLE ${parent} (LIKE ${source} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (conversation_id)`,
    `DROP TABLE ${source} CASCADE`,
    ...parts.map(
      ({ part, remainder }) =>
        `CREATE TABLE ${part} PARTITION OF ${parent} FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${remainder})${storage}`,
    ),
    ...table.distinct.flatMap(({ column, values }) => [
      `ALTER TABLE ${parent} ALTER COLUMN ${name(column)} SET (n_distinct_inherited = ${values})`,
      ...parts.map(
        ({ part }) =>
          `ALTER TABLE ${part} ALTER COLUMN ${name(column)} SET (n_distinct = ${Math.ceil(values / partitions)})`,
      ),
    ]),
    ...table.constraints,
    ...table.indexes,
    ...table.references,
    ...table.grants,
    ...table.triggers,
    ...[parent, ...parts.map(({ part }) => part)].flatMap((each) => [
      `ALTER TABLE ${each} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`,
      ...table.policies.map((policy) => policy.replaceAll('%TABLE%', each)),
    ]),
  ]
}
