// A read as a value: a statement, and the function that converts its rows to the result. A caller can send several
// reads in one batch.

import type { Scope } from './scope.ts'
import type { Pool, UnscopedStatement } from './tenant-pool.ts'

export type Read<T> = { statement: UnscopedStatement; toResult(rows: unknown[]): T }

/** Creates a read. `toResult` gets the rows of the statement. */
export const readOf = <Row, T>(statement: UnscopedStatement, toResult: (rows: Row[]) => T): Read<T> => ({
  statement,
  toResult,
})

/** Returns the read with another result. */
export const mapRead = <T, U>({ statement, toResult }: Read<T>, convert: (result: T) => U): Read<U> => ({
  statement,
  toResult: (rows) => convert(toResult(rows)),
})

type ResultOf<R> = R extends Read<infer T> ? T : null

/** Runs the reads in one round trip and transaction. Returns their results in order; null for a read that is null. */
export async function readAll<const R extends readonly (Read<unknown> | null)[]>(
  pool: Pick<Pool, 'queryAll'>,
  scope: Scope,
  reads: R,
): Promise<{ -readonly [I in keyof R]: ResultOf<R[I]> }> {
  const statements = reads.flatMap((read) => read?.statement ?? [])
  const rows = statements.length > 0 ? await pool.queryAll(scope, statements) : []
  let next = 0
  return reads.map((read) => read && read.toResult(rows[next++]!)) as { -readonly [I in keyof R]: ResultOf<R[I]> }
}

/** Runs one read. */
export async function readOne<T>(pool: Pick<Pool, 'query'>, scope: Scope, read: Read<T>): Promise<T> {
  return read.toResult((await pool.query({ scope, ...read.statement })).rows)
}
