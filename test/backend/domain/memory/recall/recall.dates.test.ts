// Turns are found by the days that they name, also relative to the time at which they were written.

import { describe, expect, it } from 'vitest'
import { indexTurns } from '../../../../../src/domain/memory/indexing/backfill.ts'
import * as domain from '../../../../../src/index.ts'
import { backends } from '../../../../support/backend.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld } from '../../../../support/world.ts'

/** A Friday. */
const FRIDAY = new Date('2023-05-12T09:00:00Z')

const CHATTER = ['soup', 'weather', 'new film', 'bread', 'music', 'garden', 'old car', 'coffee']

describe.each(backends)('a question about a date on $name', (backend) => {
  const world = useWorld(backend)

  async function diary() {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob')
    const write = (content: string) => tenant.append(conversationId, 'ada', content, { createdAt: FRIDAY })
    const turns = {
      today: await write('I am in Oslo today'),
      lastWeek: await write('I was in Rome last week'),
      twoMonthsAgo: await write('I was in Lima two months ago'),
      april3: await write('I was in Paris on April 3rd'),
      april5: await write('I was in Delhi on April 5th'),
      yesterday: await write('I was in Tunis yesterday'),
    }
    for (let i = 0; i < 40; i++) await write(`The ${CHATTER[i % CHATTER.length]} is quite good, I think`)
    const found = async (query: string) => {
      const input = { conversationId, query, kinds: ['TURN' as const], k: 1 }
      const { hits } = await domain.recall(world.deps, tenant.as('bob'), input)
      return hits.map(({ memory }) => (memory.kind === 'TURN' ? memory.turn.text : null))
    }
    return { conversationId, turns, found }
  }

  it.each([
    ['Where was Ada on 3 May 2023?', 'lastWeek'],
    ['Where was Ada on 11 May 2023?', 'yesterday'],
    ['Where was Ada on 12 May 2023?', 'today'],
    ['Where was Ada in March 2023?', 'twoMonthsAgo'],
    ['Where was Ada on 2023-04-03?', 'april3'],
    ['Where was Ada on 2023-04-05?', 'april5'],
  ] as const)('finds the turn that names it by another word: %j', async (query, expected) => {
    const { turns, found } = await diary()
    expect(await found(query)).toEqual([turns[expected].text])
  })

  it('finds it after the words of the turns are computed again, too', async () => {
    const { turns, found, conversationId } = await diary()
    await sql(world.deps.pool).query('UPDATE turn SET terms = NULL, cues = NULL WHERE conversation_id = $1', [
      conversationId,
    ])
    await indexTurns(world.deps)
    expect(await found('Where was Ada on 3 May 2023?')).toEqual([turns.lastWeek.text])
  })
})
