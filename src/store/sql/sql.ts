// The template tag for SQL statements and fragments. Fragments nest; any other value becomes a parameter. The result
// can be passed to Prisma. A statement for pg is composed once: its fragments contain `parameter(n)` instead of values,
// and its `text` is sent with the values of each call.

import { Prisma } from '../generated/client.ts'

// Annotated, so that the published types name nothing of Prisma's own dependencies.
export const sql: typeof Prisma.sql = Prisma.sql
export const raw: typeof Prisma.raw = Prisma.raw
export const join: typeof Prisma.join = Prisma.join
export const empty: typeof Prisma.empty = Prisma.empty
export type Sql = Prisma.Sql

/** A value to bind, or a fragment that refers to one. */
export type Bound<T> = T | Sql

/** The nth parameter of a statement for pg. */
export const parameter = (n: number): Sql => raw(`$${n}`)

/** Starts a statement that each connection prepares once, under this name; see `createPrisma`. */
export const named = (name: string): Sql => raw(`/* ${name} */`)

/** The name given by `named`; empty for a statement that is planned at each call, with its values. */
export const nameOf = (statement: string): string => /^\s*\/\* ([\w-]+) \*\//.exec(statement)?.[1] ?? ''
