// The runner of a reader on an in-memory feed and journal. Regardless of slow reads and deliveries, the reader gets
// every entry once and in order, and deltas that join to the text of each turn.

import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { createByteBudget } from '../../../../../src/domain/kernel/limits/byte-budget.ts'
import type { ConversationEvent, JournalEvent, TurnEvent } from '../../../../../src/domain/turn/journal/event.ts'
import type { Follower } from '../../../../../src/domain/turn/journal/feed.ts'
import {
  hasLeft,
  reduceFeed,
  startFeedState,
  viewOf,
  type FeedInput,
} from '../../../../../src/domain/turn/journal/feed-state.ts'
import { follow, type FollowedFeed, type ReaderSource } from '../../../../../src/domain/turn/journal/follow.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'
import { lines, range } from '../../../../support/reading.ts'
import { AT, CONVERSATION, entry, turnRow } from '../../../../support/entries.ts'

type Model = ReturnType<typeof createModel>

/** A conversation in memory: its journal, and its feed, which is always up to date. */
function createModel() {
  const journal: TurnEvent[] = []
  /** The current versions of the turns. */
  const turns = new Map<string, TurnEvent['turn']>()
  const followers = new Set<Follower>()
  let state = startFeedState({ conversationId: CONVERSATION, head: 0, open: [], participants: [], visibility: 'OPEN' })

  function apply(input: FeedInput): void {
    const step = reduceFeed(state, input)
    state = step.state
    for (const event of step.events) for (const follower of followers) follower.deliver(event)
  }
  function write(type: TurnEvent['type'], turn: TurnEvent['turn']): void {
    turns.set(turn.id, turn)
    journal.push(entry(type, journal.length + 1, turn))
    apply({ type: 'entry', event: journal.at(-1)!, at: AT })
  }
  const feed: FollowedFeed = {
    conversationId: CONVERSATION,
    get head() {
      return state.head
    },
    get open() {
      return state.open
    },
    get deleted() {
      return state.deleted
    },
    viewOf: (actor) => viewOf(state, actor),
    hasLeft: (actor) => hasLeft(state, actor),
    follow: (follower) => void followers.add(follower),
    unfollow: (follower) => void followers.delete(follower),
  }
  return {
    feed,
    followers,
    turns,
    append: () => write('TurnAppended', turnRow(`t${journal.length + 1}`, journal.length + 1)),
    open: () => write('TurnOpened', turnRow(`t${journal.length + 1}`, journal.length + 1, { status: 'STREAMING' })),
    /** Appends text to the open turn with that index, modulo the number of open turns; does nothing if none is open. */
    extend(index: number): void {
      const openTurn = [...state.open.values()][index % Math.max(1, state.open.size)]
      if (!openTurn) return
      apply({ type: 'text', turnId: openTurn.turn.id, text: `${openTurn.text}${openTurn.text.length} `, at: AT })
    },
    /** Closes an open turn, chosen in the same way, with more text than its deltas delivered. */
    close(index: number): void {
      const openTurn = [...state.open.values()][index % Math.max(1, state.open.size)]
      if (!openTurn) return
      const status = index % 2 ? 'COMMITTED' : 'ABORTED'
      const turn = { ...openTurn.turn, status, text: `${openTurn.text}end` } as const
      write(index % 2 ? 'TurnCommitted' : 'TurnAborted', turn)
    },
    deleteConversation(): void {
      apply({ type: 'deleted', at: AT })
      for (const follower of followers) follower.end()
    },
    /** Entries as the journal returns them, with the current versions of their turns. */
    read: (after: number, limit: number): { events: JournalEvent[]; last: number; bytes: number } => {
      const events = journal.slice(after, after + limit).map((event) => ({ ...event, turn: turns.get(event.turn.id)! }))
      return { events, last: events.at(-1)?.seq ?? after, bytes: 1 }
    },
  }
}

