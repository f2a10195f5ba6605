// Limits that the readers of a process share: the bytes of catch-up reads, and the subscriptions of each viewer.

import { describe, expect, it, vi } from 'vitest'
import { readInbox } from '../../../../../src/domain/turn/journal/inbox.ts'
import { readEventsOf } from '../../../../../src/domain/turn/journal/reader.ts'
import { appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import { LimitReached, NotFound } from '../../../../../src/errors.ts'
import { JOURNAL_PAGE_BYTES } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { embedded } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'
import { isLong } from '../../../../support/long.ts'

describe('a subscription whose consumer reads nothing', () => {
  const world = useWorld(embedded)

  it.runIf(isLong)('buffers one page of a large conversation, and nothing after it ends', async () => {
    const tenant = world.tenant()
    const { deps } = world
    const conversationId = await tenant.newConversation('ada')
    const turns = Array.from({ length: 20 }, () => ({ role: 'USER' as const, content: 'word '.repeat(40_000) }))
    await appendTurns(deps, tenant.as('ada'), { conversationId, turns })
    const query = vi.spyOn(deps.pool, 'query')
    const pagesRead = () =>
      query.mock.calls.filter(([statement]) => (statement as { name?: string }).name === 'read-journal-page').length
    const read = () => readEventsOf(deps, tenant.as('ada'), { conversationId, afterSeq: 0 })
    const readAll = async () => {
      const events = await read()
      for (let n = 0; n < 20; n++) await events.next()
      await events.return!()
    }
    await readAll()
    const pages = pagesRead()
    const events = await read()
    await vi.waitFor(() => expect(deps.feeds.catchUp.used).toBeGreaterThan(JOURNAL_PAGE_BYTES))
    // Meanwhile, another reader reads the whole conversation again.
    await readAll()
    expect(pagesRead()).toBe(2 * pages + 1)
    expect(deps.feeds.catchUp.used).toBeGreaterThan(JOURNAL_PAGE_BYTES)
    expect(deps.feeds.catchUp.used).toBeLessThan(1.5 * JOURNAL_PAGE_BYTES)
    await events.return!()
    await vi.waitFor(() => expect(deps.feeds.catchUp).toMatchObject({ used: 0, waiting: 0 }))
    query.mockRestore()
  })
})

describe('the subscriptions of a viewer', () => {
  const world = useWorld(embedded)

  it('are limited, over conversations and inboxes together; another viewer can still subscribe', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const { deps } = world
    const ada = tenant.as('ada')
    const follow = (viewer = ada) => readEventsOf(deps, viewer, { conversationId })
    const open = [await follow(), await readInbox(deps, ada, {})]
    const leaves = Array.from({ length: 998 }, () => deps.feeds.enter(ada))
    const limit = new LimitReached('A viewer may have at most 1000 open subscriptions: end one first.', 1000)
    await expect(follow()).rejects.toThrow(limit)
    await expect(readInbox(deps, ada, {})).rejects.toThrow(limit)
    await (
      await follow(tenant.as('bob'))
    ).return!()
    for (const each of open) await each.return!()
    await expect(readEventsOf(deps, ada, { conversationId: 'conv_01M7Y5XZZZZZZZZZZZZZZZZZZZ' })).rejects.toThrow(
      NotFound,
    )
    await expect(readEventsOf(deps, ada, { conversationId, afterSeq: 99 })).rejects.toThrow('newest entry')
    // Failed and ended subscriptions do not count.
    leaves.push(deps.feeds.enter(ada), deps.feeds.enter(ada))
    expect(() => deps.feeds.enter(ada)).toThrow(LimitReached)
    for (const leave of leaves) leave()
  })
})
