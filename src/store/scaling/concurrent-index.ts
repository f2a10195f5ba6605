// Creates and drops indexes without blocking writes. The table may be partitioned (partitions.ts); its index then has a
// part for each partition.

import type pg from 'pg'

/** An index of a table. Both names need no quotes. */
type Index = { index: string; table: string }

/** SQL for the approximate number of rows in an index. @param index the alias of its row in pg_class */
export const rowsInIndex = (index: string): string => `
  (greatest(${index}.reltuples, 0) + coalesce((
    SELECT sum(greatest(p.reltuples, 0)) FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhrelid
    WHERE h.inhparent = ${index}.oid), 0))::integer`

/** Returns the partitions of the table, each with the name of its part of the index; none if it is not partitioned. */
async function readParts(client: pg.Client, { index, table }: Index): Promise<{ partition: string; part: string }[]> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass',
    [table],
  )
  return rows.map(({ name }, number) => ({ partition: name, part: `${index}_${number}` }))
}

/**
 * Creates the index. If it fails, `dropIndex` removes what it has created. An index of a partitioned table becomes valid
 * when its last part is attached.
 * @param definition what follows the table in CREATE INDEX
 */
export async function createIndex(client: pg.Client, of: Index, definition: string): Promise<void> {
  const { index, table } = of
  const parts = await readParts(client, of)
  if (parts.length === 0) {
    await client.query(`CREATE INDEX CONCURRENTLY ${index} ON ${table} ${definition}`)
    return
  }
  // Postgres cannot create an index of a partitioned table concurrently, so its parts are created and attached.
  await client.query(`CREATE INDEX ${index} ON ONLY ${table} ${definition}`)
  for (const { partition, part } of parts) {
    await client.query(`CREATE INDEX CONCURRENTLY ${part} ON ${partition} ${definition}`)
    await client.query(`ALTER INDEX ${index} ATTACH PARTITION ${part}`)
  }
}

/** Drops the index, which may be incomplete or not exist. One of a partitioned table takes a short exclusive lock. */
export async function dropIndex(client: pg.Client, of: Index): Promise<void> {
  const parts = await readParts(client, of)
  if (parts.length === 0) {
    await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${of.index}`)
    return
  }
  await client.query(`DROP INDEX IF EXISTS ${of.index}`)
  // The parts of an interrupted creation are not attached.
  for (const { part } of parts) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${part}`)
}
