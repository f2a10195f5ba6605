// A statement of pg with its scope. Both are sent in one batch of the extended protocol: a statement that sets the
// scope, the statement itself, and one Sync. The messages up to a Sync are one transaction, and run in their order
// (https://www.postgresql.org/docs/17/protocol-flow.html#PROTOCOL-FLOW-PIPELINING), so the scope applies to this
// statement and ends with it, whatever its outcome.

import pg from 'pg'
import { SYSTEM, type Scope } from './scope.ts'

/** Prepares the statements that set the scope. Each connection runs this text when it opens. */
export const PREPARE_SCOPES = `
  PREPARE colloquy_tenant (text) AS SELECT set_config('colloquy.tenant', $1, true);
  PREPARE colloquy_role AS SELECT set_config('role', 'colloquy_system', true)`

/** The parts of pg's connection and query that its types omit. */
type Connection = {
  parse(message: { text: string }): void
  bind(message: { statement?: string; values: unknown[]; valueMapper(value: unknown): unknown }): void
  execute(message: { portal: string; rows: number }): void
}
type Message = unknown
type Query = {
  requiresPreparation(): boolean
  prepare(connection: Connection): void
  handleDataRow(message: Message): void
  handleCommandComplete(message: Message, connection: Connection): void
}
const PgQuery = pg.Query as unknown as new (config: object, values?: unknown) => Query

/** Sends two statements in one batch. Drops the result of the first, and returns that of the second. */
abstract class SecondQuery extends PgQuery {
  #isFirstDone = false

  /** Sends the first statement, without a Sync. */
  protected abstract sendFirst(connection: Connection): void

  /** The simple protocol has no batches. */
  override requiresPreparation(): boolean {
    return true
  }

  override prepare(connection: Connection): void {
    this.sendFirst(connection)
    super.prepare(connection)
  }

  override handleDataRow(message: Message): void {
    if (this.#isFirstDone) super.handleDataRow(message)
  }

  override handleCommandComplete(message: Message, connection: Connection): void {
    if (this.#isFirstDone) super.handleCommandComplete(message, connection)
    this.#isFirstDone = true
  }
}

const asIs = (value: unknown) => value

export class ScopedQuery extends SecondQuery {
  readonly #scope: Scope

  constructor(scope: Scope, config: object, values?: unknown) {
    super(config, values)
    this.#scope = scope
  }

  protected override sendFirst(connection: Connection): void {
    if (this.#scope === SYSTEM) connection.bind({ statement: 'colloquy_role', values: [], valueMapper: asIs })
    else connection.bind({ statement: 'colloquy_tenant', values: [this.#scope], valueMapper: asIs })
    connection.execute({ portal: '', rows: 0 })
  }
}

/** Begins a transaction and sets its scope. */
export class ScopedBegin extends SecondQuery {
  constructor(scope: Scope) {
    super(
      scope === SYSTEM
        ? { text: `SELECT set_config('role', 'colloquy_system', true)` }
        : { text: `SELECT set_config('colloquy.tenant', $1, true)`, values: [scope] },
    )
  }

  protected override sendFirst(connection: Connection): void {
    connection.parse({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' })
    connection.bind({ values: [], valueMapper: asIs })
    connection.execute({ portal: '', rows: 0 })
  }
}
