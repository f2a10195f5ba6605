// What the readers of a process share: the number of subscriptions of each viewer.

import { describe, expect, it } from 'vitest'
import { readInbox } from '../../../src/domain/event/inbox.ts'
import { readEventsOf } from '../../../src/domain/event/reader.ts'
import { LimitReached, NotFound } from '../../../src/errors.ts'
import { backends } from '../../support/backend.ts'
import { useWorld } from '../../support/world.ts'

describe('the subscriptions of a viewer', () => {
  const world = useWorld(backends[0]!)

  it('are limited, over conversations and inboxes together; another viewer is served', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const { deps } = world
    const ada = tenant.as('ada')
    const follow = (viewer = ada) => readEventsOf(deps, viewer, { conversationId })
    const open = [await follow(), await readInbox(deps, ada, {})]
    const leaves = Array.from({ length: 998 }, () => deps.feeds.enter(ada))
    const limit = new LimitReached('A viewer may have at most 1000 open subscriptions: end one first.')
    await expect(follow()).rejects.toThrow(limit)
    await expect(readInbox(deps, ada, {})).rejects.toThrow(limit)
    await (
      await follow(tenant.as('bob'))
    ).return!()
    for (const each of open) await each.return!()
    await expect(readEventsOf(deps, ada, { conversationId: 'conv_01M7Y5XZZZZZZZZZZZZZZZZZZZ' })).rejects.toThrow(
      NotFound,
    )
    await expect(readEventsOf(deps, ada, { conversationId, after: 99 })).rejects.toThrow('newest entry')
    // Failed and ended subscriptions do not count.
    leaves.push(deps.feeds.enter(ada), deps.feeds.enter(ada))
    expect(() => deps.feeds.enter(ada)).toThrow(LimitReached)
    for (const leave of leaves) leave()
  })
})
