// Pinning and unpinning turns: all versions, journal entries, subscribers, contexts, permissions, and the list filter.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../../../src/domain/memory/context/build.ts'
import { addParticipant, removeParticipant } from '../../../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../src/domain/turn/append/append.ts'
import { pageOfTurns, turnCursor } from '../../../../src/domain/turn/history.ts'
import { pinTurn, unpinTurn } from '../../../../src/domain/turn/pin.ts'
import { supersedeTurn } from '../../../../src/domain/turn/supersede.ts'
import { getTurns } from '../../../../src/domain/turn/turn.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../../src/errors.ts'
import { backends } from '../../../support/backend.ts'
import { read, sawSeq } from '../../../support/reading.ts'
import { useWorld } from '../../../support/world.ts'
import { WRITER } from '../../../support/writer.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'

describe.each(backends)('a pin on $name', (backend) => {
  const world = useWorld(backend)

  async function start() {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob')
    const first = await tenant.append(conversationId, 'ann', 'one')
    return { tenant, conversationId, first, ann: tenant.as('ann'), bob: tenant.as('bob') }
  }
  const pinsOf = async (ids: string[], viewer: Parameters<typeof getTurns>[1]) => {
    const turns = await getTurns(world.deps, viewer, ids)
    return ids.map((id) => turns.get(id)?.pinned)
  }
  const edit = async (turnId: string, viewer: Parameters<typeof getTurns>[1], pinned?: boolean) =>
    (await supersedeTurn(world.deps, viewer, { turnId, turn: { role: 'USER', content: 'edited', pinned } })).turn

  it('is set on all versions, by the id of any of them, and kept by edits', async () => {
    const { first, ann, bob } = await start()
    const second = await edit(first.id, ann)
    const pinned = await pinTurn(world.deps, bob, { turnId: first.id })
    expect(pinned).toMatchObject({ changed: true, turn: { id: second.id, pinned: true } })
    const third = await edit(second.id, ann)
    const ids = [first.id, second.id, third.id]
    expect(await pinsOf(ids, bob)).toEqual([true, true, true])
    expect(await unpinTurn(world.deps, bob, { turnId: second.id })).toMatchObject({
      changed: true,
      turn: { id: third.id },
    })
    expect(await pinsOf(ids, bob)).toEqual([false, false, false])
    const fourth = await edit(third.id, ann, true)
    expect(await pinsOf([...ids, fourth.id], bob)).toEqual([true, true, true, true])
  })

  it('writes one entry for a change, and none otherwise', async () => {
    const { tenant, conversationId, first, ann } = await start()
    const before = await tenant.lastSeq(conversationId)
    for (const changed of [true, false]) {
      expect(await pinTurn(world.deps, ann, { turnId: first.id })).toMatchObject({ changed, turn: { pinned: true } })
    }
    for (const changed of [true, false]) {
      expect(await unpinTurn(world.deps, ann, { turnId: first.id })).toMatchObject({ changed, turn: { pinned: false } })
    }
    expect(await tenant.lastSeq(conversationId)).toBe(before! + 2)
  })

  it('reaches live subscribers who see the turn, and no others', async () => {
    const { tenant, conversationId, ann } = await start()
    const secret = await tenant.append(conversationId, 'ann', 'for bob', { audience: ['bob'] })
    await addParticipant(world.deps, ann, {
      conversationId,
      participant: { actor: 'new', historyVisibility: 'SINCE_JOINED' },
    })
    const afterSeq = await tenant.lastSeq(conversationId)
    const readings = await Promise.all(
      ['bob', 'eve', 'new'].map((actor) => read(world.deps, tenant.as(actor), { conversationId, afterSeq })),
    )
    await pinTurn(world.deps, ann, { turnId: secret.id })
    const seq = (await tenant.append(conversationId, 'ann', 'next')).seq
    await Promise.all(readings.map((reading) => reading.until('the next turn', sawSeq(seq))))
    const [bob, eve, late] = readings.map(({ events }) => events.map(({ type }) => type))
    expect(bob).toEqual(['TurnUpdated', 'TurnAppended'])
    expect(readings[0]!.events[0]).toMatchObject({ seq: seq - 1, turn: { id: secret.id, pinned: true } })
    expect([eve, late]).toEqual([['TurnAppended'], ['TurnAppended']])
    await Promise.all(readings.map((reading) => reading.stop()))
  })

  it('moves an old turn into contexts, and out of them', async () => {
    const { tenant, conversationId, first, bob } = await start()
    for (let n = 0; n < 40; n++) await tenant.append(conversationId, 'ann', `filler ${n} `.repeat(20))
    const texts = async () => {
      const { messages } = await buildContext(world.deps, bob, { conversationId, tokenBudget: 1500 })
      return messages.map(({ content }) => JSON.stringify(content)).join('\n')
    }
    expect(await texts()).not.toContain('"one"')
    await pinTurn(world.deps, bob, { turnId: first.id })
    expect(await texts()).toContain('one')
    await unpinTurn(world.deps, bob, { turnId: first.id })
    expect(await texts()).not.toContain('"one"')
  })

  it('can be set on a streaming turn, and stays when the turn is committed', async () => {
    const { conversationId, bob } = await start()
    const { turn } = await openTurn(world.deps, bob, {
      conversationId,
      writerToken: WRITER,
      turn: { role: 'ASSISTANT' },
    })
    expect((await pinTurn(world.deps, bob, { turnId: turn.id })).turn).toMatchObject({
      status: 'STREAMING',
      pinned: true,
    })
    await appendDelta(world.deps, bob, { turnId: turn.id, writerToken: WRITER, text: 'Hi' })
    await commitTurn(world.deps, bob, { turnId: turn.id, writerToken: WRITER })
    expect((await getTurns(world.deps, bob, [turn.id])).get(turn.id)).toMatchObject({
      status: 'COMMITTED',
      pinned: true,
    })
  })

  it('is set by a participant who sees the turn', async () => {
    const { tenant, conversationId, ann } = await start()
    const secret = await tenant.append(conversationId, 'ann', 'for ann', { audience: ['ann'] })
    const pinning = (actor: string) => pinTurn(world.deps, tenant.as(actor), { turnId: secret.id })
    await expect(pinning('bob')).rejects.toThrow(NotFound)
    expect((await pinning('ann')).turn.pinned).toBe(true)
    expect(await pinsOf([secret.id], ann)).toEqual([true])
  })

  it('is refused for turns outside the view, for actors who are not participants, and for erased turns', async () => {
    const { tenant, conversationId, first, ann } = await start()
    const pinning = (actor: string, turnId = first.id) => pinTurn(world.deps, tenant.as(actor), { turnId })
    await expect(pinning('stranger')).rejects.toThrow(NotAllowed)
    await removeParticipant(world.deps, ann, { conversationId, actor: 'bob' })
    await expect(pinning('bob')).rejects.toThrow(NotAllowed)
    const later = await tenant.append(conversationId, 'ann', 'later')
    await expect(pinning('bob', later.id)).rejects.toThrow(NotFound)
    await expect(pinning('ann', later.id.replace(/.$/, later.id.endsWith('0') ? '1' : '0'))).rejects.toThrow(NotFound)
    await expect(pinning('ann', 'turn')).rejects.toThrow(InvalidInput)
    await expect(pinTurn(world.deps, world.tenant().as('ann'), { turnId: first.id })).rejects.toThrow(NotFound)
    await world.deps.db.of(SYSTEM).turn.updateMany({ where: { id: first.id }, data: { status: 'ERASED' } })
    await expect(pinning('ann')).rejects.toThrow(Conflict)
  })

  it('filters a list of turns, page by page', async () => {
    const { tenant, conversationId, first, ann } = await start()
    const ids = [first.id]
    for (let n = 0; n < 9; n++) ids.push((await tenant.append(conversationId, 'ann', `turn ${n}`)).id)
    for (const n of [1, 4, 8]) await pinTurn(world.deps, ann, { turnId: ids[n]! })
    const page = async (args: Parameters<typeof pageOfTurns>[3], pinned = true) => {
      const pages = await pageOfTurns(world.deps, ann, [conversationId], { ...args, filter: { pinned } })
      return pages.get(conversationId)!
    }
    const firstPage = await page({ first: 2 })
    expect(firstPage.items.map(({ id }) => ids.indexOf(id))).toEqual([1, 4])
    const rest = await page({ first: 2, after: turnCursor(firstPage.items[1]!) })
    expect([rest.items.map(({ id }) => ids.indexOf(id)), rest.hasNextPage]).toEqual([[8], false])
    expect((await page({ last: 2 })).items.map(({ id }) => ids.indexOf(id))).toEqual([4, 8])
    expect((await page({ first: 20 }, false)).items.map(({ id }) => ids.indexOf(id))).toEqual([0, 2, 3, 5, 6, 7, 9])
  })
})
