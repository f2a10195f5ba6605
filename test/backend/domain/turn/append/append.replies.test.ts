// Replies: a turn names a turn of the same conversation that its author sees.

import { describe, expect, it } from 'vitest'
import { addParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { InvalidInput } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

describe.each(backends)('a reply on $name', (backend) => {
  const world = useWorld(backend)

  /** A conversation of ann, bob and eve with a public turn and a turn of ann for bob; "new" joined after both. */
  const start = async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', 'eve')
    const open = await tenant.append(conversationId, 'ann', 'hello')
    const secret = await tenant.append(conversationId, 'ann', 'psst', { audience: ['bob'] })
    const participant = { actor: 'new', historyVisibility: 'SINCE_JOINED' as const }
    await addParticipant(world.deps, tenant.as('ann'), { conversationId, participant })
    const reply = (actor: string, replyToId: string) => tenant.append(conversationId, actor, 'yes', { replyToId })
    return { tenant, conversationId, open, secret, reply }
  }

  it('names a turn that its author sees, in every way to write a turn', async () => {
    const { tenant, conversationId, open, secret, reply } = await start()
    expect(await reply('eve', open.id)).toMatchObject({ replyToId: open.id })
    expect(await reply('bob', secret.id)).toMatchObject({ replyToId: secret.id })
    const turn = { role: 'USER' as const, replyToId: open.id }
    const turns = [{ ...turn, content: 'a' }]
    const [batched] = (await appendTurns(world.deps, tenant.as('eve'), { conversationId, turns })).turns
    const input = { conversationId, turn, writerToken: WRITER }
    const { turn: opened } = await openTurn(world.deps, tenant.as('eve'), input)
    const stored = await getTurns(world.deps, tenant.as('eve'), [batched!.id, opened.id])
    for (const { id } of [batched!, opened]) expect(stored.get(id)).toMatchObject({ replyToId: open.id })
    const { turn: edited } = await supersedeTurn(world.deps, tenant.as('eve'), {
      turnId: batched!.id,
      turn: { role: 'USER', content: 'b', replyToId: opened.id },
    })
    expect(edited.replyToId).toBe(opened.id)
  })

  it('fails alike for a turn outside the view, of another conversation, and for an unknown turn', async () => {
    const { tenant, conversationId, open, secret, reply } = await start()
    const other = await start()
    const own = await reply('eve', open.id)
    const unknown = `turn_${'0'.repeat(26)}`
    const before = await tenant.lastSeq(conversationId)
    for (const [actor, { id }] of [
      ['eve', secret],
      ['new', open],
      ['eve', other.open],
      ['eve', { id: unknown }],
    ] as const) {
      const error = await reply(actor, id).catch((reason: Error) => reason)
      expect(error).toBeInstanceOf(InvalidInput)
      const message = `turn.replyToId: is ${id}; the author sees no such turn in the conversation`
      expect((error as Error).message).toBe(message)
      if (actor === 'new') continue
      const edit = { turnId: own.id, turn: { role: 'USER' as const, content: 'b', replyToId: id } }
      await expect(supersedeTurn(world.deps, tenant.as(actor), edit)).rejects.toThrow(message)
    }
    const turn = { role: 'USER' as const, content: 'a', replyToId: 'conv_1' }
    await expect(appendTurn(world.deps, tenant.as('eve'), { conversationId, turn })).rejects.toThrow(
      'turn.replyToId: is not the id of a turn',
    )
    expect(await tenant.lastSeq(conversationId)).toBe(before)
  })
})