/** A reader whose reads and sink wait until the test resolves the promises in `pending`. */
function startReader(model: Model, after: number, capacity: number) {
  const delivered: ConversationEvent[] = []
  const pending: (() => void)[] = []
  let buffered = 0
  const whenResolved = <T>(result: () => T) => new Promise<T>((resolve) => pending.push(() => resolve(result())))
  const ended = vi.fn()
  const release = vi.fn()
  const shares = createByteBudget(1)
  const source: ReaderSource = {
    clock: fakeClock(),
    reserve: () => shares.take({ tenant: 'acme', actor: 'eve' }, 1),
    read: (from, limit) => whenResolved(() => model.read(from, Math.min(limit, 3))),
    onFailure: () => {},
    release,
  }
  const stop = follow(
    model.feed,
    source,
    { actor: 'eve', afterSeq: after, types: null },
    {
      push(event) {
        delivered.push(event)
        buffered += 1
      },
      isFull: () => buffered >= capacity,
      drained: () => whenResolved(() => void (buffered = 0)),
      end: ended,
    },
  )
  return { delivered, after, stop, ended, release, pending, shares }
}
type Reader = ReturnType<typeof startReader>

const reserve = () => createByteBudget(1).take({ tenant: 'acme', actor: 'eve' }, 1)

const ticks = async (count: number) => {
  for (let n = 0; n < count; n++) await Promise.resolve()
}

/** Resolves the reader's pending reads and deliveries until it waits only for the feed. */
async function settle({ pending }: Reader): Promise<void> {
  let quiet = 0
  for (let round = 0; quiet < 5; round++) {
    expect(round, 'rounds until no read or delivery is pending').toBeLessThan(2_000)
    await ticks(10)
    quiet = pending.length > 0 ? 0 : quiet + 1
    for (const resolve of pending.splice(0)) resolve()
  }
}

/** Checks the invariants of all delivered events, once the reader has caught up with the feed. */
function check({ delivered, after }: Reader, model: Model): void {
  const entries = delivered.filter((event) => event.seq !== null) as TurnEvent[]
  expect(entries.map(({ seq }) => seq)).toEqual(range(after + 1, model.feed.head))
  for (const [turnId, turn] of model.turns) {
    let text = ''
    let mustBeWhole = false
    for (const event of delivered) {
      if (event.type === 'TurnDelta' && event.turnId === turnId) {
        expect(event.start).toBe(text.length)
        text += event.text
        mustBeWhole = true
      } else if (event.type === 'TurnOpened' && event.turn.id === turnId) {
        expect(text).toBe('')
        mustBeWhole = event.turn.status === 'STREAMING'
      } else if ((event.type === 'TurnCommitted' || event.type === 'TurnAborted') && event.turn.id === turnId) {
        if (mustBeWhole) expect(text).toBe(event.turn.text)
        mustBeWhole = false
      }
    }
    if (turn.status === 'STREAMING') expect(text).toBe(model.feed.open.get(turnId)!.text)
    else expect(['', turn.text]).toContain(text)
  }
}

const step = fc.record({
  action: fc.constantFrom('append', 'append', 'open', 'extend', 'extend', 'extend', 'close', 'release', 'release'),
  index: fc.nat(5),
  ticks: fc.nat(6),
})
const schedule = fc.record({
  before: fc.array(step, { maxLength: 15 }),
  after: fc.nat(15),
  capacity: fc.integer({ min: 1, max: 4 }),
  during: fc.array(step, { maxLength: 40 }),
})

async function perform(
  model: Model,
  steps: readonly { action: string; index: number; ticks: number }[],
  reader?: Reader,
) {
  for (const { action, index, ticks: count } of steps) {
    if (action === 'append') model.append()
    if (action === 'open') model.open()
    if (action === 'extend') model.extend(index)
    if (action === 'close') model.close(index)
    if (action === 'release') reader?.pending.shift()?.()
    await ticks(count)
  }
}

