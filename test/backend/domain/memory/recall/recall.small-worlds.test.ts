// One ranking for turns and facts: the share of the questions of small worlds that the first hit answers, and one of the
// first three hits. The worlds of held-out were never looked at while the ranking was tuned.

import { describe, expect, it } from 'vitest'
import type { Memory } from '../../../../../src/domain/memory/recall/memory.ts'
import { recall } from '../../../../../src/domain/memory/recall/recall.ts'
import { backends } from '../../../../support/backend.ts'
import { readSmallWorlds, writeSmallWorld } from '../../../../support/small-worlds.ts'
import { useWorld } from '../../../../support/world.ts'

const idOf = (memory: Memory) =>
  memory.kind === 'TURN' ? memory.turn.id : memory.kind === 'FACT' ? memory.fact.id : memory.summary.id

/** The least share of questions that the first hit, and one of the first three hits, must answer, in percent. */
const LEAST = { tuning: { first: 89, three: 97 }, 'held-out': { first: 90, three: 98 } }

describe.each(backends)('recall in small worlds, on $name', (backend) => {
  const world = useWorld(backend)

  it.each(['tuning', 'held-out'] as const)('answers the questions of %s by its first hits', async (set) => {
    const places: number[] = []
    for (const small of readSmallWorlds(set)) {
      const tenant = world.tenant()
      const { conversationId, ids } = await writeSmallWorld(world.deps, tenant.as, small)
      for (const { query, right } of small.questions) {
        const { hits } = await recall(world.deps, tenant.as('owner'), { query, conversationId, k: 10 })
        places.push(hits.findIndex(({ memory }) => right.includes(ids.get(idOf(memory))!)))
      }
    }
    const share = (within: number) =>
      (100 * places.filter((place) => place >= 0 && place < within).length) / places.length
    console.log(`small worlds, ${set}, ${backend.name}: first ${share(1)} %, first three ${share(3)} %`)
    expect(share(1)).toBeGreaterThanOrEqual(LEAST[set].first)
    expect(share(3)).toBeGreaterThanOrEqual(LEAST[set].three)
  })
})
