// Appending turns: order, idempotency, automatic joining, and the returned turns.

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import { readInbox } from '../../../../../src/domain/turn/journal/inbox.ts'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import { getParticipants, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendTurn, appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import type { TurnInput } from '../../../../../src/domain/turn/append/turn-input.ts'
import { pageOfTurns } from '../../../../../src/domain/turn/history.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { Conflict, InvalidInput, NotFound } from '../../../../../src/errors.ts'
import { readJournal } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

describe.each(backends)('appending on $name', (backend) => {
  const world = useWorld(backend)

  const journalOf = async (tenant: Tenant, conversationId: string) =>
    await readJournal(world.deps.pool, tenant.name, conversationId, { after: 0, limit: 10_000 })
  const textsOf = async (tenant: Tenant, conversationId: string, actor = 'stranger') =>
    (await pageOfTurns(world.deps, tenant.as(actor), [conversationId], { first: 200 }))
      .get(conversationId)!
      .items.map(({ text }) => text)

  describe('order and content', () => {
    it('numbers the entries 1, 2, 3 …, with the joining of a new actor before their first turn', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      const first = await tenant.append(conversationId, 'ann', 'one')
      const second = await tenant.append(conversationId, 'bob', 'two')
      const third = await tenant.append(conversationId, 'bob', 'three')
      expect([first, second, third].map(({ seq }) => seq)).toEqual([2, 4, 5])
      const entries = await journalOf(tenant, conversationId)
      expect(entries.map(({ seq, kind, actor, turn }) => [seq, kind, actor ?? turn?.text])).toEqual([
        [1, 'JOINED', 'ann'],
        [2, 'APPENDED', 'one'],
        [3, 'JOINED', 'bob'],
        [4, 'APPENDED', 'two'],
        [5, 'APPENDED', 'three'],
      ])
    })

    it('writes a batch in its order, with the joining of each new actor before their first turn', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation()
      const { turns } = await appendTurns(world.deps, tenant.as('ann'), {
        conversationId,
        turns: ['ann', 'bob', 'ann', 'bob'].map((actor, i) => ({ actor, role: 'USER', content: `t${i}` })),
      })
      expect(turns.map(({ seq, actor, text }) => [seq, actor, text])).toEqual([
        [2, 'ann', 't0'],
        [4, 'bob', 't1'],
        [5, 'ann', 't2'],
        [6, 'bob', 't3'],
      ])
    })

    it('returns the same turn as later reads', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      const everything: TurnInput = {
        role: 'ASSISTANT',
        replyToId: (await tenant.append(conversationId, 'bob', 'question')).id,
        audience: ['bob', 'ann', 'bob'],
        pinned: true,
        tokenUsage: { prompt: 3, completion: 4 },
        model: 'gpt',
        adapter: 'x',
        traceId: 'abc',
        citations: [{ documentId: 'd', score: 0.5 }],
        metadata: { a: [1, null] },
        clientId: 'c1',
        createdAt: new Date('2024-02-03T04:05:06.789Z'),
        parts: [
          { text: 'see ' },
          { reasoning: { reasoning: 'hm', signature: 's' } },
          { text: 'this' },
          { data: { b: false } },
          { toolCall: { callId: 'k', name: 'look', arguments: { at: 'it' } } },
          { toolResult: { callId: 'k', name: 'look', result: null } },
          { file: { mediaType: 'image/png', url: 'https://a.example/b.png', fileName: 'b.png' } },
        ],
      }
      const appended = [(await appendTurn(world.deps, tenant.as('ann'), { conversationId, turn: everything })).turn]
      for (let i = 0; i < 12; i++) appended.push(await tenant.append(conversationId, 'ann', `plain ${i}`))
      const read = await getTurns(
        world.deps,
        tenant.as('ann'),
        appended.map(({ id }) => id),
      )
      expect(appended.map(({ id }) => read.get(id))).toEqual(appended)
      expect(appended[0]).toMatchObject({ text: 'see this', audience: ['ann', 'bob'], promptTokens: 3, pinned: true })
      expect(appended[0]!.replyToId).toBe(everything.replyToId)
    })

    it('keeps the times of an import, in any order', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation()
      const times = ['2023-05-08T13:56:00.000Z', '1970-01-01T00:00:00.000Z', '2023-05-08T13:55:59.999Z']
      const turns = times.map((time) => ({ role: 'USER' as const, content: time, createdAt: new Date(time) }))
      const { turns: written } = await appendTurns(world.deps, tenant.as('ann'), { conversationId, turns })
      expect(written.map(({ createdAt }) => createdAt.toISOString())).toEqual(times)
      const page = (await pageOfTurns(world.deps, tenant.as('ann'), [conversationId], { first: 10 })).get(
        conversationId,
      )!
      expect(page.items.map(({ createdAt }) => createdAt.toISOString())).toEqual(times)
    })

    it('sets importedAt of the turns whose time the client gave, and of no other turns', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      const before = Date.now()
      const createdAt = new Date('2023-05-08T13:56:00Z')
      const imported = await tenant.append(conversationId, 'ann', 'old', { createdAt })
      const now = await tenant.append(conversationId, 'ann', 'this minute', { createdAt: new Date() })
      const live = await tenant.append(conversationId, 'ann', 'live')
      for (const { importedAt } of [imported, now]) {
        expect(importedAt!.getTime()).toBeGreaterThanOrEqual(before)
        expect(importedAt!.getTime()).toBeLessThanOrEqual(Date.now())
      }
      expect(live.importedAt).toBeNull()
      const read = await getTurns(world.deps, tenant.as('ann'), [imported.id, live.id])
      expect([read.get(imported.id), read.get(live.id)]).toEqual([imported, live])
    })
  })

  describe('with automatic joining', () => {
    it('makes a new actor a participant of the kind that matches the role', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation()
      for (const role of ['USER', 'ASSISTANT', 'TOOL', 'SYSTEM'] as const)
        await tenant.append(conversationId, role, 'hi', { role })
      const participants = (await getParticipants(world.deps, tenant.as('USER'), [conversationId])).get(conversationId)!
      expect(participants.map(({ actor, kind }) => [actor, kind])).toEqual([
        ['USER', 'HUMAN'],
        ['ASSISTANT', 'AGENT'],
        ['TOOL', 'TOOL'],
        ['SYSTEM', 'AGENT'],
      ])
    })

    it('readmits a former participant who appends a turn, with their earlier history setting', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', { actor: 'new', historyVisibility: 'SINCE_JOINED' })
      for (const actor of ['ann', 'new']) {
        await removeParticipant(world.deps, tenant.as(actor), { conversationId, actor })
      }
      await tenant.append(conversationId, 'bob', 'while both are away')
      await tenant.append(conversationId, 'ann', 'back')
      await tenant.append(conversationId, 'new', 'back too')
      expect(await textsOf(tenant, conversationId, 'ann')).toEqual(['while both are away', 'back', 'back too'])
      expect(await textsOf(tenant, conversationId, 'new')).toEqual(['back too'])
    })

    it('lets 16 new actors join concurrently, with one entry each', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation()
      await Promise.all(Array.from({ length: 48 }, (_, i) => tenant.append(conversationId, `a${i % 16}`, `t${i}`)))
      const entries = await journalOf(tenant, conversationId)
      expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 64 }, (_, i) => i + 1))
      expect(new Set(entries.flatMap(({ actor }) => actor ?? [])).size).toBe(16)
      expect(entries.filter(({ kind }) => kind === 'JOINED')).toHaveLength(16)
    })
  })

  describe('with a clientId', () => {
    it('returns the existing turn for the same clientId and content', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      const first = await tenant.append(conversationId, 'ann', 'once', { clientId: 'c', metadata: { a: 1, b: 2 } })
      const again = await tenant.append(conversationId, 'ann', 'once', { clientId: 'c', metadata: { b: 2, a: 1 } })
      expect(again).toEqual(first)
      expect(await tenant.lastSeq(conversationId)).toBe(2)
    })

    it.each([
      ['text', { content: 'twice' }],
      ['role', { role: 'SYSTEM' as const }],
      ['audience', { audience: ['bob'] }],
      ['metadata', { metadata: { a: 1 } }],
    ])('rejects the same clientId with other %s', async (_, change) => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      await tenant.append(conversationId, 'ann', 'once', { clientId: 'c-1' })
      await expect(tenant.append(conversationId, 'ann', 'once', { clientId: 'c-1', ...change })).rejects.toThrow(
        Conflict,
      )
      await expect(tenant.append(conversationId, 'ann', 'once', { clientId: 'c-1', ...change })).rejects.toThrow(
        '"c-1"',
      )
      expect(await tenant.lastSeq(conversationId)).toBe(3)
    })

    it('keeps the clientIds of different actors and conversations apart', async () => {
      const tenant = world.tenant()
      const [conversationId, other] = [await tenant.newConversation('ann', 'bob'), await tenant.newConversation('ann')]
      const appended = await Promise.all([
        tenant.append(conversationId, 'ann', 'a', { clientId: 'c' }),
        tenant.append(conversationId, 'bob', 'b', { clientId: 'c' }),
        tenant.append(other, 'ann', 'c', { clientId: 'c' }),
      ])
      expect(new Set(appended.map(({ id }) => id)).size).toBe(3)
    })

    it('writes one turn for 32 concurrent duplicates among other turns', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      const appended = await Promise.all(
        Array.from({ length: 64 }, (_, i) =>
          tenant.append(conversationId, 'ann', i % 2 ? 'twin' : `t${i}`, i % 2 ? { clientId: 'twin' } : {}),
        ),
      )
      expect(new Set(appended.filter(({ text }) => text === 'twin').map(({ id }) => id)).size).toBe(1)
      expect((await textsOf(tenant, conversationId)).filter((text) => text === 'twin')).toHaveLength(1)
      expect(await tenant.lastSeq(conversationId)).toBe(1 + 32 + 1)
    })

    it('returns the existing turns of a repeated batch, and writes only new turns', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      const turns: TurnInput[] = [1, 2].map((n) => ({ role: 'USER', content: `t${n}`, clientId: `c${n}` }))
      const batch = { conversationId, turns }
      const { turns: first } = await appendTurns(world.deps, tenant.as('ann'), batch)
      expect((await appendTurns(world.deps, tenant.as('ann'), batch)).turns).toEqual(first)
      const { turns: more } = await appendTurns(world.deps, tenant.as('ann'), {
        conversationId,
        turns: [...turns, { role: 'USER', content: 't3', clientId: 'c3' }],
      })
      expect(more.map(({ id }) => id).slice(0, 2)).toEqual(first.map(({ id }) => id))
      expect(await textsOf(tenant, conversationId)).toEqual(['t1', 't2', 't3'])
    })
  })

  describe('with expectedLastSeq', () => {
    it('lets exactly one of two racing agents succeed, and reports the current seq to the other', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('a', 'b')
      for (let round = 0; round < 10; round++) {
        const expectedLastSeq = (await tenant.lastSeq(conversationId))!
        const results = await Promise.allSettled(
          ['a', 'b'].map((actor) =>
            appendTurn(world.deps, tenant.as(actor), {
              conversationId,
              expectedLastSeq,
              turn: { role: 'ASSISTANT', content: `${round}` },
            }),
          ),
        )
        const rejected = results.filter((result) => result.status === 'rejected')
        expect(rejected).toHaveLength(1)
        expect(rejected[0]!.reason).toBeInstanceOf(Conflict)
        expect(rejected[0]!.reason.message).toContain(`newest journal entry is ${expectedLastSeq + 1}`)
      }
      expect(await textsOf(tenant, conversationId)).toEqual(Array.from({ length: 10 }, (_, i) => `${i}`))
    })

    it('fails if an earlier call in the same statement appends a turn', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('a')
      const [first, conditional, last] = await Promise.allSettled([
        tenant.append(conversationId, 'a', 'first'),
        appendTurn(world.deps, tenant.as('a'), {
          conversationId,
          expectedLastSeq: 1,
          turn: { role: 'USER', content: 'late' },
        }),
        tenant.append(conversationId, 'a', 'last'),
      ])
      expect([first.status, conditional.status, last.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(await textsOf(tenant, conversationId)).toEqual(['first', 'last'])
    })

    it('returns the existing turn for a retry, even after later entries', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('a')
      const input = { conversationId, expectedLastSeq: 1, turn: { role: 'USER' as const, content: 'x', clientId: 'c' } }
      const { turn: first } = await appendTurn(world.deps, tenant.as('a'), input)
      await tenant.append(conversationId, 'a', 'later')
      expect((await appendTurn(world.deps, tenant.as('a'), input)).turn).toEqual(first)
    })
  })

  describe('token counts', () => {
    it.each([
      ['words', 'The quick brown fox jumps over the lazy dog.'],
      ['many scripts', 'Ünïcödé — 日本語のテキスト, русский, עברית 👩‍👩‍👧 🎉'],
      ['code', 'export const f = (x: number) => x ** 2 // <|endoftext|>\n\n\t'],
      ['a text counted in the worker', 'Conversations are kept, in order. '.repeat(800)],
    ])('of %s equal those of the o200k tokenizer', async (_, text) => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation()
      const { tokenCount } = await tenant.append(conversationId, 'ann', text)
      expect(tokenCount).toBe(countTokens(text, { disallowedSpecial: new Set() }))
    })
  })

  it('notifies the inboxes of participants once', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob')
    const inbox = await readInbox(world.deps, tenant.as('bob'), {})
    const reasons: string[] = []
    const ended = (async () => {
      for await (const { reason } of inbox) reasons.push(reason)
    })()
    await tenant.append(conversationId, 'ann', 'hello')
    await expect.poll(() => reasons).toContain('APPENDED')
    await inbox.return!()
    await ended
    expect(reasons).toEqual(['APPENDED'])
  })

  it('fails for unknown conversations and those of other tenants', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const conversationId = await tenant.newConversation('ann')
    for (const missing of [newId('conversation'), conversationId]) {
      await expect(other.append(missing, 'ann', 'hello')).rejects.toThrow(NotFound)
      await expect(other.append(missing, 'ann', 'hello')).rejects.toThrow(missing)
    }
    expect(await tenant.lastSeq(conversationId)).toBe(1)
  })

  it('shows a private turn only to its audience and author, and rejects non-participants in the audience', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', 'eve')
    const privateTurn = await tenant.append(conversationId, 'ann', 'psst', { audience: ['bob'] })
    expect(new Set(privateTurn.audience)).toEqual(new Set(['ann', 'bob']))
    expect(await textsOf(tenant, conversationId, 'ann')).toEqual(['psst'])
    expect(await textsOf(tenant, conversationId, 'bob')).toEqual(['psst'])
    expect(await textsOf(tenant, conversationId, 'eve')).toEqual([])
    await expect(tenant.append(conversationId, 'ann', 'psst', { audience: ['bob', 'mallory'] })).rejects.toThrow(
      InvalidInput,
    )
    await expect(tenant.append(conversationId, 'ann', 'psst', { audience: ['bob', 'mallory'] })).rejects.toThrow(
      '"mallory"',
    )
    await removeParticipant(world.deps, tenant.as('bob'), { conversationId, actor: 'bob' })
    await expect(tenant.append(conversationId, 'ann', 'psst', { audience: ['bob'] })).rejects.toThrow('"bob"')
    expect(await tenant.lastSeq(conversationId)).toBe(5)
  })
})
