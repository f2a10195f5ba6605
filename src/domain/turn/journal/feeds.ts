// The feeds of this process, and the limits of subscriptions: their number per viewer, and the memory of readers that
// catch up.

import { LimitReached, NotFound } from '../../../errors.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'
import { createByteBudget, type ByteBudget } from '../../kernel/limits/byte-budget.ts'
import { createTally } from '../../../runtime/limits/tally.ts'
import { startFeed, type Feed, type StartedFeed } from './feed.ts'

/** Maximum number of bytes that the readers of this process buffer while they catch up. */
const CATCH_UP_BYTES = 32 * 1024 * 1024

/** Maximum number of open subscriptions of one viewer in this process, over all its connections. */
const VIEWER_SUBSCRIPTIONS = 1_000

export type Feeds = {
  /** Counts a subscription of the viewer, and returns a function that ends it. @throws LimitReached */
  enter(viewer: Viewer): () => void
  /** The memory budget of readers that catch up. */
  readonly catchUp: ByteBudget
  /**
   * Returns the conversation's feed, and starts it if it is not running. The feed stops after `release` has been called
   * once for each `acquire`.
   * @throws NotFound
   */
  acquire(tenant: string, conversationId: string): Promise<Feed>
  release(feed: Feed): void
  close(): Promise<void>
}

export function createFeeds(deps: Platform): Feeds {
  type UsedFeed = { users: number; started: Promise<StartedFeed> }
  const used = new Map<string, UsedFeed>()
  const keyOf = (tenant: string, conversationId: string) => `${conversationId} ${tenant}`

  function drop(key: string, entry: UsedFeed): void {
    entry.users -= 1
    if (entry.users > 0) return
    if (used.get(key) === entry) used.delete(key)
    entry.started.then(({ close }) => close()).catch(() => {})
  }

  const subscriptions = createTally({ perKey: VIEWER_SUBSCRIPTIONS })

  return {
    enter({ tenant, actor }) {
      const leave = subscriptions.enter(JSON.stringify([tenant, actor]))
      if (leave) return leave
      throw new LimitReached(
        `A viewer may have at most ${VIEWER_SUBSCRIPTIONS} open subscriptions: end one first.`,
        VIEWER_SUBSCRIPTIONS,
      )
    },
    catchUp: createByteBudget(CATCH_UP_BYTES),
    async acquire(tenant, conversationId) {
      const key = keyOf(tenant, conversationId)
      let entry = used.get(key)
      if (!entry) used.set(key, (entry = { users: 0, started: startFeed(deps, tenant, conversationId) }))
      entry.users += 1
      try {
        const { feed } = await entry.started
        if (feed.deleted) throw new NotFound('conversation', conversationId)
        return feed
      } catch (error) {
        drop(key, entry)
        throw error
      }
    },
    release(feed) {
      const key = keyOf(feed.tenant, feed.conversationId)
      const entry = used.get(key)
      if (entry) drop(key, entry)
    },
    async close() {
      const entries = [...used.values()]
      used.clear()
      await Promise.all(entries.map(({ started }) => started.then(({ close }) => close()).catch(() => {})))
    },
  }
}
