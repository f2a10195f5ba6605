// The past of the database: connections and Prisma whose statements read the rows of tenants as of a moment. Statements
// have the same texts as in the present (scope.ts).

import type { Db } from './db.ts'
import type { Moment, Scope } from './scope.ts'
import type { Pool, Statement } from './tenant-pool.ts'

/** The past cannot be changed: a caller used the dependencies of a read for a write. */
class PastIsReadOnly extends Error {
  override readonly name = 'PastIsReadOnly'
  constructor() {
    super('Transactions are not possible in the past.')
  }
}

const scopeIn = (moment: Moment, scope: Scope): Scope => (typeof scope === 'string' ? { tenant: scope, moment } : scope)

/** Returns the pool for statements as of the moment. Statements over all tenants read the present. */
export function pastPool(pool: Pool, moment: Moment): Pool {
  const replaced: Partial<Record<PropertyKey, unknown>> = {
    query: (statement: Statement) => pool.query({ ...statement, scope: scopeIn(moment, statement.scope) }),
    queryAll: (scope: Scope, statements: Parameters<Pool['queryAll']>[1]) =>
      pool.queryAll(scopeIn(moment, scope), statements),
    connect() {
      throw new PastIsReadOnly()
    },
  }
  return new Proxy(pool, {
    get(target, key) {
      if (Object.hasOwn(replaced, key)) return replaced[key]
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** Returns Prisma for raw statements as of the moment. Statements of its models read the present. */
export const pastDb = (db: Db, moment: Moment): Db => ({
  of: (scope) => db.of(scopeIn(moment, scope)),
  get prisma(): never {
    throw new PastIsReadOnly()
  },
  errorOf: (error) => db.errorOf(error),
  load: () => db.load(),
  $disconnect: () => db.$disconnect(),
})
