// Edits: a new version at the position of the old one, by the same author, for the same audience.

import { describe, expect, it } from 'vitest'
import { getConversations } from '../../../../src/domain/conversation/conversation.ts'
import { newId } from '../../../../src/domain/kernel/id.ts'
import { addParticipant, removeParticipant } from '../../../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn } from '../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../src/domain/turn/append/append.ts'
import type { TurnInput } from '../../../../src/domain/turn/append/turn-input.ts'
import { countOfTurns, history, pageOfTurns } from '../../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../../src/domain/turn/supersede.ts'
import {
  getNextVersions,
  getPreviousVersions,
  getTurns,
  getVersionNumbers,
  isEdited,
} from '../../../../src/domain/turn/turn.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../../src/errors.ts'
import { readJournal } from '../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../support/backend.ts'
import { LIMITS, useWorld, type Tenant } from '../../../support/world.ts'
import { WRITER } from '../../../support/writer.ts'

describe.each(backends)('superseding a turn on $name', (backend) => {
  const world = useWorld(backend)

  const edit = (tenant: Tenant, actor: string, turnId: string, content: string, more: Partial<TurnInput> = {}) =>
    supersedeTurn(world.deps, tenant.as(actor), { turnId, turn: { role: 'USER', content, ...more } }).then(
      ({ turn }) => turn,
    )
  const textsOf = async (tenant: Tenant, conversationId: string, actor = 'ann', includeSuperseded = false) =>
    (await pageOfTurns(world.deps, tenant.as(actor), [conversationId], { first: 50, includeSuperseded }))
      .get(conversationId)!
      .items.map(({ text }) => text)

  it('keeps replyToId, pinned, model and metadata if they are omitted, and clears them with null', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const replyToId = (await tenant.append(conversationId, 'ann', 'question')).id
    const first = await tenant.append(conversationId, 'ann', 'v1', {
      replyToId,
      pinned: true,
      model: 'm-1',
      metadata: { a: 1 },
      traceId: 't',
    })
    const kept = await edit(tenant, 'ann', first.id, 'v2')
    expect(kept).toMatchObject({ replyToId, pinned: true, model: 'm-1', metadata: { a: 1 }, traceId: null })
    const replaced = await edit(tenant, 'ann', kept.id, 'v3', { model: 'm-2', metadata: { b: 2 } })
    expect(replaced).toMatchObject({ pinned: true, model: 'm-2', metadata: { b: 2 } })
    const cleared = await edit(tenant, 'ann', replaced.id, 'v4', {
      replyToId: null,
      pinned: null,
      model: null,
      metadata: null,
    })
    expect(cleared).toMatchObject({ replyToId: null, pinned: false, model: null, metadata: null })
  })

  it('shows the newest version at the position of the first, and keeps all versions', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const first = await tenant.append(conversationId, 'ann', 'v1', { pinned: true })
    await tenant.append(conversationId, 'ann', 'later')
    const second = await edit(tenant, 'ann', first.id, 'v2')
    const third = await edit(tenant, 'ann', second.id, 'v3', { pinned: false, metadata: { why: 'typo' } })
    expect([first, second, third].map(({ seq, position, pinned }) => [seq, position, pinned])).toEqual([
      [2, 2, true],
      [4, 2, true],
      [5, 2, false],
    ])
    expect(await textsOf(tenant, conversationId)).toEqual(['v3', 'later'])
    expect(await textsOf(tenant, conversationId, 'ann', true)).toEqual(['v1', 'v2', 'v3', 'later'])
    const newest = (await history(world.deps, tenant.as('ann'), [conversationId], {})).get(conversationId)!
    expect(newest.map(({ text }) => text)).toEqual(['v3', 'later'])

    const ids = [first.id, second.id, third.id]
    const read = await getTurns(world.deps, tenant.as('ann'), ids)
    expect(ids.map((id) => read.get(id)!.supersededBy)).toEqual([second.id, third.id, null])
    expect(read.get(third.id)).toEqual(third)
    const pairs = (versions: Map<string, { id: string }>) => [...versions].map(([id, turn]) => [id, turn.id]).sort()
    expect(pairs(await getNextVersions(world.deps, tenant.as('ann'), ids))).toEqual(
      [
        [ids[0], ids[1]],
        [ids[1], ids[2]],
      ].sort(),
    )
    expect(pairs(await getPreviousVersions(world.deps, tenant.as('ann'), ids))).toEqual(
      [
        [ids[1], ids[0]],
        [ids[2], ids[1]],
      ].sort(),
    )
  })

  it('marks a version as imported if the client gave its time, regardless of the older version', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const createdAt = new Date('2023-05-08T13:56:00Z')
    const first = await tenant.append(conversationId, 'ann', 'v1', { createdAt })
    const second = await edit(tenant, 'ann', first.id, 'v2')
    const third = await edit(tenant, 'ann', second.id, 'v3', { createdAt })
    expect([first, second, third].map(({ importedAt }) => importedAt)).toEqual([
      expect.any(Date),
      null,
      expect.any(Date),
    ])
  })

  it('writes one entry, and counts the new version instead of the old one', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const first = await tenant.append(conversationId, 'ann', 'one two three')
    const second = await edit(tenant, 'ann', first.id, 'four five six seven eight')
    const entries = await readJournal(world.deps.pool, tenant.name, conversationId, { after: 0, limit: 10 })
    expect(entries.map(({ kind }) => kind)).toEqual(['JOINED', 'APPENDED', 'SUPERSEDED'])
    expect([entries[2]!.turn!.id, entries[2]!.replaced!.id]).toEqual([second.id, first.id])
    const counted = { turnCount: 1, tokenCount: second.tokenCount }
    expect((await countOfTurns(world.deps, tenant.as('ann'), [conversationId])).get(conversationId)).toEqual(counted)
    const found = (await getConversations(world.deps, tenant.as('ann'), [conversationId])).get(conversationId)!
    expect(found.counts).toEqual(counted)
  })

  it('replaces an aborted turn, and counts the new version', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const { turn: open } = await openTurn(world.deps, tenant.as('ann'), {
      writerToken: WRITER,
      conversationId,
      turn: { role: 'ASSISTANT' },
    })
    await appendDelta(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId: open.id, text: 'half of' })
    await expect(edit(tenant, 'ann', open.id, 'all of it')).rejects.toThrow('still open')
    await abortTurn(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId: open.id })
    const { tokenCount } = await edit(tenant, 'ann', open.id, 'all of it')
    expect((await countOfTurns(world.deps, tenant.as('ann'), [conversationId])).get(conversationId)).toEqual({
      turnCount: 1,
      tokenCount,
    })
  })

  it('lets exactly one of several concurrent edits succeed', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const { id } = await tenant.append(conversationId, 'ann', 'v1')
    const edits = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => edit(tenant, 'ann', id, `v2.${n}`)))
    const errors = edits.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    expect(errors).toHaveLength(7)
    for (const error of errors) expect(error).toBeInstanceOf(Conflict)
    expect(errors[0].message).toContain('Supersede the newest version')
    expect(await textsOf(tenant, conversationId, 'ann', true)).toHaveLength(2)
    expect(await tenant.lastSeq(conversationId)).toBe(3)
  })

  describe('with an audience', () => {
    it('keeps the audience of the first version', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob', 'cyd', 'eve')
      const { id } = await tenant.append(conversationId, 'ann', 'v1', { audience: ['bob', 'cyd'] })
      const second = await edit(tenant, 'ann', id, 'v2')
      const third = await edit(tenant, 'ann', second.id, 'v3')
      for (const { audience } of [second, third]) expect(audience!.toSorted()).toEqual(['ann', 'bob', 'cyd'])
      expect(await textsOf(tenant, conversationId, 'bob')).toEqual(['v3'])
      expect(await textsOf(tenant, conversationId, 'eve', true)).toEqual([])
    })

    it('keeps a public turn public, and rejects an audience', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob', 'eve')
      const open = await tenant.append(conversationId, 'ann', 'v1')
      const privateTurn = await tenant.append(conversationId, 'ann', 'w1', { audience: ['bob'] })
      const last = await tenant.lastSeq(conversationId)
      for (const turn of [open, privateTurn]) {
        const widened = edit(tenant, 'ann', turn.id, 'v2', { audience: ['bob', 'eve'] })
        await expect(widened).rejects.toThrow('turn: Unrecognized key: "audience"')
      }
      expect(await tenant.lastSeq(conversationId)).toBe(last)
      const second = await edit(tenant, 'ann', open.id, 'v2')
      expect(second.audience).toBeNull()
      expect(await textsOf(tenant, conversationId, 'eve')).toEqual(['v2'])
      expect(await textsOf(tenant, conversationId, 'stranger')).toEqual(['v2'])
    })
  })

  it('shows the older version to participants who left before the edit', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob')
    const { id } = await tenant.append(conversationId, 'ann', 'v1')
    await removeParticipant(world.deps, tenant.as('bob'), { conversationId, actor: 'bob' })
    await addParticipant(world.deps, tenant.as('cyd'), {
      conversationId,
      participant: { actor: 'cyd', historyVisibility: 'SINCE_JOINED' },
    })
    await edit(tenant, 'ann', id, 'v2')
    expect(await textsOf(tenant, conversationId, 'bob')).toEqual(['v1'])
    expect(await textsOf(tenant, conversationId, 'cyd', true)).toEqual([])
  })

  it('numbers the versions that the viewer sees, and skips those outside the view', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', 'late')
    const join = (actor: string) =>
      addParticipant(world.deps, tenant.as('ann'), {
        conversationId,
        participant: { actor, historyVisibility: 'SINCE_JOINED' },
      })
    await join('cyd')
    const first = await tenant.append(conversationId, 'ann', 'v1')
    const other = await tenant.append(conversationId, 'ann', 'w1')
    await removeParticipant(world.deps, tenant.as('cyd'), { conversationId, actor: 'cyd' })
    const second = await edit(tenant, 'ann', first.id, 'v2')
    await join('cyd')
    await join('eve')
    const third = await edit(tenant, 'ann', second.id, 'v3')
    expect([first, second, third, other].map(isEdited)).toEqual([false, true, true, false])
    const ids = [first, second, third, other].map(({ id }) => id)
    const read = async (actor: string) => {
      const numbers = await getVersionNumbers(world.deps, tenant.as(actor), ids)
      const previous = await getPreviousVersions(world.deps, tenant.as(actor), [third.id])
      return [...ids.map((id) => numbers.get(id) ?? null), previous.get(third.id)?.text ?? null]
    }
    expect(await read('bob')).toEqual([1, 2, 3, 1, 'v2'])
    // cyd was away when v2 was written.
    expect(await read('cyd')).toEqual([1, null, 2, 1, 'v1'])
    // eve joined after the turn was written, and sees none of its versions.
    expect(await read('eve')).toEqual([null, null, null, null, null])
    expect(await getVersionNumbers(world.deps, world.tenant().as('bob'), ids)).toEqual(new Map())
  })

  describe('with a clientId', () => {
    it('can be repeated, even after a later edit', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      const { id } = await tenant.append(conversationId, 'ann', 'v1')
      const twins = await Promise.all([1, 2, 3, 4].map(() => edit(tenant, 'ann', id, 'v2', { clientId: 'c' })))
      expect(new Set(twins.map((twin) => twin.id)).size).toBe(1)
      await edit(tenant, 'ann', twins[0]!.id, 'v3')
      expect((await edit(tenant, 'ann', id, 'v2', { clientId: 'c' })).id).toBe(twins[0]!.id)
      expect(await textsOf(tenant, conversationId, 'ann', true)).toEqual(['v1', 'v2', 'v3'])
    })

    it('fails with Conflict if the clientId was used for anything else', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      const first = await tenant.append(conversationId, 'ann', 'v1', { clientId: 'c' })
      const other = await tenant.append(conversationId, 'ann', 'other')
      // The clientId belongs to an appended turn with the same text, then to an edit of another turn.
      await expect(edit(tenant, 'ann', other.id, 'v1', { clientId: 'c' })).rejects.toThrow(Conflict)
      await edit(tenant, 'ann', first.id, 'v2', { clientId: 'd' })
      await expect(edit(tenant, 'ann', other.id, 'v2', { clientId: 'd' })).rejects.toThrow('"d"')
      await expect(tenant.append(conversationId, 'ann', 'v2', { clientId: 'd' })).rejects.toThrow(Conflict)
      expect(await textsOf(tenant, conversationId, 'ann', true)).toEqual(['v1', 'v2', 'other'])
    })
  })

  it('can contain the result of a tool call that the author sees, and no other result', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', 'eve')
    const call = (callId: string) => ({
      role: 'USER' as const,
      parts: [{ toolCall: { callId, name: 'n', arguments: {} } }],
    })
    const parts = (callId: string) => [{ toolResult: { callId, name: 'n', result: 1 } }]
    await appendTurn(world.deps, tenant.as('ann'), { conversationId, turn: { ...call('k'), audience: ['bob'] } })
    const turns = {
      bob: await tenant.append(conversationId, 'bob', 'b'),
      eve: await tenant.append(conversationId, 'eve', 'e'),
    }
    const answer = (actor: 'bob' | 'eve', callId: string) =>
      supersedeTurn(world.deps, tenant.as(actor), {
        turnId: turns[actor].id,
        turn: { role: 'TOOL', parts: parts(callId) },
      }).then(({ turn }) => turn)
    await expect(answer('eve', 'k')).rejects.toThrow('answers tool call "k"')
    await expect(answer('bob', 'k2')).rejects.toThrow(InvalidInput)
    expect((await answer('bob', 'k')).parts).toHaveLength(1)
    // A result may also answer a call in an edit.
    await supersedeTurn(world.deps, tenant.as('eve'), { turnId: turns.eve.id, turn: call('k3') })
    await appendTurn(world.deps, tenant.as('bob'), { conversationId, turn: { role: 'TOOL', parts: parts('k3') } })
  })

  describe('is rejected and writes nothing', () => {
    it('for any actor except the author', async () => {
      const [tenant, other] = [world.tenant(), world.tenant()]
      const conversationId = await tenant.newConversation('ann', 'bob', 'eve')
      const open = await tenant.append(conversationId, 'ann', 'v1')
      const privateTurn = await tenant.append(conversationId, 'ann', 'w1', { audience: ['bob'] })
      const last = await tenant.lastSeq(conversationId)
      await expect(edit(tenant, 'bob', open.id, 'v2')).rejects.toThrow(NotAllowed)
      await expect(edit(tenant, 'bob', privateTurn.id, 'w2')).rejects.toThrow(NotAllowed)
      await expect(edit(tenant, 'eve', privateTurn.id, 'w2')).rejects.toThrow(NotFound)
      await expect(edit(other, 'ann', open.id, 'v2')).rejects.toThrow(NotFound)
      await expect(edit(tenant, 'ann', newId('turn'), 'v2')).rejects.toThrow(NotFound)
      expect(await tenant.lastSeq(conversationId)).toBe(last)
      expect((await edit(tenant, 'bob', open.id, 'v2', { actor: 'ann' })).text).toBe('v2')
    })

    it('for an author who has left', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      const { id } = await tenant.append(conversationId, 'ann', 'v1')
      await removeParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'ann' })
      const last = await tenant.lastSeq(conversationId)
      await expect(edit(tenant, 'ann', id, 'v2')).rejects.toThrow('"ann" has left')
      await expect(edit(tenant, 'bob', id, 'v2', { actor: 'ann' })).rejects.toThrow(NotAllowed)
      expect(await tenant.lastSeq(conversationId)).toBe(last)
      expect(await textsOf(tenant, conversationId, 'bob')).toEqual(['v1'])
    })

    it.each([
      ['an empty text', '', /must not be empty/],
      ['a text over the limit', 'x'.repeat(LIMITS.turnBytes + 1), /262144/],
      ['U+0000', '\0', /U\+0000/],
      ['an unpaired surrogate', '\ud83d', /surrogate/],
    ])('for %s', async (_, content, message) => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      const { id } = await tenant.append(conversationId, 'ann', 'v1')
      await expect(edit(tenant, 'ann', id, content)).rejects.toThrow(message)
      await expect(edit(tenant, 'ann', id, content)).rejects.toThrow(/^turn\.content: /)
      expect(await tenant.lastSeq(conversationId)).toBe(2)
    })

    it.each(['', 'turn_x', 'conv_01ARZ3NDEKTSV4RRFFQ69G5FAV'])('for the id %j', async (id) => {
      await expect(edit(world.tenant(), 'ann', id, 'v2')).rejects.toThrow('turnId: is not the id of a turn')
    })
  })
})
