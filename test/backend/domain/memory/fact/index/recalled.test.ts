// Marking facts as recalled, also while another transaction has locked one of them.

import pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { createRecalledFacts } from '../../../../../../src/domain/memory/fact/index/recalled.ts'
import { recordFacts } from '../../../../../../src/domain/memory/fact/record.ts'
import { SYSTEM } from '../../../../../../src/store/db/scope.ts'
import { backends } from '../../../../../support/backend.ts'
import { useWorld } from '../../../../../support/world.ts'

describe.each(backends)('marking facts as recalled, on $name', (backend) => {
  const world = useWorld(backend)

  async function record(...objects: string[]): Promise<string[]> {
    const facts = objects.map((object) => ({ subject: 'Ada', predicate: 'knows', object }))
    return (await recordFacts(world.deps, world.tenant().as('ada'), { facts })).facts.map(({ id }) => id)
  }
  const recalledAt = async (id: string) =>
    (await world.deps.db.of(SYSTEM).fact.findUniqueOrThrow({ where: { id } })).recalledAt

  it('keeps the time of the first recall', async () => {
    const [fact, other] = await record('melons', 'skating')
    const recalled = createRecalledFacts(world.deps)
    recalled.add([fact!])
    await vi.waitFor(async () => expect(await recalledAt(fact!)).toBeInstanceOf(Date))
    const first = await recalledAt(fact!)
    recalled.add([fact!])
    await recalled.stop()
    expect([await recalledAt(fact!), await recalledAt(other!)]).toEqual([first, null])
  })

  // The embedded database has one connection, so no other transaction can hold a lock.
  it.runIf(backend.name === 'postgres')('marks a locked fact once it is unlocked, and others before', async () => {
    const [locked, other] = await record('melons', 'skating')
    const client = new pg.Client(world.url)
    await client.connect()
    const recalled = createRecalledFacts(world.deps)
    try {
      await client.query('BEGIN')
      await client.query('SELECT FROM fact WHERE id = $1 FOR UPDATE', [locked])
      recalled.add([locked!, other!])
      await vi.waitFor(async () => expect(await recalledAt(other!)).toBeInstanceOf(Date))
      expect(await recalledAt(locked!)).toBe(null)
      await client.query('COMMIT')
      await vi.waitFor(async () => expect(await recalledAt(locked!)).toBeInstanceOf(Date))
    } finally {
      await recalled.stop()
      await client.end()
    }
  })
})
