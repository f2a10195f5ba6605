// Statements of pg with their scope. They are sent in one batch of the extended protocol: a statement that sets the
// scope, the statements themselves, and one Sync. The messages up to a Sync are one transaction, and run in their order
// (https://www.postgresql.org/docs/17/protocol-flow.html#PROTOCOL-FLOW-PIPELINING), so the scope applies to these
// statements and ends with them, whatever their outcome.
//
// A named statement is described on its first run. Later runs on the same connection use that description, because the
// columns of a prepared statement cannot change: if its tables do, Postgres refuses the statement.
//
// A named statement is planned once for all values: a connection has the setting plan_cache_mode = force_generic_plan
// (db.ts). By default, Postgres plans it for the values of each call if it expects a cheaper plan, which takes up to
// several times as long as the call: for example the turns that a context keeps, 1.4 ms instead of 0.6, or a page of a
// partitioned table, 5 ms instead of 0.9. Other statements, and those of transactions, are planned for their values.
//
// A statement about the past has no name, because its tables are others: the views of the schema `past`
// (prisma/functions/create_past.sql), which come first in its search_path. A prepared statement would be planned again
// after each change of the search_path.
//
// A plan made while a table is small can be slow once the table has grown: Postgres chooses the index by the number of
// rows. Postgres replans a statement after it has analyzed its tables, which it does once a minute at most. So each
// connection discards its plans periodically, and more often while the connection is new (PLANS_MS).

import pg from 'pg'
import { isPast, SYSTEM, type Scope } from './scope.ts'

/** Prepares the statements that set the scope. Each connection runs this text when it opens. */
export const PREPARE_SCOPES = `
  PREPARE colloquy_tenant (text) AS SELECT set_config('colloquy.tenant', $1, true);
  PREPARE colloquy_role AS SELECT set_config('role', 'colloquy_system', true);
  PREPARE colloquy_tenant_planned (text) AS
    SELECT set_config('colloquy.tenant', $1, true), set_config('plan_cache_mode', 'auto', true);
  PREPARE colloquy_role_planned AS
    SELECT set_config('role', 'colloquy_system', true), set_config('plan_cache_mode', 'auto', true);
  PREPARE colloquy_past (text, text, text, text) AS
    SELECT set_config('colloquy.tenant', $1, true), set_config('colloquy.past_at', $2, true),
           set_config('colloquy.past_conversation', $3, true), set_config('colloquy.past_seq', $4, true),
           set_config('search_path', 'past, pg_catalog, public', true), set_config('plan_cache_mode', 'auto', true)`

/** The parts of pg's connection and query that its types omit. */
type Connection = {
  parse(message: { text: string }): void
  bind(message: { statement?: string; values: unknown[]; valueMapper(value: unknown): unknown }): void
  describe(message: unknown): void
  execute(message: { portal: string; rows: number }): void
  close(message: unknown): void
  sync(): void
  /** The texts of named statements that Postgres has parsed, and of named statements that were sent to be parsed. */
  parsedStatements: Record<string, string>
  submittedNamedStatements: Record<string, string>
}
type Config = { text: string; name?: string; values?: unknown[]; rowMode?: 'array' }
type Message = unknown
/** The parts of a result that pg derives from the description of a statement. `_types` has the parsers of the values. */
type Description = { fields: unknown; _parsers: unknown; _prebuiltEmptyResultObject: unknown; _types: unknown }
type Query = {
  name: string | undefined
  text: string
  values: unknown[] | undefined
  portal: string
  _rowMode: string | undefined
  _result: Description
  _accumulateRows: boolean
  requiresPreparation(): boolean
  prepare(connection: Connection): void
  _getRows(connection: Connection, rows: number): void
  _checkForMultirow(): void
  handleRowDescription(message: Message): void
  handleDataRow(message: Message): void
  handleCommandComplete(message: Message, connection: Connection): void
  handleError(error: Error, connection: Connection): void
}
/** Statement that makes Postgres plan each statement again before its next run. */
const DISCARD = 'DISCARD PLANS'
/**
 * Age of a connection at which it first discards its plans, in ms. Each next interval is as long as the connection is
 * old, at most `max`.
 */
