// The template tag for SQL statements and fragments. A fragment may contain fragments; any other value becomes a
// parameter. Prisma accepts the result. A statement for pg is composed only once, with `parameter(n)` instead of
// values; each call sends its `text` with other values.

import { Prisma } from '../../generated/client.ts'

// Annotated, so that the published type declarations do not refer to dependencies of Prisma.
export const sql: typeof Prisma.sql = Prisma.sql
export const raw: typeof Prisma.raw = Prisma.raw
export const join: typeof Prisma.join = Prisma.join
export const empty: typeof Prisma.empty = Prisma.empty
export type Sql = Prisma.Sql

/** A value to bind, or a fragment that refers to a parameter. */
export type Bound<T> = T | Sql

/** The nth parameter of a statement for pg. */
export const parameter = (n: number): Sql => raw(`$${n}`)

/** Begins a statement that each connection prepares only once, under this name; see `createPrisma`. */
export const named = (name: string): Sql => raw(`/* ${name} */`)

/** The name from `named`; empty for an unnamed statement, which Postgres plans for each call. */
export const nameOf = (statement: string): string => /^\s*\/\* ([\w-]+) \*\//.exec(statement)?.[1] ?? ''

/** The LIKE pattern of values that contain the text. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`