describe('a reader of a feed', () => {
  it('gets every entry once and in order, and every text, even if its sink and reads are slow', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async ({ before, after, capacity, during }) => {
        const model = createModel()
        await perform(model, before)
        const reader = startReader(model, Math.min(after, model.feed.head), capacity)
        await perform(model, during, reader)
        await settle(reader)
        expect(reader.delivered.filter(({ type }) => type === 'Gap')).toEqual([])
        check(reader, model)
        expect(model.followers.size).toBe(1)
        reader.stop()
        expect(model.followers.size).toBe(0)
        expect(reader.release).toHaveBeenCalledTimes(1)
        expect(reader.shares).toMatchObject({ used: 0, waiting: 0 })
      }),
      { numRuns: 500 },
    )
  })

  it('gets the deletion once and last, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async ({ before, after, capacity, during }) => {
        const model = createModel()
        await perform(model, before)
        const reader = startReader(model, Math.min(after, model.feed.head), capacity)
        await perform(model, during, reader)
        model.deleteConversation()
        await settle(reader)
        const deletions = reader.delivered.flatMap(({ type }, index) => (type === 'ConversationDeleted' ? [index] : []))
        expect(deletions).toEqual([reader.delivered.length - 1])
        expect(reader.ended.mock.calls).toEqual([[undefined]])
        expect(reader.release).toHaveBeenCalledTimes(1)
      }),
      { numRuns: 200 },
    )
  })

  it('gets the deletion even if the journal is deleted before the feed ends', async () => {
    const model = createModel()
    for (let n = 0; n < 5; n++) model.append()
    model.read = (after) => ({ events: [], last: after, bytes: 0 })
    const reader = startReader(model, 2, 10)
    await settle(reader)
    expect(reader.delivered).toEqual([])
    model.deleteConversation()
    expect(lines(reader.delivered)).toEqual(['ConversationDeleted'])
  })

  it('repeats a failed read after 1, 2, 4 … s, at most 30 s, and reports the first failure only', async () => {
    const clock = fakeClock()
    const model = createModel()
    model.append()
    const delivered: ConversationEvent[] = []
    const onFailure = vi.fn()
    const read = vi.fn(async (after: number, limit: number) => model.read(after, limit))
    const error = new Error('the connection broke')
    const delays = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
    for (const _ of delays) read.mockRejectedValueOnce(error)
    const sink = {
      push: (event: ConversationEvent) => void delivered.push(event),
      isFull: () => false,
      drained: async () => {},
      end: vi.fn(),
    }
    const stop = follow(
      model.feed,
      { clock, reserve, read, onFailure, release: () => {} },
      { actor: 'eve', afterSeq: 0, types: null },
      sink,
    )
    for (const [n, ms] of delays.entries()) {
      await clock.advance(ms - 1)
      expect(read).toHaveBeenCalledTimes(n + 1)
      expect(delivered).toEqual([])
      await clock.advance(1)
    }
    expect(onFailure.mock.calls).toEqual([[error]])
    expect(lines(delivered)).toEqual(['1 TurnAppended'])
    stop()
    expect(sink.end.mock.calls).toEqual([[undefined]])
  })

  it('does not retry a failed read after it was stopped', async () => {
    const clock = fakeClock()
    const model = createModel()
    model.append()
    const read = vi.fn(async (): Promise<never> => Promise.reject(new Error('the connection broke')))
    const end = vi.fn()
    const sink = { push: () => {}, isFull: () => false, drained: async () => {}, end }
    const stop = follow(
      model.feed,
      { clock, reserve, read, onFailure: () => {}, release: () => {} },
      { actor: 'eve', afterSeq: 0, types: null },
      sink,
    )
    await clock.advance(1)
    stop()
    await clock.advance(5_000)
    expect(read).toHaveBeenCalledTimes(1)
    expect(end).toHaveBeenCalledTimes(1)
  })
})