const PLANS_MS = { first: 1_000, max: 10_000 }

const PgQuery = pg.Query as unknown as new (config: object, values?: unknown) => Query

type Known = {
  /** The descriptions of the connection's named statements, by name. */
  descriptions: Map<string, Description>
  /** The connection to pass to pg for statements whose description is known; it sends no Describe. */
  silent: Connection
  /** Times of the connection's first statement and of the next discard of its plans, by `performance.now()`. */
  since: number
  discardAt: number
}

const asIs = (value: unknown) => value

/** The state of each connection, until the connection is closed. */
const knownOf = new WeakMap<Connection, Known>()

/** Forwards the messages of a statement to the connection, except Describe. */
const withoutDescribe = (connection: Connection): Connection => ({
  parse: (message) => connection.parse(message),
  bind: (message) => connection.bind(message),
  describe() {},
  execute: (message) => connection.execute(message),
  close: (message) => connection.close(message),
  sync: () => connection.sync(),
  parsedStatements: connection.parsedStatements,
  submittedNamedStatements: connection.submittedNamedStatements,
})

function known(connection: Connection): Known {
  let found = knownOf.get(connection)
  if (!found) {
    const since = performance.now()
    const discardAt = since + PLANS_MS.first
    found = { descriptions: new Map(), silent: withoutDescribe(connection), since, discardAt }
    knownOf.set(connection, found)
  }
  return found
}

/** Sends the discard of the connection's plans if it is due. Returns the number of statements sent. */
function discardPlans(connection: Connection): 0 | 1 {
  const state = known(connection)
  const now = performance.now()
  if (now < state.discardAt) return 0
  state.discardAt = now + Math.min(now - state.since, PLANS_MS.max)
  connection.parse({ text: DISCARD })
  connection.bind({ values: [], valueMapper: asIs })
  connection.execute({ portal: '', rows: 0 })
  return 1
}

/**
 * Sends the first statements and those of the configs in one batch. Drops the results of the first. The result is that
 * of the only config, or an array if there are several.
 */
abstract class BatchQuery extends PgQuery {
  readonly #configs: readonly Config[]
  /** Number of first statements whose result has not arrived. */
  #firstLeft = 0
  /** Index of the config that is being sent, then of the one whose messages are being received. */
  #current = 0
  #hasFailed = false
  /** Descriptions of the statements of the connection; set when the batch is sent. */
  #descriptions!: Known['descriptions']
  /** The stored description of each config; undefined for a config that Postgres has to describe. */
  readonly #described: (Description | undefined)[] = []

  constructor(configs: readonly Config[], values?: unknown) {
    super(configs[0]!, values)
    this.#configs = configs
  }

  /** Sends the first statements, without a Sync. Returns their number. */
  protected abstract sendFirst(connection: Connection): number

  /** The simple protocol has no batches. */
  override requiresPreparation(): boolean {
    return true
  }

