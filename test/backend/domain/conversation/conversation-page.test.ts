// Lists of conversations: filters, and pages that stay consistent while conversations are created.

import { describe, expect, it } from 'vitest'
import {
  createConversation,
  updateConversation,
  type CreateConversationInput,
} from '../../../../src/domain/conversation/conversation.ts'
import {
  conversationCursor,
  getConversationPage,
  type ConversationsArgs,
} from '../../../../src/domain/conversation/conversation-page.ts'
import { newId } from '../../../../src/domain/kernel/id.ts'
import { markRead, removeParticipant } from '../../../../src/domain/conversation/participant/participant.ts'
import { getUnreadCounts } from '../../../../src/domain/conversation/participant/participant-details.ts'
import { turnCursor } from '../../../../src/domain/turn/history.ts'
import { InvalidInput } from '../../../../src/errors.ts'
import { backends } from '../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../support/world.ts'
import { nextTime } from '../../../support/next-time.ts'

const base64url = (text: string) => Buffer.from(text).toString('base64url')

describe.each(backends)('a list of conversations on $name', (backend) => {
  const world = useWorld(backend)
  const create = (tenant: Tenant, input: CreateConversationInput = {}, actor = 'ann') =>
    createConversation(world.deps, tenant.as(actor), input).then(({ conversation }) => conversation)
  const list = (tenant: Tenant, args: ConversationsArgs = {}) => getConversationPage(world.deps, tenant.as('x'), args)
  const titlesOf = async (tenant: Tenant, args: ConversationsArgs = {}) =>
    (await list(tenant, args)).items.map(({ title }) => title)

  describe('can be filtered by', () => {
    type Given = [title: string | null, input?: CreateConversationInput]
    const titlesFor = async (filter: ConversationsArgs['filter'], ...conversations: Given[]) => {
      const tenant = world.tenant()
      for (const [title, input] of conversations) await create(tenant, { ...input, title })
      await create(world.tenant(), { ...conversations[0]![1], title: "another tenant's" })
      return (await titlesOf(tenant, { filter })).toReversed()
    }

    it('owner, agent and both', async () => {
      const conversations: [string, CreateConversationInput][] = [
        ['a', {}],
        ['b', { owner: 'bob' }],
        ['c', { agentName: 'helper' }],
        ['d', { owner: 'bob', agentName: 'helper' }],
      ]
      expect(await titlesFor({ owner: 'ann' }, ...conversations)).toEqual(['a', 'c'])
      expect(await titlesFor({ agentName: 'helper' }, ...conversations)).toEqual(['c', 'd'])
      expect(await titlesFor({ owner: 'bob', agentName: 'helper' }, ...conversations)).toEqual(['d'])
      expect(await titlesFor({ owner: 'Bob' }, ...conversations)).toEqual([])
      expect(await titlesFor({}, ...conversations)).toEqual(['a', 'b', 'c', 'd'])
    })

    it('current participants, not former participants', async () => {
      const tenant = world.tenant()
      const left = await create(tenant, { title: 'left', participants: [{ actor: 'bob' }] })
      await create(tenant, { title: 'in', participants: [{ actor: 'ann' }, { actor: 'bob' }] })
      await create(tenant, { title: 'out' })
      const spoken = await create(tenant, { title: 'spoken' })
      await tenant.append(spoken.id, 'bob', 'hello')
      await removeParticipant(world.deps, tenant.as('bob'), { conversationId: left.id, actor: 'bob' })
      expect(await titlesOf(tenant, { filter: { participant: 'bob' } })).toEqual(['spoken', 'in'])
    })

    it.each<[contained: Record<string, unknown>, string[]]>([
      [{}, ['flat', 'deep', 'none']],
      [{ a: 1 }, ['flat']],
      [{ a: '1' }, []],
      [{ a: 1, b: 'x' }, ['flat']],
      [{ a: 1, b: 'y' }, []],
      [{ in: { tags: ['p'] } }, ['deep']],
      [{ in: { tags: ['q', 'p'] } }, ['deep']],
      [{ in: { tags: ['r'] } }, []],
      [{ in: { n: null } }, ['deep']],
      [{ in: {} }, ['deep']],
      [{ '%': 1 }, []],
    ])('metadata that contains %j', async (contains, titles) => {
      expect(
        await titlesFor(
          { metadata: [{ value: { contains } }] },
          ['flat', { metadata: { a: 1, b: 'x', c: [] } }],
          ['deep', { metadata: { in: { tags: ['p', 'q'], n: null } } }],
          ['none'],
        ),
      ).toEqual(titles)
    })

    it.each<[string, string[]]>([
      ['budget', ['Budget 2024']],
      ['BUDGET', ['Budget 2024']],
      ['get 20', ['Budget 2024']],
      ['%', ['100 % sure']],
      ['_', ['snake_case']],
      ['\\', ['back\\slash']],
      ['%%', []],
      ['.', []],
      ['e_c', ['snake_case']],
      ['Ü', ['Übung 🎉']],
      ['🎉', ['Übung 🎉']],
      ["'", []],
      ['a', ['snake_case', 'back\\slash']],
    ])('a part of the title: %j', async (search, titles) => {
      expect(
        await titlesFor(
          { search },
          ['Budget 2024'],
          ['100 % sure'],
          ['snake_case'],
          ['back\\slash'],
          ['Übung 🎉'],
          [null],
        ),
      ).toEqual(titles)
    })

    it('unread turns, page by page, with the same result as viewerUnreadCount', async () => {
      const tenant = world.tenant()
      const titles = ['a', 'b', 'c', 'd', 'e', 'f']
      for (const title of titles) {
        const { id } = await create(tenant, {
          title,
          participants: [{ actor: 'x' }, { actor: 'bob' }],
          visibility: 'MEMBERS',
        })
        await tenant.append(id, title === 'b' ? 'x' : 'ann', 'hello', title === 'd' ? { audience: ['bob'] } : {})
        const seq = (await tenant.lastSeq(id))!
        if (title === 'e') await markRead(world.deps, tenant.as('x'), { conversationId: id, seq })
        if (title === 'f') await removeParticipant(world.deps, tenant.as('x'), { conversationId: id, actor: 'x' })
      }
      await tenant.append((await create(tenant, { title: 'never joined' })).id, 'ann', 'hello')
      const page = (args: ConversationsArgs) => list(tenant, { filter: { hasUnread: true }, ...args })
      const first = await page({ first: 2 })
      const after = conversationCursor(first.items.at(-1)!, 'CREATED_AT')
      const second = await page({ first: 2, after })
      expect([...first.items, ...second.items].map(({ title }) => title)).toEqual(['f', 'c', 'a'])
      expect([first.hasNextPage, second.hasNextPage]).toEqual([true, false])
      expect(await titlesOf(tenant, { filter: { hasUnread: false } })).toEqual(['never joined', 'e', 'd', 'b'])
      expect(await titlesOf(tenant, { filter: { hasUnread: null } })).toHaveLength(7)
      const all = (await list(tenant)).items
      const counts = await getUnreadCounts(
        world.deps,
        tenant.as('x'),
        all.map(({ id: conversationId }) => ({ conversationId, actor: 'x' })),
      )
      expect(all.filter((_, i) => counts[i]! > 0).map(({ title }) => title)).toEqual(['f', 'c', 'a'])
    })

    it('an empty search, which matches everything', async () => {
      expect(await titlesFor({ search: '' }, ['a'], [null])).toEqual(['a', null])
    })

    it('the time of the last activity', async () => {
      const tenant = world.tenant()
      const first = await create(tenant, { title: 'first' })
      await nextTime()
      const second = await create(tenant, { title: 'second' })
      const before = (updatedBefore: Date) => titlesOf(tenant, { filter: { updatedBefore } })
      const after = (updatedAfter: Date) => titlesOf(tenant, { filter: { updatedAfter } })
      expect(await after(first.updatedAt)).toEqual(['second', 'first'])
      expect(await after(second.updatedAt)).toEqual(['second'])
      expect(await after(new Date(second.updatedAt.getTime() + 1))).toEqual([])
      expect(await before(first.updatedAt)).toEqual([])
      expect(await before(second.updatedAt)).toEqual(['first'])
      expect(await before(new Date(second.updatedAt.getTime() + 1))).toEqual(['second', 'first'])
      await tenant.append(first.id, 'ann', 'hello')
      expect(await before(new Date(second.updatedAt.getTime() + 1))).toEqual(['second'])
      expect(await before(new Date('9999-12-31'))).toHaveLength(2)
      expect(await before(new Date(0))).toEqual([])
    })
  })

  describe('when paged,', () => {
    it('is newest first, and the same from both ends', async () => {
      const tenant = world.tenant()
      const created = []
      for (let i = 0; i < 7; i++) created.push((await create(tenant, { title: `${i}` })).id)
      const newestFirst = created.toReversed()
      const all = await list(tenant)
      expect(all).toMatchObject({ hasNextPage: false, hasPreviousPage: false })
      expect(all.items.map(({ id }) => id)).toEqual(newestFirst)
      const at = (index: number) => conversationCursor(all.items[index]!, 'CREATED_AT')
      const page = async (args: ConversationsArgs) => {
        const { items, ...more } = await list(tenant, args)
        return [items.map(({ id }) => newestFirst.indexOf(id)).join(''), more.hasPreviousPage, more.hasNextPage]
      }
      expect(await page({ first: 3 })).toEqual(['012', false, true])
      expect(await page({ first: 3, after: at(2) })).toEqual(['345', true, true])
      expect(await page({ first: 3, after: at(5) })).toEqual(['6', true, false])
      expect(await page({ last: 3 })).toEqual(['456', true, false])
      expect(await page({ last: 3, before: at(4) })).toEqual(['123', true, true])
      expect(await page({ last: 3, before: at(1) })).toEqual(['0', false, true])
      expect(await page({ first: 9, after: at(1), before: at(5) })).toEqual(['234', true, false])
      expect(await page({ first: 0 })).toEqual(['', false, true])
    })

    it.each(['first', 'last'] as const)(
      'shows each conversation once when read with %s while conversations are created',
      async (argument) => {
        const tenant = world.tenant()
        const before = await Promise.all(Array.from({ length: 25 }, () => create(tenant)))
        let creating = true
        const created: Promise<unknown> = (async () => {
          while (creating) await Promise.all([create(tenant), create(tenant), create(tenant)])
        })()
        const seen: string[] = []
        let cursor: string | null = null
        try {
          for (let pages = 0; pages < 50; pages++) {
            const page = await list(tenant, { [argument]: 4, [argument === 'first' ? 'after' : 'before']: cursor })
            const items = argument === 'first' ? page.items : page.items.toReversed()
            seen.push(...items.map(({ id }) => id))
            if (items.length > 0) cursor = conversationCursor(items.at(-1)!, 'CREATED_AT')
            if (!(argument === 'first' ? page.hasNextPage : page.hasPreviousPage)) break
          }
        } finally {
          creating = false
          await created
        }
        expect(new Set(seen).size).toBe(seen.length)
        for (const { id } of before) expect(seen).toContain(id)
      },
    )

    it('puts the most recently active conversation first if ordered by activity', async () => {
      const tenant = world.tenant()
      const conversations = []
      for (const title of ['a', 'b', 'c']) {
        conversations.push(await create(tenant, { title }))
        await nextTime()
      }
      expect(await titlesOf(tenant, { orderBy: 'UPDATED_AT' })).toEqual(['c', 'b', 'a'])
      await tenant.append(conversations[0]!.id, 'ann', 'hello')
      expect(await titlesOf(tenant, { orderBy: 'UPDATED_AT' })).toEqual(['a', 'c', 'b'])
      expect(await titlesOf(tenant)).toEqual(['c', 'b', 'a'])
      await nextTime()
      const touched = await updateConversation(world.deps, tenant.as('ann'), { conversationId: conversations[1]!.id })
      const after = conversationCursor(touched, 'UPDATED_AT')
      expect(await titlesOf(tenant, { orderBy: 'UPDATED_AT', first: 1, after })).toEqual(['a'])
      expect(await titlesOf(tenant, { orderBy: 'UPDATED_AT', last: 1 })).toEqual(['c'])
    })
  })

  it.each<[string, ConversationsArgs, RegExp]>([
    ['a negative first', { first: -1 }, /^first: is -1; it must be 0 to 200$/],
    ['first above 200', { first: 201 }, /^first: is 201; it must be 0 to 200$/],
    ['first and last', { first: 1, last: 1 }, /not both/],
    ['an unknown cursor', { after: 'x' }, /^after: "x" is not a cursor of this list/],
    ["a turn's cursor", { before: turnCursor({ position: 1, seq: 1 }) }, /^before: /],
    [
      'a cursor of the other order',
      { after: base64url(`CREATED_AT:1:${newId('conversation')}`), orderBy: 'UPDATED_AT' },
      /^after: /,
    ],
    ['a truncated cursor', { after: base64url(`CREATED_AT:1:conv_${'x'.repeat(25)}`) }, /^after: /],
    ['an unpaired surrogate in the search', { filter: { search: '\ud83d' } }, /^search: /],
    ['a search of 201 characters', { filter: { search: 'x'.repeat(201) } }, /^search: must be at most 200/],
    ['U+0000 in an owner', { filter: { owner: 'a\0' } }, /^owner: must not contain U\+0000/],
    ['an invalid time', { filter: { updatedBefore: new Date(NaN) } }, /^updatedBefore: /],
  ])('rejects %s', async (_, args, message) => {
    const error = await list(world.tenant(), args).then(
      () => null,
      (reason) => reason,
    )
    expect(error).toBeInstanceOf(InvalidInput)
    expect(error.message).toMatch(message)
  })

  it.each([
    base64url(`CREATED_AT:0:${newId('conversation')}`),
    base64url(`CREATED_AT:999999999999999:${newId('conversation')}`),
    base64url(`CREATED_AT:${Date.now()}:${newId('conversation')}`),
  ])('accepts the cursor of a conversation that does not exist, with any creation time: %s', async (cursor) => {
    const tenant = world.tenant()
    await create(tenant)
    const pages = [await list(tenant, { after: cursor }), await list(tenant, { before: cursor })]
    expect(pages.flatMap(({ items }) => items)).toHaveLength(1)
  })

  it('accepts an extreme updatedBefore or rejects it with a validation error', async () => {
    const tenant = world.tenant()
    for (const updatedBefore of [new Date(8.64e15), new Date(-8.64e15), new Date('0000-06-01T00:00:00Z')]) {
      const found = await list(tenant, { filter: { updatedBefore } }).catch((error) => error)
      expect(found).toSatisfy((answer) => answer instanceof InvalidInput || Array.isArray(answer.items))
    }
  })
})
