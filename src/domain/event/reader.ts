// One reader of a conversation: first what it has missed, read from the journal, then live from the conversation's feed. A reader that
// cannot take more is set aside and catches up from its own cursor later: it costs nobody else anything, and it loses
// nothing. Joined, the deltas it gets of a turn that it saw open equal the turn's text.

import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { readLastSeq } from '../../store/sql/event/read-journal.ts'
import type { EventDeps } from './deps.ts'
import { count, id, name, parse } from '../input.ts'
import { actAs, type View, type Viewer } from '../view.ts'
import { isTold, isToldText, readEvents, tell, type ConversationEvent, type ToldEvent } from './event.ts'
import type { Feed, Follower, OpenTurn } from './feed.ts'

/** Where a reader's events go. */
export type Sink = {
  /** Takes the event, seen with that view. False: no more until `drained`. */
  push(event: ConversationEvent, view: View): boolean
  /** Resolves when more can be taken. */
  drained(): Promise<void>
  /** Nothing more comes: the conversation is gone, or reading failed for good. */
  end(error?: unknown): void
}

/** A live reader further behind than this many entries is told of a gap instead. */
const HOPELESS = 10_000
/** Entries read at once to catch up. */
const PAGE = 200

const subscription = z.object({ conversationId: id('conversation'), after: count.nullish(), as: name.nullish() })
export type Subscription = z.input<typeof subscription>

/**
 * Reads the conversation's events after `after`, then live, into the sink; without `after`, only what comes from now on. The
 * result stops it.
 * @throws InvalidInput when `after` lies beyond the journal's head. @throws NotFound
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
    // It may be a moment behind what the client was told elsewhere.
    await feed.reach(last)
  } catch (error) {
    deps.feeds.release(feed)
    throw error
  }
  return follow(deps, feed, reader.actor, after ?? last, makeSink(reader))
}

function follow(deps: EventDeps, feed: Feed, actor: string, from: number, sink: Sink): () => void {
  let cursor = from
  let view = feed.viewOf(actor)
  let stopped = false
  let full = false
  let over = false
  let resume: (() => void) | null = null
  /** While not following the feed: how much was told of each turn that was seen open. */
  const told = new Map<string, number>()

  const take = (event: ConversationEvent) => {
    if (over) return
    over = event.type === 'ConversationDeleted'
    if (isTold(view, event) && !sink.push(event, view)) full = true
  }

  /** The text of an open turn from `start` on. */
  const tellText = ({ turn, text }: OpenTurn, start: number) => {
    if (start >= text.length) return
    take({
      type: 'TurnDelta',
      conversationId: feed.conversationId,
      seq: null,
      at: new Date(),
      turnId: turn.id,
      start,
      end: text.length,
      text: text.slice(start),
      of: turn,
    })
  }

  const follower: Follower = {
    actor,
    tell(event) {
      if (event.seq !== null) {
        if (event.seq <= cursor) return
        cursor = event.seq
      }
      take(event)
      if (full) setAside()
    },
    changeView(next, open) {
      const before = view
      view = next
      for (const turn of open) if (!isToldText(before, turn.turn)) tellText(turn, 0)
    },
    end: () => stop(),
  }

  /** Leaves the feed, remembering where it stood. */
  function setAside(): void {
    feed.unfollow(follower)
    for (const { turn, text } of feed.open.values()) if (isToldText(view, turn)) told.set(turn.id, text.length)
    resume?.()
  }

  function stop(error?: unknown): void {
    if (stopped) return
    stopped = true
    feed.unfollow(follower)
    deps.feeds.release(feed)
    resume?.()
    sink.end(error)
  }

  /** An entry that the feed has left behind: as `tell`, and with the text that the reader has not been told yet. */
  function replay(event: ConversationEvent): void {
    if (event.type === 'TurnOpened' && event.turn.status === 'STREAMING') told.set(event.turn.id, 0)
    if (event.type === 'TurnCommitted' || event.type === 'TurnAborted') {
      const start = told.get(event.turn.id)
      if (start !== undefined) tellText({ turn: event.turn, text: event.turn.text }, start)
      told.delete(event.turn.id)
    }
    take(event)
  }

  /** Tries until it works or nobody reads any more: a database that restarts ends no stream. */
  async function persist<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await read()
      } catch (error) {
        if (stopped) throw error
        deps.log.warn(
          { err: error, conversationId: feed.conversationId },
          'could not read the journal; trying again in 1 s',
        )
        await new Promise((resolve) => setTimeout(resolve, 1_000))
      }
    }
  }

  async function drain(): Promise<void> {
    while (full && !stopped) {
      full = false
      await sink.drained()
    }
  }

  async function run(): Promise<void> {
    let live = false
    while (!stopped) {
      await drain()
      if (live && feed.head - cursor > HOPELESS) {
        cursor = feed.head
        told.clear()
        take({ type: 'Gap', conversationId: feed.conversationId, seq: null, at: new Date(), resumeAfter: cursor })
      }
      while (cursor < feed.head && !stopped) {
        const limit = Math.min(PAGE, feed.head - cursor)
        const { events, last } = await persist(() => readEvents(deps, feed.tenant, feed.conversationId, cursor, limit))
        if (last === cursor) break // the conversation is being deleted: the feed says so
        view = feed.viewOf(actor)
        for (const event of events) replay(event)
        cursor = last
        await drain()
      }
      if (stopped) return
      // No await from here to `follow`: the reader stands where the feed stands.
      view = feed.viewOf(actor)
      for (const open of feed.open.values()) tellText(open, told.get(open.turn.id) ?? 0)
      told.clear()
      if (feed.deleted) {
        take({ type: 'ConversationDeleted', conversationId: feed.conversationId, seq: null, at: new Date() })
        return stop()
      }
      feed.follow(follower)
      live = true
      if (full) setAside()
      else await new Promise<void>((resolve) => (resume = resolve))
      resume = null
    }
  }

  run().catch(stop)
  return () => stop()
}

/** Events waiting for a consumer of the iterable before its reader is set aside. */
const BUFFER = 256

/**
 * The same as an iterable of what the reader is told; ending the iteration stops the reader.
 * @throws InvalidInput @throws NotFound
 */
export async function readEventsOf(
  deps: EventDeps,
  viewer: Viewer,
  input: Subscription,
): Promise<AsyncIterableIterator<ToldEvent>> {
  const waiting: ToldEvent[] = []
  let ended = false
  let failure: unknown
  let wake: (() => void) | null = null
  let drained: (() => void) | null = null
  const stop = await readInto(deps, viewer, input, () => ({
    push(event, view) {
      waiting.push(tell(view, event))
      wake?.()
      return waiting.length < BUFFER
    },
    drained: () => new Promise((resolve) => (waiting.length === 0 ? resolve() : (drained = resolve))),
    end(error) {
      ended = true
      failure = error
      wake?.()
      drained?.()
    },
  }))
  const events: AsyncIterableIterator<ToldEvent> = {
    async next() {
      while (waiting.length === 0) {
        if (failure !== undefined) throw failure
        if (ended) return { done: true, value: undefined }
        await new Promise<void>((resolve) => (wake = resolve))
        wake = null
      }
      const value = waiting.shift()!
      if (waiting.length === 0) drained?.()
      return { done: false, value }
    },
    async return() {
      stop()
      waiting.length = 0
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => events,
  }
  return events
}