  override prepare(connection: Connection): void {
    this.#firstLeft = this.sendFirst(connection)
    const { descriptions, silent } = known(connection)
    this.#descriptions = descriptions
    for (const index of this.#configs.keys()) {
      if (index > 0) this.#turnTo(index)
      const found = this.name ? descriptions.get(this.name) : undefined
      // A statement with other parsers needs a description of its own.
      const description = found?._types === this._result._types ? found : undefined
      this.#described[index] = description
      super.prepare(description ? silent : connection)
      // Its values could not be sent. pg has sent the Sync.
      if (this.#hasFailed) return
    }
    if (this.#configs.length > 1) this.#turnTo(0)
  }

  /** Lets pg send or receive the config with this index. */
  #turnTo(index: number): void {
    const { text, name, values, rowMode } = this.#configs[index]!
    Object.assign(this, { text, name, values, _rowMode: rowMode })
    this.#current = index
  }

  override _getRows(connection: Connection): void {
    connection.execute({ portal: this.portal, rows: 0 })
    if (this.#current === this.#configs.length - 1) connection.sync()
  }

  override handleRowDescription(message: Message): void {
    super.handleRowDescription(message)
    if (!this.name) return
    // The result itself would keep its rows.
    const { fields, _parsers, _prebuiltEmptyResultObject, _types } = this._result
    this.#descriptions.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject, _types })
  }

  /** Applies the stored description of the current config, in place of `handleRowDescription`. */
  #describe(): void {
    const description = this.#described[this.#current]
    if (!description) return
    this._checkForMultirow()
    const { fields, _parsers, _prebuiltEmptyResultObject } = description
    Object.assign(this._result, { fields, _parsers, _prebuiltEmptyResultObject })
    this._accumulateRows = true
  }

  override handleDataRow(message: Message): void {
    if (this.#firstLeft === 0) super.handleDataRow(message)
  }

  override handleCommandComplete(message: Message, connection: Connection): void {
    if (this.#firstLeft > 0) {
      this.#firstLeft -= 1
      if (this.#firstLeft > 0) return
    } else {
      super.handleCommandComplete(message, connection)
      if (this.#current === this.#configs.length - 1) return
      this.#turnTo(this.#current + 1)
    }
    this.#describe()
  }

  override handleError(error: Error, connection: Connection): void {
    this.#hasFailed = true
    // Postgres skips the statements after the failed one, so it does not parse them.
    for (const { name } of this.#configs.slice(this.#current)) {
      if (name && connection.parsedStatements[name] === undefined) delete connection.submittedNamedStatements[name]
    }
    super.handleError(error, connection)
  }
}

/** Returns the prepared statement that sets the scope, and its values. @param suffix that of statements without names */
function settingOf(scope: Scope, suffix: '' | '_planned'): { statement: string; values: unknown[] } {
  if (scope === SYSTEM) return { statement: `colloquy_role${suffix}`, values: [] }
  if (!isPast(scope)) return { statement: `colloquy_tenant${suffix}`, values: [scope] }
  const { at, entry } = scope.moment
  const values = [scope.tenant, at.toISOString(), entry?.conversationId ?? '', String(entry?.seq ?? '')]
  return { statement: 'colloquy_past', values }
}

export class ScopedQuery extends BatchQuery {
  readonly #scope: Scope
  readonly #suffix: '' | '_planned'

  /** @param values those of the only config, if it has none */
  constructor(scope: Scope, configs: readonly Config[], values?: unknown) {
    super(isPast(scope) ? configs.map(({ name: _, ...config }) => config) : configs, values)
    this.#scope = scope
    this.#suffix = configs.every(({ name }) => name) ? '' : '_planned'
  }

  protected override sendFirst(connection: Connection): number {
    const discards = discardPlans(connection)
    const { statement, values } = settingOf(this.#scope, this.#suffix)
    connection.bind({ statement, values, valueMapper: asIs })
    connection.execute({ portal: '', rows: 0 })
    return discards + 1
  }
}

/** Begins a transaction and sets its scope. @throws if it is the past, which cannot be changed */
export class ScopedBegin extends BatchQuery {
  constructor(scope: Scope) {
    if (isPast(scope)) throw new Error('a transaction cannot be in the past')
    super([
      scope === SYSTEM
        ? { text: `SELECT set_config('role', 'colloquy_system', true), set_config('plan_cache_mode', 'auto', true)` }
        : {
            text: `SELECT set_config('colloquy.tenant', $1, true), set_config('plan_cache_mode', 'auto', true)`,
            values: [scope],
          },
    ])
  }

  protected override sendFirst(connection: Connection): number {
    connection.parse({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' })
    connection.bind({ values: [], valueMapper: asIs })
    connection.execute({ portal: '', rows: 0 })
    return 1
  }
}
