// Tool calls and their results, and the atomicity of batches.

import { describe, expect, it } from 'vitest'
import type { PartInput } from '../../../../../src/domain/turn/content.ts'
import { appendTurn, appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import type { TurnInput } from '../../../../../src/domain/turn/append/turn-input.ts'
import { pageOfTurns } from '../../../../../src/domain/turn/history.ts'
import { Conflict, InvalidInput } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'

const call = (callId: string): PartInput => ({ toolCall: { callId, name: 'look', arguments: { for: 'it' } } })
const result = (callId: string): PartInput => ({ toolResult: { callId, name: 'look', result: { found: true } } })

describe.each(backends)('tool calls and batches on $name', (backend) => {
  const world = useWorld(backend)

  async function conversationOf(...actors: string[]) {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(...actors)
    const append = (actor: string, parts: PartInput[], more: Partial<TurnInput> = {}) =>
      appendTurn(world.deps, tenant.as(actor), { conversationId, turn: { role: 'ASSISTANT', parts, ...more } }).then(
        ({ turn }) => turn,
      )
    const batch = (...turns: [actor: string, parts: PartInput[], more?: Partial<TurnInput>][]) =>
      appendTurns(world.deps, tenant.as('agent'), {
        conversationId,
        turns: turns.map(([actor, parts, more]) => ({ role: 'ASSISTANT', actor, parts, ...more })),
      }).then(({ turns }) => turns)
    const before = (await tenant.lastSeq(conversationId))!
    const expectNothingNew = async () => expect(await tenant.lastSeq(conversationId)).toBe(before)
    return { tenant, conversationId, append, batch, expectNothingNew }
  }

  describe('a tool result', () => {
    it('needs a call, and the error names the missing call', async () => {
      const { append, batch, expectNothingNew } = await conversationOf('agent', 'tool')
      await expect(append('tool', [result('k1')])).rejects.toThrow(InvalidInput)
      await expect(append('tool', [result('k1')])).rejects.toThrow(
        'turn.parts: answers tool call "k1", which is not in the conversation',
      )
      await expect(batch(['agent', [{ text: 'a' }]], ['tool', [result('k1')]])).rejects.toThrow('turns.1.parts')
      await expectNothingNew()
    })

    it('finds its call in an earlier turn, earlier in the batch, or earlier in the turn', async () => {
      const { append, batch } = await conversationOf('agent', 'tool')
      await append('agent', [call('k1'), call('k2')])
      await append('tool', [result('k1')])
      await append('tool', [result('k2'), { text: 'and again' }, result('k1')])
      await batch(['agent', [call('k3')]], ['tool', [result('k3'), result('k2')]])
      await append('agent', [call('k4'), result('k4')])
    })

    it('does not match a later call', async () => {
      const { append, batch, expectNothingNew } = await conversationOf('agent', 'tool')
      await expect(append('agent', [result('k'), call('k')])).rejects.toThrow('"k"')
      await expect(batch(['tool', [result('k')]], ['agent', [call('k')]])).rejects.toThrow('"k"')
      await expectNothingNew()
    })

    it('does not match a call in another conversation', async () => {
      const [one, other] = [await conversationOf('agent'), await conversationOf('agent')]
      await one.append('agent', [call('k')])
      await expect(other.append('agent', [result('k')])).rejects.toThrow(InvalidInput)
    })

    it('to a private call is accepted only from an actor who can see the call', async () => {
      const { append } = await conversationOf('agent', 'tool', 'eve')
      await append('agent', [call('secret')], { audience: ['tool'] })
      await expect(append('eve', [result('secret')])).rejects.toThrow('answers tool call "secret"')
      await append('tool', [result('secret')], { audience: ['agent'] })
    })

    it('to a private call earlier in the batch is accepted only from an actor who can see the call', async () => {
      const { batch, expectNothingNew } = await conversationOf('agent', 'tool', 'eve')
      await expect(
        batch(['agent', [call('secret')], { audience: ['tool'] }], ['eve', [result('secret')]]),
      ).rejects.toThrow('answers tool call "secret"')
      await expectNothingNew()
    })

    it('matches a public call if a private call has the same id', async () => {
      const { append } = await conversationOf('agent', 'tool', 'eve')
      await append('agent', [call('k')], { audience: ['tool'] })
      await append('agent', [call('k')])
      await append('eve', [result('k')])
    })

    it('can be repeated with its clientId', async () => {
      const { append } = await conversationOf('agent', 'tool')
      await append('agent', [call('k')])
      const first = await append('tool', [result('k')], { clientId: 'c' })
      expect((await append('tool', [result('k')], { clientId: 'c' })).id).toBe(first.id)
    })
  })

  describe('a batch', () => {
    const text = (content: string): PartInput[] => [{ text: content }]

    it('is written as a whole or not at all', async () => {
      const { tenant, conversationId, batch } = await conversationOf('agent', 'bob')
      await tenant.append(conversationId, 'agent', 'first', { clientId: 'used' })
      const last = await tenant.lastSeq(conversationId)
      const rejectedBatches = [
        batch(['newcomer', text('a')], ['agent', text('b'), { audience: ['mallory'] }]),
        batch(['newcomer', text('a')], ['agent', text('other'), { clientId: 'used' }]),
        batch(['newcomer', [call('k')]], ['agent', [result('k2')]]),
        batch(['newcomer', [call('k')]], ['agent', text('\0')]),
      ]
      const reasons = (await Promise.allSettled(rejectedBatches)).map(
        (each) => each.status === 'rejected' && each.reason,
      )
      expect(reasons.map((reason) => reason instanceof Conflict)).toEqual([false, true, false, false])
      expect(reasons.filter((reason) => reason instanceof InvalidInput)).toHaveLength(3)
      expect(await tenant.lastSeq(conversationId)).toBe(last)
      const seen = (await pageOfTurns(world.deps, tenant.as('agent'), [conversationId], { first: 10 })).get(
        conversationId,
      )!
      expect(seen.items.map(({ text }) => text)).toEqual(['first'])
    })

    it('is rejected with the index of the turn whose audience includes a non-participant', async () => {
      const { batch } = await conversationOf('agent', 'bob')
      await expect(batch(['agent', text('a')], ['agent', text('b'), { audience: ['mallory'] }])).rejects.toThrow(
        'turns.1.audience: "mallory" is not a participant',
      )
    })

    it('can contain a private turn for an actor who joins in the same batch', async () => {
      const { tenant, conversationId, batch } = await conversationOf('agent')
      await batch(['newcomer', text('hello')], ['agent', text('psst'), { audience: ['newcomer'] }])
      const seen = (await pageOfTurns(world.deps, tenant.as('newcomer'), [conversationId], { first: 10 })).get(
        conversationId,
      )!
      expect(seen.items.map(({ text }) => text)).toEqual(['hello', 'psst'])
    })

    it('does not affect concurrent appends if it is rejected', async () => {
      const { tenant, conversationId, batch } = await conversationOf('agent')
      const sent = await Promise.allSettled([
        tenant.append(conversationId, 'agent', 'before'),
        batch(['agent', text('a')], ['agent', [result('none')]]),
        tenant.append(conversationId, 'agent', 'after'),
      ])
      expect(sent.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(await tenant.lastSeq(conversationId)).toBe(3)
    })
  })
})
