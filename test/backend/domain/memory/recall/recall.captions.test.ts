// Turns with files are found by the captions of the files: by their words and, once embedded, by their meaning.

import { describe, expect, it } from 'vitest'
import { indexTurns } from '../../../../../src/domain/memory/indexing/backfill.ts'
import * as domain from '../../../../../src/index.ts'
import { backends } from '../../../../support/backend.ts'
import { waitForTurnVectors } from '../../../../support/recall.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld } from '../../../../support/world.ts'

describe.each(backends)('captions on $name', (backend) => {
  const world = useWorld(backend)

  async function album() {
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    const conversationId = await tenant.newConversation('ann', 'bob')
    const show = async (caption: string | null, audience?: string[]) => {
      const file = { mediaType: 'image/jpeg', url: 'https://photos.example/1.jpg', caption }
      const turn = { role: 'USER' as const, parts: [{ text: 'Look at this!' }, { file }], audience }
      return (await domain.appendTurn(world.deps, ann, { conversationId, turn })).turn
    }
    const turns = [
      await show('A golden retriever puppy plays with a ball'),
      await show('A sunset over the harbour'),
      await show(null),
      await show('A birthday cake with candles', ['ann']),
    ]
    await waitForTurnVectors(world.deps, turns)
    const found = async (actor: string, query: string) => {
      const { hits } = await domain.recall(world.deps, tenant.as(actor), {
        conversationId,
        query,
        kinds: ['TURN'],
        k: 1,
      })
      return hits.map(({ memory }) => (memory.kind === 'TURN' ? memory.turn.id : null))
    }
    return { conversationId, turns, found, ann }
  }

  it('find their turn by their words, and by other words with the same meaning', async () => {
    const { turns, found } = await album()
    expect(await found('bob', 'Who has a retriever?')).toEqual([turns[0]!.id])
    expect(await found('bob', 'Which photo shows a dog?')).toEqual([turns[0]!.id])
    expect(await found('bob', 'Where was the sunset?')).toEqual([turns[1]!.id])
  })

  it('of a whisper find it for its audience only', async () => {
    const { turns, found } = await album()
    expect(await found('ann', 'birthday candles')).toEqual([turns[3]!.id])
    expect(await found('bob', 'birthday candles')).not.toEqual([turns[3]!.id])
  })

  it('find their turn after its words are computed again, and not once it is erased', async () => {
    const { turns, found, ann, conversationId } = await album()
    await sql(world.deps.pool).query('UPDATE turn SET terms = NULL, cues = NULL WHERE conversation_id = $1', [
      conversationId,
    ])
    await indexTurns(world.deps)
    expect(await found('bob', 'retriever')).toEqual([turns[0]!.id])
    await domain.eraseTurn(world.deps, ann, { turnId: turns[0]!.id })
    expect(await found('bob', 'retriever')).not.toEqual([turns[0]!.id])
  })
})
