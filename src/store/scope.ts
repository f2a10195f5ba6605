// The scope of a statement: the rows that row-level security lets it read and write.

import { AsyncLocalStorage } from 'node:async_hooks'

/** The scope of background work, of migrations and of look-ups over all tenants: every row. */
export const SYSTEM: unique symbol = Symbol('system')

/** The scope of a statement that runs before the tenant is known: no row. No tenant has this name. */
export const NO_TENANT = ''

/** A tenant, or SYSTEM for all tenants. */
export type Scope = string | typeof SYSTEM

/**
 * The scope of Prisma's statements. Set only while Prisma starts one statement or transaction (`db.ts`, `tx.ts`), and
 * read when Prisma asks the pool for a statement or a connection.
 */
export const scopeOfPrisma = new AsyncLocalStorage<Scope | undefined>()
