// Carries one reader along a conversation: it reads the journal until it is where the feed is, then follows the feed. A
// reader that cannot take more leaves the feed and catches up from its own cursor: it delays nobody else and loses
// nothing. Which events it is told, reader-state.ts decides.

import type { View } from '../view.ts'
import type { ConversationEvent, JournalEvent } from './event.ts'
import type { Feed, Follower } from './feed.ts'
import {
  changeView,
  isHopeless,
  joinFeed,
  leaveFeed,
  moveTo,
  replay,
  skipTo,
  startReaderState,
  takes,
  type ReaderState,
} from './reader-state.ts'

/** Where a reader's events go. */
export type Sink = {
  /** Takes the event, seen with that view. False: no more until `drained`. */
  push(event: ConversationEvent, view: View): boolean
  /** Resolves when more can be taken. */
  drained(): Promise<void>
  /** Nothing more comes: the conversation is deleted, the reader was stopped, or it failed with that error. */
  end(error?: unknown): void
}

/** Where a reader's entries come from while it is behind. */
export type ReaderSource = {
  /** The entries after `after`, at most `limit`, as events; `last` is the seq of the last one, or `after`. */
  read(after: number, limit: number): Promise<{ events: readonly JournalEvent[]; last: number }>
  /** Called when `read` failed. It is called again after 1 s: a database that restarts ends no stream. */
  onFailure(error: unknown): void
  /** Called once, when the reader stops. */
  release(): void
}

/** What a reader needs of the feed. */
export type FollowedFeed = Pick<Feed, 'conversationId' | 'head' | 'open' | 'deleted' | 'viewOf' | 'follow' | 'unfollow'>

/** Entries read at once to catch up. */
const PAGE = 200
/** Time before a failed read is repeated, in ms. */
const RETRY = 1_000

type ReaderRun = {
  readonly feed: FollowedFeed
  readonly source: ReaderSource
  readonly sink: Sink
  readonly follower: Follower
  readonly state: ReaderState
  stopped: boolean
  /** Ends the wait of a reader that follows the feed. */
  resume: (() => void) | null
}

/** Starts a reader after entry `after`. The result stops it. */
export function follow(feed: FollowedFeed, source: ReaderSource, actor: string, after: number, sink: Sink): () => void {
  const run: ReaderRun = {
    feed,
    source,
    sink,
    follower: {
      actor,
      tell: (event) => tell(run, event),
      changeView(view, open) {
        for (const delta of changeView(run.state, view, open)) take(run, delta)
      },
      end: () => stop(run),
    },
    state: startReaderState(feed.conversationId, after, feed.viewOf(actor)),
    stopped: false,
    resume: null,
  }
  carry(run).catch((error) => stop(run, error))
  return () => stop(run)
}

function take({ state, sink }: ReaderRun, event: ConversationEvent): void {
  if (takes(state, event) && !sink.push(event, state.view)) state.isFull = true
}

function tell(run: ReaderRun, event: ConversationEvent): void {
  if (!moveTo(run.state, event)) return
  take(run, event)
  if (run.state.isFull) setAside(run)
}

/** Leaves the feed, to catch up once the sink takes events again. */
function setAside(run: ReaderRun): void {
  run.feed.unfollow(run.follower)
  leaveFeed(run.state, run.feed.open.values())
  run.resume?.()
}

function stop(run: ReaderRun, error?: unknown): void {
  if (run.stopped) return
  run.stopped = true
  run.feed.unfollow(run.follower)
  run.source.release()
  run.resume?.()
  run.sink.end(error)
}

async function drain(run: ReaderRun): Promise<void> {
  while (run.state.isFull && !run.stopped) {
    run.state.isFull = false
    await run.sink.drained()
  }
}

/** The next entries after the cursor. Repeats the read until it succeeds or the reader is stopped. */
async function readPage(run: ReaderRun): ReturnType<ReaderSource['read']> {
  const { cursor } = run.state
  const limit = Math.min(PAGE, run.feed.head - cursor)
  for (;;) {
    try {
      return await run.source.read(cursor, limit)
    } catch (error) {
      if (run.stopped) throw error
      run.source.onFailure(error)
      await new Promise((resolve) => setTimeout(resolve, RETRY))
    }
  }
}

/** Takes the next page of the journal. False if it is empty: the conversation is being deleted, which the feed tells. */
async function takePage(run: ReaderRun): Promise<boolean> {
  const { feed, state, follower } = run
  const { events, last } = await readPage(run)
  if (last === state.cursor) return false
  state.view = feed.viewOf(follower.actor)
  for (const event of events) {
    const rest = replay(state, event)
    if (rest) take(run, rest)
    take(run, event)
  }
  state.cursor = last
  await drain(run)
  return true
}

/** Catches up and follows, by turns, until the reader stops. */
async function carry(run: ReaderRun): Promise<void> {
  const { feed, state, follower } = run
  while (!run.stopped) {
    await drain(run)
    if (isHopeless(state, feed.head)) take(run, skipTo(state, feed.head))
    while (state.cursor < feed.head && !run.stopped) if (!(await takePage(run))) break
    if (run.stopped) return
    // No await from the comparison with the head to `follow`: the reader is where the feed is.
    for (const delta of joinFeed(state, feed.viewOf(follower.actor), feed.open.values())) take(run, delta)
    if (feed.deleted) {
      take(run, { type: 'ConversationDeleted', conversationId: feed.conversationId, seq: null, at: new Date() })
      return stop(run)
    }
    feed.follow(follower)
    if (state.isFull) setAside(run)
    else await new Promise<void>((resolve) => (run.resume = resolve))
    run.resume = null
  }
}
