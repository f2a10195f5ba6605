// The inbox of an actor: delivers the turns that wait for its answer and its conversations with unread turns, then
// changes in its list of conversations and new turns to answer. Each event states its reason.

import { z } from 'zod'
import { createPushIterator, type PushIterator } from '../../../runtime/push-iterator.ts'
import type { UnreadConversation } from '../../../store/sql/conversation/participant/read-unread-conversations.ts'
import type { Platform } from '../../kernel/platform.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { name, parse } from '../../kernel/input.ts'
import { actAs, type Viewer } from '../../kernel/view.ts'
import type { Feeds } from './feeds.ts'
import { INBOX_REASONS, toWakeUpEvent, type InboxEvent, type Inboxes, type InboxReason } from './inboxes.ts'
import { unreadConversations } from './unread.ts'
import { unclaimedWakeUps } from './wake-ups.ts'

/**
 * Maximum number of events buffered per consumer. Beyond it, the oldest are dropped, because a list of conversations
 * needs only the newest. For a consumer of wake-ups, the wake-ups are then read again when the buffer is empty.
 */
const BUFFER = 1_000

const inboxInput = z.object({
  as: name.nullish(),
  reasons: z.array(z.enum(INBOX_REASONS)).min(1, 'must not be empty: omit it to receive all reasons').nullish(),
})
export type InboxInput = z.input<typeof inboxInput>

/**
 * Returns the events of the inbox of the principal, or of `as`: first one event WAKE_UP for each unclaimed turn that
 * waits for the actor's answer, oldest first; then one event UNREAD for each conversation with unread turns, most
 * recently active first, at most MAX_UNREAD_CONVERSATIONS; then new wake-ups and changes in the list of conversations.
 * A turn may be delivered more than once. Ending the iteration ends the subscription.
 * @throws InvalidInput @throws LimitReached
 */
export async function readInbox(
  deps: Platform & { inboxes: Inboxes; feeds: Pick<Feeds, 'enter'> },
  principal: Viewer,
  input: InboxInput,
): Promise<AsyncIterableIterator<InboxEvent>> {
  authorize(principal, 'readInbox', input)
  const { as, reasons } = parse(inboxInput, input)
  const viewer = actAs(principal, as)
  const selects = (reason: InboxReason) => !reasons || reasons.includes(reason)
  const buffer = createPushIterator<InboxEvent>(BUFFER, { whenFull: 'drop-oldest' })
  const leave = deps.feeds.enter(principal)
  let isStopped = false
  let stopListening = () => {}
  const stop = () => {
    isStopped = true
    leave()
    stopListening()
  }
  const push = selects('WAKE_UP') ? withoutLoss(deps, viewer, buffer, () => isStopped) : buffer.push
  try {
    // The first events are read while the listener collects changes, so no change is lost between the two.
    stopListening = await deps.inboxes.listen(viewer.tenant, {
      actor: viewer.actor,
      notify: (event) => void (selects(event.reason) && push(event)),
    })
    const waiting = waitingEvents(deps, viewer, selects)
    return startingWith(await waiting.next(), waiting, buffer.iterate(stop))
  } catch (error) {
    stop()
    throw error
  }
}

/** Yields the wake-ups, then the conversations with unread turns. */
async function* waitingEvents(
  deps: Platform,
  viewer: Viewer,
  selects: (reason: InboxReason) => boolean,
): AsyncGenerator<InboxEvent, void> {
  if (selects('WAKE_UP')) for await (const wakeUp of unclaimedWakeUps(deps, viewer)) yield toWakeUpEvent(wakeUp)
  if (selects('UNREAD')) for await (const unread of unreadConversations(deps, viewer)) yield toUnreadEvent(unread)
}

const toUnreadEvent = ({ conversationId, at }: UnreadConversation): InboxEvent => ({
  conversationId,
  reason: 'UNREAD',
  at,
  turnId: null,
})

/**
 * Returns a function that buffers events. If the buffer was full, it reads all wake-ups again once the buffer is empty,
 * and pushes each of them when the buffer is empty again.
 */
function withoutLoss(
  deps: Platform,
  viewer: Viewer,
  buffer: PushIterator<InboxEvent>,
  isStopped: () => boolean,
): (event: InboxEvent) => void {
  let isReading = false

  async function readAgain(): Promise<void> {
    await buffer.drained()
    // If a wake-up is dropped from here on, another pass reads it.
    isReading = false
    for await (const wakeUp of unclaimedWakeUps(deps, viewer)) {
      await buffer.drained()
      if (isStopped()) return
      buffer.push(toWakeUpEvent(wakeUp))
    }
  }

  return (event) => {
    if (buffer.isFull() && !isReading) {
      isReading = true
      readAgain().catch(buffer.end)
    }
    buffer.push(event)
  }
}

type Waiting = IteratorResult<InboxEvent, void>

/** Returns the waiting events, then the changes. If reading the waiting events fails, the iteration ends. */
function startingWith(
  first: Waiting,
  rest: AsyncIterator<InboxEvent, void>,
  changes: AsyncIterableIterator<InboxEvent>,
): AsyncIterableIterator<InboxEvent> {
  let upcoming: Waiting | null = first
  let isListed = false

  async function nextWaiting(): Promise<InboxEvent | null> {
    try {
      const { value } = upcoming ?? (await rest.next())
      upcoming = null
      return value ?? null
    } catch (error) {
      await changes.return!()
      throw error
    }
  }

  const iterator: AsyncIterableIterator<InboxEvent> = {
    async next() {
      const waiting = isListed ? null : await nextWaiting()
      if (waiting && !isListed) return { done: false, value: waiting }
      isListed = true
      return changes.next()
    },
    async return() {
      isListed = true
      return changes.return!()
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}
