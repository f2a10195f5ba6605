// One ranking for turns and facts: the share of the questions of small worlds that the first hit answers, and one of the
// first three hits. The worlds of held-out were never looked at while the ranking was tuned.

import { describe, expect, it } from 'vitest'
import { recall } from '../../../../src/domain/recall/recall.ts'
import { backends } from '../../../support/backend.ts'
import { textOf } from '../../../support/recall.ts'
import { readSmallWorlds, writeSmallWorld } from '../../../support/small-worlds.ts'
import { useWorld } from '../../../support/world.ts'

/** The least share of questions that the first hit, and one of the first three hits, must answer, in percent. */
const LEAST = { tuning: { first: 80, three: 93 }, 'held-out': { first: 75, three: 90 } }

describe.each(backends)('recall in small worlds, on $name', (backend) => {
  const world = useWorld(backend)

  it.each(['tuning', 'held-out'] as const)('answers the questions of %s by its first hits', async (set) => {
    const places: number[] = []
    const wrong: string[] = []
    for (const small of readSmallWorlds(set)) {
      const tenant = world.tenant()
      const { conversationId, ids } = await writeSmallWorld(world.deps, tenant.as, small)
      for (const { query, right } of small.questions) {
        const { hits } = await recall(world.deps, tenant.as('owner'), { query, conversationId, k: 10 })
        const found = hits.map(({ memory }) =>
          ids.get(memory.kind === 'TURN' ? memory.turn.id : memory.kind === 'FACT' ? memory.fact.id : '')!,
        )
        const place = found.findIndex((id) => right.includes(id))
        places.push(place)
        if (place !== 0)
          wrong.push(
            `${small.name}: ${query} [${right.join()} at ${place}] ${hits
              .slice(0, 3)
              .map(
                ({ memory, score, relevance }) =>
                  `${textOf(memory).slice(0, 60)} (${score.toFixed(2)} ${relevance.toFixed(2)})`,
              )
              .join(' | ')}`,
          )
      }
    }
    const share = (within: number) =>
      (100 * places.filter((place) => place >= 0 && place < within).length) / places.length
    console.log(`small worlds, ${set}, ${backend.name}: first ${share(1)} %, first three ${share(3)} %`)
    if (process.env.SHOW === set) console.log(wrong.join('\n'))
    expect(share(1)).toBeGreaterThanOrEqual(LEAST[set].first)
    expect(share(3)).toBeGreaterThanOrEqual(LEAST[set].three)
  })
})
