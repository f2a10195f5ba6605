// The cost of verbs against the number of turns of one conversation.

import { buildContext } from '../../../src/domain/memory/context/build.ts'
import { getConversations } from '../../../src/domain/conversation/conversation.ts'
import { recall } from '../../../src/domain/memory/recall/recall.ts'
import { pageOfTurns } from '../../../src/domain/turn/history.ts'
import { buildVectorIndex } from '../../../src/store/vectors/vector-index.ts'
import { embedder, fillConversation } from '../corpus.ts'
import { measureSeries, type Series } from './series.ts'
import { appendSome, queryOf, settle, viewer, type World } from './world.ts'

const SIZES = [1_000, 10_000, 100_000]

export async function growthOfTurns(world: World, isLarge: boolean): Promise<Series[]> {
  const { deps, url, progress } = world
  const sizes = isLarge ? [...SIZES, 1_000_000] : SIZES
  const ids = new Map<number, string>()
  for (const size of sizes) {
    ids.set(size, await fillConversation(deps, `owner-of-${size}`, size))
    progress(`a conversation of ${size} turns is written`)
  }
  const total = sizes.reduce((sum, size) => sum + size, 0)
  await buildVectorIndex(url, embedder, { from: 0, to: total + 1, rows: total })
  await settle(world)
  const id = (size: number) => ids.get(size)!
  const plans: string[] = []
  for (const size of sizes) {
    const { plan } = await recall(deps, viewer, { conversationId: id(size), query: queryOf(0), kinds: ['TURN'] })
    plans.push(`${plan.vectorSearch}, ${plan.candidates} candidates`)
  }
  const how = `vectors and candidates by size: ${plans.join('; ')}`
  const series = (verb: string, call: (size: number, n: number) => Promise<unknown>, reason: string | null = null) =>
    measureSeries({ verb, quantity: 'turns', reason }, sizes, call, progress)
  const context = { tokenBudget: 8_000, recentTurns: 20 }
  return [
    await series('append', (size) => appendSome(world, id(size), 1)),
    await series('conversation by id', (size) => getConversations(deps, viewer, [id(size)])),
    await series('page of 50', (size) => pageOfTurns(deps, viewer, [id(size)], { last: 50 })),
    await series(
      'recall in the conversation',
      (size, n) => recall(deps, viewer, { conversationId: id(size), query: queryOf(n), kinds: ['TURN'] }),
      how,
    ),
    await series('context of 20 turns', (size) => buildContext(deps, viewer, { conversationId: id(size), ...context })),
    await series(
      'context of 20 turns and 10 recalled',
      (size, n) => {
        const semanticRecall = { k: 10 }
        return buildContext(deps, viewer, { conversationId: id(size), ...context, semanticRecall, query: queryOf(n) })
      },
      `the recall: ${how}`,
    ),
  ]
}
