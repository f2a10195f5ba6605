// The doors for readers of a conversation: its events after a cursor, first from the journal, then live. `readInto` writes
// them to a sink; `readEventsOf` gives them as an iterable.

import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { readLastSeq } from '../../store/sql/event/read-journal.ts'
import type { EventDeps } from './deps.ts'
import { count, id, name, parse } from '../input.ts'
import { createPushIterator } from '../push-iterator.ts'
import { actAs, type Viewer } from '../view.ts'
import { readEvents, tell, type ToldEvent } from './event.ts'
import type { Feed } from './feed.ts'
import { follow, type ReaderSource, type Sink } from './follow.ts'

const subscription = z.object({ conversationId: id('conversation'), after: count.nullish(), as: name.nullish() })
export type Subscription = z.input<typeof subscription>

/**
 * Reads the conversation's events after `after`, then live, into the sink; without `after`, only events from now on. The
 * result stops it.
 * @throws InvalidInput when `after` is beyond the journal's head. @throws NotFound
 */
export async function readInto(
  deps: EventDeps,
  viewer: Viewer,
  input: Subscription,
  makeSink: (viewer: Viewer) => Sink,
): Promise<() => void> {
  const { conversationId, after, as } = parse(subscription, input)
  const reader = actAs(viewer, as)
  const feed = await deps.feeds.acquire(viewer.tenant, conversationId)
  let last: number
  try {
    last = (await readLastSeq(deps.pool, viewer.tenant, conversationId)) ?? feed.head
    if (after != null && after > last) {
      throw InvalidInput.at('after', `is ${after}, but the newest entry of the conversation is ${last}`)
    }
    // The feed may be behind the entries that the client has seen elsewhere.
    await feed.reach(last)
  } catch (error) {
    deps.feeds.release(feed)
    throw error
  }
  return follow(feed, sourceOf(deps, feed), reader.actor, after ?? last, makeSink(reader))
}

const sourceOf = (deps: EventDeps, feed: Feed): ReaderSource => ({
  read: (after, limit) => readEvents(deps, feed.tenant, feed.conversationId, after, limit),
  onFailure: (error) =>
    deps.log.warn(
      { err: error, conversationId: feed.conversationId },
      'could not read the journal; trying again in 1 s',
    ),
  release: () => deps.feeds.release(feed),
})

/** Events waiting for a consumer of the iterable before its reader is set aside. */
const BUFFER = 256

/**
 * The events that the reader is told, for one consumer; ending the iteration stops the reader.
 * @throws InvalidInput @throws NotFound
 */
export async function readEventsOf(
  deps: EventDeps,
  viewer: Viewer,
  input: Subscription,
): Promise<AsyncIterableIterator<ToldEvent>> {
  const waiting = createPushIterator<ToldEvent>(BUFFER)
  const stop = await readInto(deps, viewer, input, () => ({
    push: (event, view) => waiting.push(tell(view, event)),
    drained: waiting.drained,
    end: waiting.end,
  }))
  return waiting.iterate(stop)
}
