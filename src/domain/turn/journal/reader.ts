// Subscribes to a conversation's events after a seq: delivers the stored journal entries, then live events. `readInto`
// writes them to a sink; `readEventsOf` returns an iterable.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../../errors.ts'
import { createPushIterator } from '../../../runtime/push-iterator.ts'
import { JOURNAL_PAGE_BYTES, readLastSeq } from '../../../store/sql/turn/journal/read-journal.ts'
import type { EventDeps } from './deps.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { count, id, name, parse } from '../../kernel/input.ts'
import { actAs, type Viewer } from '../../kernel/view.ts'
import { EVENT_TYPES, projectEvent, type VisibleEvent } from './event.ts'
import { sizeOfEvent } from './event-size.ts'
import type { Feed } from './feed.ts'
import { follow, type ReaderSource, type Sink } from './follow.ts'
import { readEvents } from './journal-page.ts'

const subscription = z.object({
  conversationId: id('conversation'),
  afterSeq: count.nullish(),
  types: z.array(z.enum(EVENT_TYPES)).min(1, 'must not be empty: omit it to receive all types').nullish(),
  as: name.nullish(),
})
export type Subscription = z.input<typeof subscription>

/**
 * Writes the conversation's events after `afterSeq` to the sink, then live events; without `afterSeq`, only live
 * events. `types` limits the events to these types, ConversationDeleted and Gap; null for all types. Returns a function
 * that stops the reader.
 * @throws InvalidInput if `afterSeq` is greater than the journal's last seq @throws NotFound @throws LimitReached
 */
export async function readInto(
  deps: EventDeps,
  principal: Viewer,
  input: Subscription,
  makeSink: (viewer: Viewer) => Sink,
): Promise<() => void> {
  authorize(principal, 'readInto', input)
  const { conversationId, afterSeq, types, as } = parse(subscription, input)
  const viewer = actAs(principal, as)
  const leave = deps.feeds.enter(principal)
  let feed: Feed | null = null
  try {
    const last = await readLastSeq(deps.pool, viewer, conversationId)
    if (last === null) throw new NotFound('conversation', conversationId)
    if (afterSeq != null && afterSeq > last) {
      throw InvalidInput.at('afterSeq', `is ${afterSeq}, but the newest entry of the conversation is ${last}`)
    }
    feed = await deps.feeds.acquire(viewer.tenant, conversationId)
    // The client may have received entries that the feed has not read yet.
    await feed.reach(last)
    const start = { actor: viewer.actor, afterSeq: afterSeq ?? last, types: types ? new Set(types) : null }
    return follow(feed, sourceOf(deps, feed, principal, leave), start, makeSink(viewer))
  } catch (error) {
    leave()
    if (feed) deps.feeds.release(feed)
    throw error
  }
}

const sourceOf = (deps: EventDeps, feed: Feed, principal: Viewer, leave: () => void): ReaderSource => ({
  clock: deps.clock,
  reserve: () => deps.feeds.catchUp.take(principal, JOURNAL_PAGE_BYTES),
  read: (after, limit) => readEvents(deps, feed.tenant, feed.conversationId, { after, limit }),
  onFailure: (error) =>
    deps.log.warn(
      { err: error, conversationId: feed.conversationId },
      'a reader could not read the journal; retrying until it succeeds',
    ),
  release() {
    leave()
    deps.feeds.release(feed)
  },
})

/** Number of buffered events at which the reader leaves the feed until all of them are consumed. */
const BUFFER = 256
/** Total size of the buffered events, in bytes, at which the reader leaves the feed until all of them are consumed. */
const BUFFER_BYTES = 256 * 1024

/**
 * Like `readInto`, but returns the events as an iterable for one consumer. Ending the iteration stops the reader.
 * @throws InvalidInput @throws NotFound @throws LimitReached
 */
export async function readEventsOf(
  deps: EventDeps,
  principal: Viewer,
  input: Subscription,
): Promise<AsyncIterableIterator<VisibleEvent>> {
  authorize(principal, 'readEventsOf', input)
  const buffer = createPushIterator<VisibleEvent>(BUFFER, { maxBytes: BUFFER_BYTES, sizeOf: sizeOfEvent })
  const stop = await readInto(deps, principal, input, () => ({
    push: (event, view) => buffer.push(projectEvent(view, event)),
    isFull: buffer.isFull,
    drained: buffer.drained,
    end: buffer.end,
  }))
  return buffer.iterate(stop)
}
