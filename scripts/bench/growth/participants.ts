// The cost of verbs against the number of participants of one conversation.

import { buildContext } from '../../../src/domain/memory/context/build.ts'
import { addParticipant } from '../../../src/domain/conversation/participant/participant.ts'
import { recall } from '../../../src/domain/memory/recall/recall.ts'
import { pageOfTurns } from '../../../src/domain/turn/history.ts'
import { measureSeries, type Series } from './series.ts'
import { appendSome, createUncompacted, queryOf, settle, viewer, type World } from './world.ts'

const SIZES = [2, 10, 100, 1_000]
const TURNS = 200

export async function growthOfParticipants(world: World): Promise<Series[]> {
  const { deps, progress } = world
  const ids = new Map<number, string>()
  for (const size of SIZES) {
    const id = await createUncompacted(world, size)
    await appendSome(world, id, TURNS)
    ids.set(size, id)
  }
  await settle(world)
  const id = (size: number) => ids.get(size)!
  const series = (verb: string, call: (size: number, n: number) => Promise<unknown>, reason: string | null = null) =>
    measureSeries({ verb, quantity: 'participants', reason }, SIZES, call, progress)
  return [
    await series('append', (size) => appendSome(world, id(size), 1)),
    await series('page of 50', (size) => pageOfTurns(deps, viewer, [id(size)], { last: 50 })),
    await series('recall in the conversation', (size, n) =>
      recall(deps, viewer, { conversationId: id(size), query: queryOf(n), kinds: ['TURN'] }),
    ),
    await series('context of 20 turns', (size) =>
      buildContext(deps, viewer, { conversationId: id(size), tokenBudget: 8_000, recentTurns: 20 }),
    ),
    // The actor is already a participant, so the number of participants stays the same.
    await series('addParticipant of a participant', (size) =>
      addParticipant(deps, viewer, { conversationId: id(size), participant: { actor: 'reader-0' } }),
    ),
  ]
}
