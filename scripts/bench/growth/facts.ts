// The cost of verbs against the number of facts of one conversation.

import { buildContext } from '../../../src/domain/memory/context/build.ts'
import { getFactPage } from '../../../src/domain/memory/fact/fact.ts'
import { recall } from '../../../src/domain/memory/recall/recall.ts'
import { writeFacts } from '../facts.ts'
import { measureSeries, type Series } from './series.ts'
import { appendSome, createUncompacted, queryOf, settle, viewer, type World } from './world.ts'

const SIZES = [0, 1_000, 10_000, 100_000]
const TURNS = 50

export async function growthOfFacts(world: World): Promise<Series[]> {
  const { deps, pool, progress } = world
  const ids = new Map<number, string>()
  for (const size of SIZES) {
    const id = await createUncompacted(world)
    await appendSome(world, id, TURNS)
    await writeFacts(pool, id, size)
    ids.set(size, id)
    progress(`${size} facts are written`)
  }
  await settle(world)
  const id = (size: number) => ids.get(size)!
  const series = (verb: string, call: (size: number, n: number) => Promise<unknown>, reason: string | null = null) =>
    measureSeries({ verb, quantity: 'facts', reason }, SIZES, call, progress)
  return [
    await series('append', (size) => appendSome(world, id(size), 1)),
    await series('page of 50 facts', (size) =>
      getFactPage(deps, viewer, { first: 50, filter: { conversationId: id(size) } }),
    ),
    await series(
      'recall of facts',
      (size, n) => recall(deps, viewer, { conversationId: id(size), query: queryOf(n), kinds: ['FACT'] }),
      'its statement compares every fact of the scope with the query, by words and by vectors',
    ),
    await series(
      'context with facts',
      (size) => buildContext(deps, viewer, { conversationId: id(size), tokenBudget: 4_000, includeFacts: true }),
      'its statement looks up every fact with a source in the conversation, to select the facts of other conversations',
    ),
  ]
}
