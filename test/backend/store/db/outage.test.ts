// Errors of an outage of the database: which errors they are, what callers get, and what is logged.

import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Conflict, DatabaseUnavailable } from '../../../../src/errors.ts'
import { createPool, createPrisma } from '../../../../src/store/db/db.ts'
import { logOutages, unavailableOr } from '../../../../src/store/db/outage.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'
import { withTransaction } from '../../../../src/store/db/tx.ts'
import { backends } from '../../../support/backend.ts'

const error = (message: string, details: object = {}) => Object.assign(new Error(message), details)
const ofPostgres = (code: string) => error('x', { code, severity: 'FATAL' })
const ofAdapter = (cause: object) => error('x', { name: 'DriverAdapterError', cause })
const ofPrisma = (code: string, meta: object = {}) => error('\nInvalid `x` invocation:\n\n\nx', { code, meta })

describe('an outage', () => {
  it.each<[string, unknown]>([
    ...['08000', '08001', '08003', '08004', '08006', '08P01', '53300', '53100', '53200', '57P01', '57P02', '57P03'].map(
      (code): [string, unknown] => [`of Postgres: ${code}`, ofPostgres(code)],
    ),
    ...['57P05', '25P03', '25P04'].map((code): [string, unknown] => [
      `of a session that Postgres ended: ${code}`,
      ofPostgres(code),
    ]),
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN'].map(
      (code): [string, unknown] => [`of a socket: ${code}`, error('x', { code, syscall: 'connect', errno: -1 })],
    ),
    ['of a Unix socket', error('connect ENOENT /run/x', { code: 'ENOENT', syscall: 'connect' })],
    ['of all addresses of a host', Object.assign(new AggregateError([error('x', { code: 'ECONNREFUSED' })]), {})],
    ...[
      'Connection terminated unexpectedly',
      'Connection terminated',
      'Connection terminated due to connection timeout',
      'timeout exceeded when trying to connect',
      'timeout expired',
      'Query read timeout',
      'Client has encountered a connection error and is not queryable',
      'Client was closed and is not queryable',
      'Cannot use a pool after calling end on the pool',
    ].map((message): [string, unknown] => [`of pg: ${message}`, error(message)]),
    ...['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037'].map((code): [string, unknown] => [
      `of Prisma: ${code}`,
      ofPrisma(code),
    ]),
    ...['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'].map(
      (kind): [string, unknown] => [
        `of the adapter: ${kind}`,
        ofPrisma('P2039', { driverAdapterError: ofAdapter({ kind }) }),
      ],
    ),
    [
      'of Postgres, in an error of the adapter, in one of Prisma',
      ofPrisma('P2010', { driverAdapterError: ofAdapter({ kind: 'postgres', originalCode: '57P03' }) }),
    ],
    ['of pg, in a message of Prisma', error('\nInvalid `x` invocation:\n\n\nConnection terminated unexpectedly')],
    ['in the causes of another error', error('x', { cause: error('y', { cause: ofPostgres('57P01') }) })],
  ])('%s is recognised', (_, given) => {
    const thrown = unavailableOr(given)
    expect(thrown).toBeInstanceOf(DatabaseUnavailable)
    expect(thrown).toMatchObject({ code: 'SERVER_BUSY', cause: given })
    expect(unavailableOr(thrown)).toBe(thrown)
  })

  const cycle = error('x')
  cycle.cause = cycle
  it.each<[string, unknown]>([
    ['a violated constraint', ofPostgres('23505')],
    ['a cancelled statement', ofPostgres('57014')],
    ['a dropped database', ofPostgres('57P04')],
    ['a wrong password', ofPostgres('28P01')],
    [
      'a constraint in an error of Prisma',
      ofPrisma('P2002', {
        driverAdapterError: ofAdapter({ kind: 'UniqueConstraintViolation', originalCode: '23505' }),
      }),
    ],
    ['a missing file', error('x', { code: 'ENOENT', syscall: 'open' })],
    ['a text that quotes such an error', error('role "Connection terminated" is not known')],
    ['a defect', new TypeError('x is not a function')],
    ['a cause that is its own cause', cycle],
    ['a conflict', new Conflict('x')],
    ['no error', null],
    ['a text', 'ECONNRESET'],
  ])('does not include %s', (_, given) => {
    expect(unavailableOr(given)).toBe(given)
  })
})

describe('a pool whose server refuses connections', () => {
  let port: number
  beforeEach(async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    ;({ port } = probe.address() as AddressInfo)
    probe.close()
    await once(probe, 'close')
  })
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  it('makes every kind of statement fail with DatabaseUnavailable, and reports each failure', async () => {
    const pool = createPool({ databaseUrl: `postgres://x@127.0.0.1:${port}/x`, poolSize: 2 }, () => {})
    const db = createPrisma(pool)
    closing.push(
      () => db.$disconnect(),
      () => pool.end(),
    )
    const reported: unknown[] = []
    pool.onOutage((each) => void reported.push(each))
    const statements = [
      () => pool.query({ text: 'SELECT 1', scope: SYSTEM }),
      () => pool.queryAll('acme', [{ text: 'SELECT 1' }]),
      () => db.of('acme').conversation.findFirst(),
      () => db.of(SYSTEM).$queryRaw`SELECT 1`,
      () => withTransaction(db, 'acme', (tx) => tx.conversation.count()),
    ]
    for (const statement of statements) {
      await expect(statement()).rejects.toThrow(DatabaseUnavailable)
    }
    expect(reported).toHaveLength(statements.length)
  })
})

describe.each(backends)('the pool on $name', ({ open }) => {
  it('passes on other errors, those of the work in a transaction included', async () => {
    const { pool, db, close } = await open()
    const conflict = new Conflict('x')
    await expect(pool.query({ text: 'SELEC 1', scope: SYSTEM })).rejects.toMatchObject({ code: '42601' })
    await expect(pool.queryAll(SYSTEM, [{ text: 'SELEC 1' }])).rejects.toMatchObject({ code: '42601' })
    await expect(withTransaction(db, 'acme', () => Promise.reject(conflict))).rejects.toBe(conflict)
    await expect(db.of('acme').$queryRawUnsafe('SELEC 1')).rejects.toMatchObject({ code: 'P2010' })
    await close()
  })
})

describe('the log', () => {
  it('has one line for an outage every 10 seconds, and one for its end', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const on = { outage: [] as ((error: unknown) => void)[], connect: [] as (() => void)[] }
    const pool = {
      onOutage: (listener: (error: unknown) => void) => void on.outage.push(listener),
      on: (_: 'connect', listener: () => void) => void on.connect.push(listener),
    }
    const lines: string[] = []
    const log = {
      info: (_: object, text: string) => lines.push(text),
      warn: (_: object, text: string) => lines.push(text),
    }
    logOutages([pool, pool], log)
    const fail = (at: number) => on.outage[at]!(new Error('x'))
    on.connect[0]!()
    for (let n = 0; n < 100; n++) fail(n % 2)
    vi.advanceTimersByTime(10_001)
    fail(0)
    on.connect[1]!()
    on.connect[0]!()
    fail(1)
    vi.useRealTimers()
    const failed = 'the database is unavailable; operations fail with SERVER_BUSY'
    expect(lines).toEqual([failed, failed, 'connected to the database again', failed])
  })
})
