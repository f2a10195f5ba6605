// A pool whose statements name their scope. Its connections run as colloquy_app, without a tenant: a statement without
// a scope finds no row of any tenant.

import pg from 'pg'
import type { Client, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { unavailableOr } from './outage.ts'
import { scopeOfPrisma, type Scope } from './scope.ts'
import type { QueueDelay } from '../../runtime/queue-delay.ts'
import { ScopedBegin, ScopedQuery } from './scoped-query.ts'

/** A statement, and the rows that it may read and write. */
export type Statement = UnscopedStatement & { scope: Scope }
export type UnscopedStatement = QueryConfig & { rowMode?: 'array' }

/** The type of the pool, which requires a scope for every statement. A statement throws DatabaseUnavailable in an outage. */
export type Pool = Omit<pg.Pool, 'query'> & {
  query<Row extends QueryResultRow | unknown[]>(
    statement: Statement,
  ): Promise<Row extends QueryResultRow ? QueryResult<Row> : never>
  /** Runs statements in one round trip and transaction. Returns their rows in the order of the statements. */
  queryAll(scope: Scope, statements: readonly UnscopedStatement[]): Promise<unknown[][]>
  /** Returns the error to throw for an error of pg or Prisma: DatabaseUnavailable in an outage, or else the same error. */
  errorOf(error: unknown): unknown
  /** Calls the listener with each error of an outage. */
  onOutage(listener: (error: unknown) => void): void
}

type Callback = (error: Error | undefined, ...results: unknown[]) => void

/** A connection. While Prisma has it, a transaction begins with Prisma's scope. */
class TenantClient extends pg.Client {
  scope: Scope | undefined

  override query(...args: unknown[]): never {
    const [statement, values, callback] = args as [QueryConfig | string, unknown, unknown]
    const text = typeof statement === 'string' ? statement : statement.text
    if (text !== 'BEGIN' || this.scope === undefined) return super.query(...(args as [string])) as never
    const done = [values, callback].find((each) => typeof each === 'function')
    const begin = new ScopedBegin(this.scope) as never
    if (done) return super.query(begin, done as never) as never
    return new Promise((resolve, reject) => {
      const settle: Callback = (error, result) => (error ? reject(error) : resolve(result))
      void super.query(begin, settle as never)
    }) as never
  }
}

export class TenantPool extends pg.Pool {
  readonly #delay: QueueDelay
  readonly #outageListeners: ((error: unknown) => void)[] = []

  /** @param delay measures how long statements wait for a connection */
  constructor(config: pg.PoolConfig, delay: QueueDelay) {
    super({ ...config, Client: TenantClient as unknown as typeof Client })
    this.#delay = delay
  }

  onOutage(listener: (error: unknown) => void): void {
    this.#outageListeners.push(listener)
  }

  errorOf(error: unknown): unknown {
    const thrown = unavailableOr(error)
    if (thrown !== error) for (const listener of this.#outageListeners) listener(error)
    return thrown
  }

  override query(...args: unknown[]): never {
    const [statement, values, callback] = args as [Partial<Statement> | string, unknown, unknown]
    // Read here, because the pool may send a waiting statement while it handles another one's result.
    const given = typeof statement === 'object' ? statement.scope : undefined
    const scope = given ?? scopeOfPrisma.getStore()
    if (scope === undefined) return super.query(...(args as [string])) as never
    const config = typeof statement === 'string' ? { text: statement } : statement
    const done = typeof values === 'function' ? values : callback
    const query = new ScopedQuery(
      scope,
      [config as QueryConfig],
      typeof values === 'function' ? undefined : values,
    ) as never
    const found = super.query(query, undefined as never, done as never) as unknown
    // Prisma needs the errors of pg, which it converts to its own.
    if (given === undefined || done) return found as never
    return (found as Promise<unknown>).catch((error: unknown) => {
      throw this.errorOf(error)
    }) as never
  }

  queryAll(scope: Scope, statements: readonly UnscopedStatement[]): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      const settle = (error: Error | undefined, found: QueryResult | QueryResult[]) => {
        if (error) reject(this.errorOf(error))
        else resolve((Array.isArray(found) ? found : [found]).map(({ rows }) => rows))
      }
      super.query(new ScopedQuery(scope, statements) as never, undefined as never, settle as never)
    })
  }

  override connect(callback?: unknown): never {
    const scope = scopeOfPrisma.getStore()
    const connected = super.connect as unknown as (callback: Callback) => void
    const enteredAt = this.#delay.enter()
    const promise = new Promise((resolve, reject) =>
      connected.call(this, (error, client, release) => {
        this.#delay.leave(enteredAt)
        if (client) (client as TenantClient).scope = scope
        if (callback) (callback as Callback)(error, client, release)
        else if (error) reject(error)
        else resolve(client)
      }),
    )
    return (callback ? undefined : promise) as never
  }
}
