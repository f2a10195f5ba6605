// Runs one reader of a conversation. It reads the journal until it reaches the feed's head, then follows the feed. A
// reader whose sink is full leaves the feed and catches up from its own cursor, so that it does not delay others. If it
// is too far behind, it skips entries and gets a Gap. reader-state.ts decides which events it receives.

import { backoffMs, type Clock } from '../../../runtime/clock.ts'
import { seesConversation, type View } from '../../kernel/view.ts'
import type { ByteShare } from '../../kernel/limits/byte-budget.ts'
import type { ConversationEvent, JournalEvent } from './event.ts'
import type { Feed, Follower } from './feed.ts'
import {
  changeView,
  isTooFarBehind,
  joinFeed,
  leaveFeed,
  missingContent,
  noteReceived,
  moveTo,
  replay,
  skipTo,
  startReaderState,
  accept,
  type ReaderState,
} from './reader-state.ts'

/** The destination of a reader's events. */
export type Sink = {
  /** Adds the event, which `projectEvent` must convert for the given view. */
  push(event: ConversationEvent, view: View): void
  /** Whether the reader should wait for `drained` before it pushes more events. */
  isFull(): boolean
  /** Resolves when the sink accepts events again, or its client has disconnected. */
  drained(): Promise<void>
  /**
   * Called after the last event: the conversation was deleted or is no longer visible to the reader, the reader has
   * left a MEMBERS conversation or was stopped, or it failed with `error`.
   */
  end(error?: unknown): void
}

/** The source of a reader's entries while it is behind the feed. */
export type ReaderSource = {
  clock: Pick<Clock, 'setTimeout'>
  /** Requests the memory for a page. The reader releases it once its sink has taken the page. */
  reserve(): ByteShare
  /** Returns at most `limit` entries after `after`, as events; `last` is the seq of the last entry, or `after`. */
  read(after: number, limit: number): Promise<{ events: readonly JournalEvent[]; last: number; bytes: number }>
  /** Called at the first failure of each page. The reader retries, so it survives a database restart. */
  onFailure(error: unknown): void
  /** Called once, when the reader stops. */
  release(): void
}

/** The part of the feed that a reader uses. */
export type FollowedFeed = Pick<
  Feed,
  'conversationId' | 'head' | 'open' | 'deleted' | 'viewOf' | 'hasLeft' | 'follow' | 'unfollow'
>

/** Maximum number of entries per read while a reader catches up. */
const PAGE = 200
/** Time before a failed read is retried, ms. Each further failure doubles it, up to `max`. */
const READ_RETRY = { firstMs: 1_000, maxMs: 30_000 }

type ReaderRun = {
  readonly feed: FollowedFeed
  readonly source: ReaderSource
  readonly sink: Sink
  readonly follower: Follower
  readonly state: ReaderState
  stopped: boolean
  /** Ends the wait of a reader that follows the feed; null while it catches up. */
  resume: (() => void) | null
  /** The memory requested or granted for the current page; null for none. */
  share: ByteShare | null
}

/** The actor in whose view a reader starts, the entry after which it starts, and the types that it receives. */
export type ReaderStart = { actor: string; afterSeq: number; types: ReaderState['types'] }

/** Starts a reader. Returns a function that stops it. */
export function follow(
  feed: FollowedFeed,
  source: ReaderSource,
  { actor, afterSeq, types }: ReaderStart,
  sink: Sink,
): () => void {
  const run: ReaderRun = {
    feed,
    source,
    sink,
    follower: {
      actor,
      deliver: (event) => receive(run, event),
      changeView(view, open) {
        if (!seesConversation(view)) return stop(run)
        if (sink.isFull()) return leave(run, null)
        for (const delta of changeView(run.state, view, open)) push(run, delta)
      },
      end: () => stop(run),
    },
    state: startReaderState(feed.conversationId, afterSeq, feed.viewOf(actor), types),
    stopped: false,
    resume: null,
    share: null,
  }
  readUntilStopped(run).catch((error) => stop(run, error))
  return () => stop(run)
}

function push({ state, sink }: ReaderRun, event: ConversationEvent): void {
  if (accept(state, event)) sink.push(event, state.view)
}

/** Types of the entries at which an actor may have left a MEMBERS conversation. Such an entry is its last event. */
const ENDING: ReadonlySet<ConversationEvent['type']> = new Set(['ParticipantLeft', 'ConversationUpdated'])

