// The tag that statements and fragments are written with. A fragment nests in another; any other value becomes a
// parameter. Prisma takes the result as it is. A statement for pg is composed once: its fragments get `parameter(n)` in
// place of values, and its `text` is sent with the values of each call.

import { Prisma } from '../generated/client.ts'

export const { sql, raw, join, empty } = Prisma
export type Sql = Prisma.Sql

/** A value to bind, or a fragment that names one. */
export type Bound<T> = T | Sql

/** The nth parameter of a statement for pg. */
export const parameter = (n: number): Sql => raw(`$${n}`)

/** Opens a statement that each connection prepares once, under this name; see `createPrisma`. */
export const named = (name: string): Sql => raw(`/* ${name} */`)

/** The name given by `named`; empty for a statement that is planned at each call, with its values. */
export const nameOf = (statement: string): string => /^\s*\/\* ([\w-]+) \*\//.exec(statement)?.[1] ?? ''
