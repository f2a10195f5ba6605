// The connections for reads: the time limit of their statements, and the share of each tenant.

import { describe, expect, it, vi } from 'vitest'
import { loadConfig } from '../../../../../src/config/config.ts'
import { ReadTimeout } from '../../../../../src/errors.ts'
import { createRequestContext } from '../../../../../src/graphql/kernel/request.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'
import { sql } from '../../../../support/sql.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

const LIMITS = loadConfig({}).operationLimits
const READ_TIMEOUT_MS = 300

// The embedded database has no time limit of statements, and one connection.
const backend = backends.at(-1)!
describe.runIf(backend.name === 'postgres')('reads (needs TEST_DATABASE_URL)', () => {
  const world = useWorld(backend, { readTimeoutMs: READ_TIMEOUT_MS })
  const contextOf = (tenant: string) => createRequestContext(world.deps, { tenant, actor: 'ada' }, LIMITS)

  it.each<[string, (deps: typeof world.deps) => Promise<unknown>]>([
    ['pg', ({ pool }) => sql(pool).query('SELECT pg_sleep(10)')],
    ['Prisma', ({ db }) => db.of(SYSTEM).$queryRaw`SELECT pg_sleep(10)::text`],
  ])('through %s end at the time limit, with an error that names it', async (_, read) => {
    const { reading, work } = contextOf('acme')
    await expect(work.read(() => read(reading))).rejects.toEqual(new ReadTimeout(READ_TIMEOUT_MS))
    expect(new ReadTimeout(READ_TIMEOUT_MS).message).toContain('0.3 seconds')
  })

  it('of one tenant leave a connection for other tenants', async () => {
    const slow = contextOf('slow')
    const all = Array.from({ length: 40 }, () =>
      contextOf('slow')
        .work.read(() => sql(slow.reading.pool).query('SELECT pg_sleep(0.2)'))
        .catch(() => {}),
    )
    await vi.waitFor(() => expect(world.deps.reads.pool.totalCount).toBeGreaterThan(1))
    const { reading, work } = contextOf('quick')
    const query = work.read(() => sql(reading.pool).query('SELECT 1 AS one'))
    const isSlow = await Promise.race([query.then(() => false), Promise.all(all).then(() => true)])
    expect(isSlow).toBe(false)
    expect(world.deps.reads.pool.waitingCount).toBe(0)
    await Promise.all(all)
  })

  it('on the connections of writes and background work have no time limit', async () => {
    const { deps } = contextOf('acme')
    expect((await sql(deps.pool).query('SELECT pg_sleep(0.5), 1 AS one')).rows).toMatchObject([{ one: 1 }])
  })
})