function receive(run: ReaderRun, event: ConversationEvent): void {
  // If the sink is full, the reader leaves the feed. It then reads a journal event from the journal, and the text of a
  // delta from the open turn or the entry that closes it; other ephemeral events are lost. ConversationDeleted is
  // pushed even then, because the reader ends after it.
  if (run.sink.isFull() && event.type !== 'ConversationDeleted') return leave(run, event)
  if (moveTo(run.state, event)) push(run, event)
  if (ENDING.has(event.type) && run.feed.hasLeft(run.follower.actor)) stop(run)
}

/** Leaves the feed; the reader catches up once the sink accepts events. `skipped` is the undelivered event, or null. */
function leave(run: ReaderRun, skipped: ConversationEvent | null): void {
  run.feed.unfollow(run.follower)
  leaveFeed(run.state, run.feed.open.values(), skipped)
  run.resume?.()
}

function stop(run: ReaderRun, error?: unknown): void {
  if (run.stopped) return
  run.stopped = true
  run.feed.unfollow(run.follower)
  run.source.release()
  run.share?.release()
  run.resume?.()
  run.sink.end(error)
}

/** Waits until the sink accepts events or the reader is stopped. */
async function drain(run: ReaderRun): Promise<void> {
  while (run.sink.isFull() && !run.stopped) await run.sink.drained()
}

/** Reads the next entries after the cursor. Retries until it succeeds or the reader is stopped. */
async function readPage(run: ReaderRun): ReturnType<ReaderSource['read']> {
  const { cursor } = run.state
  const limit = Math.min(PAGE, run.feed.head - cursor)
  for (let failures = 1; ; failures++) {
    try {
      return await run.source.read(cursor, limit)
    } catch (error) {
      if (run.stopped) throw error
      if (failures === 1) run.source.onFailure(error)
      const ms = backoffMs(READ_RETRY, failures)
      await new Promise((resolve) => run.source.clock.setTimeout(resolve, ms).unref())
      if (run.stopped) throw error
    }
  }
}

/**
 * Pushes the next page of the journal. Returns false if the reader is stopped, or if the page is empty because the
 * conversation is being deleted.
 */
async function pushPage(run: ReaderRun): Promise<boolean> {
  const { feed, state, follower } = run
  const share = run.source.reserve()
  run.share = share
  try {
    await share.granted
    if (run.stopped) return false
    const { events, last, bytes } = await readPage(run)
    share.resize(bytes)
    if (last === state.cursor) return false
    state.view = feed.viewOf(follower.actor)
    for (const event of events) {
      if (run.sink.isFull()) {
        await drain(run)
        if (run.stopped) return false
        state.view = feed.viewOf(follower.actor)
      }
      const delta = replay(state, event)
      if (delta) push(run, delta)
      push(run, event)
    }
    state.cursor = last
    await drain(run)
    return true
  } finally {
    share.release()
    run.share = null
  }
}

/**
 * Pushes the content of open turns that the reader has not received. Returns false if the sink became full: the reader
 * must then wait, and the feed may advance meanwhile.
 */
function pushContent(run: ReaderRun): boolean {
  const { feed, state, follower } = run
  for (const delta of missingContent(state, feed.viewOf(follower.actor), feed.open.values())) {
    push(run, delta)
    noteReceived(state, delta)
    if (run.sink.isFull()) return false
  }
  return true
}

/** Alternates between catching up and following until the reader stops. */
async function readUntilStopped(run: ReaderRun): Promise<void> {
  const { feed, state, follower } = run
  while (!run.stopped) {
    await drain(run)
    if (isTooFarBehind(state, feed.head)) push(run, skipTo(state, feed.head))
    while (state.cursor < feed.head && !run.stopped) if (!(await pushPage(run))) break
    if (run.stopped) return
    if (!seesConversation(feed.viewOf(follower.actor)) || feed.hasLeft(follower.actor)) return stop(run)
    // No await between the comparison with the head and `follow`: the feed must not advance in between.
    if (!feed.deleted && !pushContent(run)) continue
    joinFeed(state, feed.viewOf(follower.actor))
    if (feed.deleted) {
      push(run, { type: 'ConversationDeleted', conversationId: feed.conversationId, seq: null, at: new Date() })
      return stop(run)
    }
    feed.follow(follower)
    await new Promise<void>((resolve) => (run.resume = resolve))
    run.resume = null
  }
}
