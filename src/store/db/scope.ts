// The scope of a statement: the rows that row-level security lets it read and write, the viewer whose view it is limited
// to, and the moment as of which it reads. The store and the domain both use these types.

import { AsyncLocalStorage } from 'node:async_hooks'

/** The actor in whose view a read is made, and its tenant. */
export type Viewer = { tenant: string; actor: string }

/** The scope of background work, of migrations and of look-ups over all tenants: every row. */
export const SYSTEM: unique symbol = Symbol('system')

/** The scope of a statement that runs before the tenant is known: no row. No tenant has this name. */
export const NO_TENANT = ''

/**
 * A moment in the past, to the millisecond. If it names an entry of a conversation, the conversation is read as of that
 * entry, and everything else as of `at`, the time of the entry.
 */
export type Moment = { at: Date; entry: { conversationId: string; seq: number } | null }

/** The rows of a tenant as of a moment. Only for reads: statements read the views of the schema `past`. */
export type Past = { tenant: string; moment: Moment }

/** A tenant, SYSTEM for all tenants, or the past of a tenant. */
export type Scope = string | typeof SYSTEM | Past

export const isPast = (scope: Scope): scope is Past => typeof scope === 'object'

/**
 * The scope of Prisma's statements. Set only while Prisma starts one statement or transaction (`db.ts`, `tx.ts`), and
 * read when Prisma asks the pool for a statement or a connection.
 */
export const scopeOfPrisma = new AsyncLocalStorage<Scope | undefined>()
