// Transactions: all or nothing, and callbacks that run only after the commit.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { withTransaction } from '../../../../src/store/db/tx.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { sql } from '../../../support/sql.ts'

describe.each(backends)('withTransaction on $name', ({ open }) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())

  const newConversation = (id: string) => ({ data: { id, tenant: 'acme', owner: 'ann' } })
  const exists = async (id: string) =>
    (await sql(opened.pool).query('SELECT FROM conversation WHERE id = $1', [id])).rowCount === 1

  it('commits, and returns the result of the callback', async () => {
    const { id } = await withTransaction(opened.db, 'acme', (tx) => tx.conversation.create(newConversation('kept')))
    expect(id).toBe('kept')
    expect(await exists('kept')).toBe(true)
  })

  it('rolls back when the callback throws, and rethrows the error', async () => {
    const reason = new Error('thrown by the test')
    const work = withTransaction(opened.db, 'acme', async (tx) => {
      await tx.conversation.create(newConversation('dropped'))
      throw reason
    })
    await expect(work).rejects.toBe(reason)
    expect(await exists('dropped')).toBe(false)
  })

  it('is READ COMMITTED', async () => {
    const level = await withTransaction(opened.db, 'acme', (tx) => tx.$queryRaw`SHOW transaction_isolation`)
    expect(level).toEqual([{ transaction_isolation: 'read committed' }])
  })

  it('runs after-commit callbacks once, in order', async () => {
    const done: string[] = []
    let visible: Promise<boolean> | undefined
    await withTransaction(opened.db, 'acme', async (tx, afterCommit) => {
      afterCommit(() => done.push('first'))
      afterCommit(() => (visible = exists('announced')))
      await tx.conversation.create(newConversation('announced'))
      afterCommit(() => done.push('last'))
      expect(done).toEqual([])
    })
    expect(done).toEqual(['first', 'last'])
    expect(await visible).toBe(true)
  })

  it('runs no after-commit callback when the callback throws', async () => {
    let done = false
    const work = withTransaction(opened.db, 'acme', async (tx, afterCommit) => {
      await tx.$queryRaw`SELECT 1`
      afterCommit(() => (done = true))
      throw new Error('no')
    })
    await expect(work).rejects.toThrow('no')
    expect(done).toBe(false)
  })

  it('runs no after-commit callback when the commit fails', async () => {
    await sql(opened.pool).query(`
      CREATE TABLE deferred (id integer PRIMARY KEY, other integer REFERENCES deferred INITIALLY DEFERRED);
      GRANT ALL ON deferred TO colloquy_app`)
    let done = false
    const work = withTransaction(opened.db, 'acme', async (tx, afterCommit) => {
      await tx.$executeRaw`INSERT INTO deferred VALUES (1, 2)`
      afterCommit(() => (done = true))
    })
    await expect(work).rejects.toThrow(/foreign ?key/i)
    expect(done).toBe(false)
    await sql(opened.pool).query('DROP TABLE deferred')
  })

  it('succeeds with a warning when an after-commit callback fails', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const done: string[] = []
    const result = await withTransaction(opened.db, 'acme', async (tx, afterCommit) => {
      await tx.$queryRaw`SELECT 1`
      afterCommit(() => {
        throw new Error('no bus')
      })
      afterCommit(() => done.push('still'))
      return 'committed'
    })
    expect(result).toBe('committed')
    expect(done).toEqual(['still'])
    expect(warn.mock.calls).toEqual([[new Error('no bus')]])
    warn.mockRestore()
  })

  it('runs fifty concurrent transactions, each atomically', async () => {
    await sql(opened.pool).query('CREATE TABLE counter AS SELECT 0 AS n; GRANT ALL ON counter TO colloquy_app')
    const add = () =>
      withTransaction(opened.db, 'acme', async (tx) => {
        const [row] = await tx.$queryRaw<[{ n: number }]>`SELECT n FROM counter FOR UPDATE`
        await tx.$executeRaw`UPDATE counter SET n = ${row.n + 1}::integer`
      })
    await Promise.all(Array.from({ length: 50 }, add))
    expect((await sql(opened.pool).query('SELECT n FROM counter')).rows).toEqual([{ n: 50 }])
    await sql(opened.pool).query('DROP TABLE counter')
  })
})
