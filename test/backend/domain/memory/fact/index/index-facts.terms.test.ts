// Backfill of the terms of facts: facts without terms get those that they would get if they were recorded now.

import { expect, describe, it } from 'vitest'
import { indexFacts } from '../../../../../../src/domain/memory/fact/index/index-facts.ts'
import { recordFacts } from '../../../../../../src/domain/memory/fact/record.ts'
import { backends } from '../../../../../support/backend.ts'
import { sql } from '../../../../../support/sql.ts'
import { useWorld } from '../../../../../support/world.ts'

describe.each(backends)('the backfill of terms of facts on $name', (backend) => {
  const world = useWorld(backend)
  const query = async (text: string) => (await sql(world.deps.pool).query(text)).rows

  it('gives each fact of each tenant the terms that it got when it was recorded', async () => {
    for (const objects of [['tulips', 'Rosen und Nelken'], ['old lighthouses']]) {
      const tenant = world.tenant()
      const facts = objects.map((object) => ({ userId: 'ada', subject: 'Ada', predicate: 'likes', object }))
      await recordFacts(world.deps, tenant.as('ada'), { facts })
    }
    const stored = () => query('SELECT id, terms FROM fact ORDER BY id')
    const before = await stored()
    expect(before.map(({ terms }) => terms.length).toSorted()).toEqual([3, 4, 4])

    expect(await indexFacts(world.deps)).toBe(0)
    await query('UPDATE fact SET terms = NULL')
    expect(await indexFacts(world.deps)).toBe(3)
    expect(await stored()).toEqual(before)
  })
})
