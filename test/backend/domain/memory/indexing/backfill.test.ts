// Backfill of the word index: turns without an entry get the entry that they would get if they were written now. Each
// turn is indexed once, even if several processes run.

import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { indexTurns } from '../../../../../src/domain/memory/indexing/backfill.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { withTransaction } from '../../../../../src/store/db/tx.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'

const role = 'USER'

/** Whether the statement writes terms. */
const isWrite = ({ text }: { text?: string }) => text?.startsWith('UPDATE turn t SET terms') ?? false

describe.each(backends)('the backfill of the word index on $name', (backend) => {
  const world = useWorld(backend)
  const tenants: Tenant[] = []
  const conversationIds: string[] = []
  const run = () => indexTurns(world.deps)
  const query = async (text: string, values: unknown[] = []) => (await sql(world.deps.pool).query(text, values)).rows

  const indexed = () => query('SELECT id, status, terms, cues FROM turn ORDER BY id')
  const clearEntries = () => query('UPDATE turn SET terms = NULL, cues = NULL')

  beforeAll(async () => {
    // 1,260 turns of two tenants and one long turn: three batches, the last one not full.
    for (let i = 0; i < 2; i++) {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ada')
      await appendTurns(world.deps, tenant.as('ada'), {
        conversationId,
        turns: Array.from({ length: 630 }, (_, n) => ({ role, content: `Did Carla see ${n} tulips, or ${n % 7}?` })),
      })
      tenants.push(tenant)
      conversationIds.push(conversationId)
    }
    const long = `${'tulip '.repeat(11_000)}fence?`
    await tenants[0]!.append(conversationIds[0]!, 'Zoë', long)
    const ada = tenants[0]!.as('ada')
    for (const end of [abortTurn, null]) {
      const {
        turn: { id },
      } = await openTurn(world.deps, ada, { writerToken: WRITER, conversationId: conversationIds[0]!, turn: { role } })
      await appendDelta(world.deps, ada, { writerToken: WRITER, turnId: id, text: 'not finished' })
      await end?.(world.deps, ada, { writerToken: WRITER, turnId: id })
    }
  })
  afterEach(() => vi.restoreAllMocks())

  it('finds nothing if all turns are indexed', async () => {
    expect(await run()).toBe(0)
  })

  it('gives every committed turn the entry that it got when it was written, in batches', async () => {
    const before = await indexed()
    expect(before.filter(({ terms }) => terms !== null)).toHaveLength(1_261)
    await clearEntries()
    const statements = vi.spyOn(world.deps.pool, 'query')
    expect(await run()).toBe(1_261)
    // The same turns are embedded meanwhile, so only the statements of the backfill are counted.
    const texts = statements.mock.calls.map(([statement]) => (statement as unknown as { text?: string }).text ?? '')
    expect(texts.filter((text) => text.includes('FROM turn WHERE terms IS NULL') || isWrite({ text }))).toHaveLength(6)
    statements.mockRestore()
    expect(await indexed()).toEqual(before)
    expect(before.filter(({ status, terms }) => (terms === null) !== (status !== 'COMMITTED'))).toEqual([])
    expect(await run()).toBe(0)
  })

  it('indexes each turn once if several processes run', async () => {
    const before = await indexed()
    await clearEntries()
    const counts = await Promise.all([run(), run(), run(), run()])
    expect((await run()) + counts.reduce((sum, count) => sum + count, 0)).toBe(1_261)
    expect(await indexed()).toEqual(before)
  })

  it('resumes after an interruption', async () => {
    const before = await indexed()
    await query('UPDATE turn SET terms = NULL WHERE id IN (SELECT id FROM turn ORDER BY id LIMIT 40)')
    expect(await run()).toBe(40)
    expect(await indexed()).toEqual(before)
  })

  it('keeps an entry that is written between the read and the write of the backfill', async () => {
    const [first] = await query('SELECT id, terms, cues FROM turn ORDER BY id LIMIT 1')
    const { id, terms, cues } = first!
    await query('UPDATE turn SET terms = NULL WHERE id = $1', [id])
    const realQuery = world.deps.pool.query.bind(world.deps.pool) as (...args: unknown[]) => Promise<unknown>
    vi.spyOn(world.deps.pool, 'query').mockImplementation((async (call: { text?: string }, ...rest: unknown[]) => {
      if (isWrite(call)) await realQuery(`UPDATE turn SET terms = '{7}' WHERE id = $1`, [id])
      return realQuery(call, ...rest)
    }) as never)
    expect(await run()).toBe(0)
    vi.restoreAllMocks()
    expect(await query('SELECT terms FROM turn WHERE id = $1', [id])).toEqual([{ terms: [7] }])
    await query('UPDATE turn SET terms = $2, cues = $3 WHERE id = $1', [id, terms, cues])
  })

  // The embedded database has one connection, so no other client can lock a turn.
  if (backend.name === 'postgres')
    it('does not wait for turns that another client has locked', async () => {
      await clearEntries()
      const indexedCount = await withTransaction(world.deps.db, SYSTEM, async (tx) => {
        await tx.$queryRaw`SELECT id FROM turn ORDER BY id LIMIT 600 FOR UPDATE`
        return run()
      })
      // The first batch could not be written, so the run stopped.
      expect(indexedCount).toBe(0)
      expect(await run()).toBe(1_261)
    })

  it('reads unindexed turns through the partial index', async () => {
    const [{ definition }] = (await query(
      `SELECT indexdef AS definition FROM pg_indexes WHERE indexname = 'turn_unindexed'`,
    )) as [{ definition: string }]
    expect(definition).toContain(`WHERE ((terms IS NULL) AND (status = 'COMMITTED'::turn_status))`)
    await query('ANALYZE turn') // Otherwise the plan depends on when autovacuum ran.
    const rows = await query(`EXPLAIN SELECT * FROM turn
      WHERE terms IS NULL AND status = 'COMMITTED' ORDER BY id LIMIT 500`)
    // The index has other names in partitions.
    expect(JSON.stringify(rows)).toMatch(/turn_unindexed|turn_\d_id_idx/)
  })
})
