// The cost of verbs against the number of conversations of one owner, each with a few turns.

import { createConversation } from '../../../src/domain/conversation/conversation.ts'
import { recall } from '../../../src/domain/memory/recall/recall.ts'
import { clustered, embedder, words, WORDS_A_TURN } from '../corpus.ts'
import { appendTurns } from '../../../src/domain/turn/append/append.ts'
import { rateOf } from '../figures.ts'
import { measureSeries, type Series } from './series.ts'
import { appendSome, queryOf, settle, viewer, type World } from './world.ts'

const SIZES = [1, 100, 1_000, 10_000]
const TURNS = 2
const CALLERS = 32

const create = async ({ deps }: World, owner: string): Promise<string> => {
  const participants = [{ actor: 'ada' }, { actor: owner }]
  const input = { owner, participants, compaction: { strategy: 'NEVER' as const }, automaticTitle: false }
  return (await createConversation(deps, viewer, input)).conversation.id
}

/** Creates the conversations of an owner, with vectors of their turns. Returns the id of one of them. */
async function fillOwner(world: World, owner: string, size: number): Promise<string> {
  const { deps } = world
  let last = ''
  await rateOf(CALLERS, size, async () => {
    const conversationId = await create(world, owner)
    const content = Array.from({ length: TURNS }, () => ({ role: 'USER' as const, content: words(WORDS_A_TURN) }))
    const { turns } = await appendTurns(deps, viewer, { conversationId, turns: content })
    const vectors = turns.map(({ position, seq }) => ({ conversationId, position, seq, vector: clustered() }))
    await deps.vectors.write(embedder.name, vectors)
    last = conversationId
  })
  return last
}

export async function growthOfOwner(world: World): Promise<Series[]> {
  const { deps, progress } = world
  const ids = new Map<number, string>()
  const owner = (size: number) => `owner-${size}`
  for (const size of SIZES) {
    ids.set(size, await fillOwner(world, owner(size), size))
    progress(`${size} conversations of one owner are written`)
  }
  await settle(world)
  const id = (size: number) => ids.get(size)!
  const series = (verb: string, call: (size: number, n: number) => Promise<unknown>, reason: string | null = null) =>
    measureSeries({ verb, quantity: 'conversations', reason }, SIZES, call, progress)
  return [
    await series('append to one conversation', (size) => appendSome(world, id(size), 1)),
    await series(
      'recall over the owner',
      (size, n) =>
        recall(deps, viewer, { conversationId: id(size), scope: 'OWNER', query: queryOf(n), kinds: ['TURN'] }),
      `${TURNS} turns in each conversation, so the turns to search grow with the conversations`,
    ),
  ]
}
