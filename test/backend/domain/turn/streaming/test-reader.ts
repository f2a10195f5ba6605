// A reader with limited demand, and the invariants of the events it received. Used by stream.interleaving.test.ts.

import { expect } from 'vitest'
import type { ConversationEvent } from '../../../../../src/domain/turn/journal/event.ts'
import { readInto } from '../../../../../src/domain/turn/journal/reader.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import type { Process } from '../../../../support/process.ts'

export type TestReader = {
  readonly process: Process
  /** Seq after which the reader starts. */
  readonly cursor: number
  /** Turns whose whole text the reader must receive: they were open when it began to read live events. */
  readonly open: readonly string[]
  readonly events: ConversationEvent[]
  readonly isStopped: boolean
  pause(): void
  resume(): void
  stop(): void
}

type ReaderRequest = {
  conversationId: string
  after: number | null
  /** The newest entry of the conversation. */
  last: number
  open: readonly string[]
  /** Number of events after which a paused reader reports that it is full. */
  capacity: number
}

/** Starts a reader whose sink accepts all events, but reports that it is full after `capacity` events while paused. */
export async function startReader(
  process: Process,
  viewer: Viewer,
  { conversationId, after, last, open, capacity }: ReaderRequest,
): Promise<TestReader> {
  const events: ConversationEvent[] = []
  let isStopped = false
  let paused = false
  let waiting = 0
  let drained: () => void = () => {}
  const stop = await readInto(process.deps, viewer, { conversationId, afterSeq: after }, () => ({
    push(event) {
      if (!isStopped) events.push(event)
      if (paused) waiting += 1
    },
    isFull: () => waiting >= capacity,
    drained: () => new Promise((resolve) => (paused ? (drained = resolve) : resolve())),
    end() {
      isStopped = true
    },
  }))
  return {
    process,
    events,
    cursor: after ?? last,
    open: after === null ? open : [],
    get isStopped() {
      return isStopped
    },
    pause() {
      paused = true
    },
    resume() {
      paused = false
      waiting = 0
      drained()
    },
    stop() {
      isStopped = true
      stop()
    },
  }
}

/** A turn as finally stored, with the entry that ended it. */
export type Stored = { id: string; text: string; ended: number }

/** Waits until the reader has received entry `last`, unless it was stopped, then checks all its events. */
export async function checkReader(reader: TestReader, stored: Map<string, Stored>, last: number): Promise<void> {
  const seqs = () => reader.events.flatMap(({ seq }) => seq ?? [])
  if (!reader.isStopped) {
    await expect.poll(() => seqs().at(-1) ?? reader.cursor, { interval: 1 }).toBe(last)
  }
  expect(seqs(), 'every entry after the cursor, once').toEqual(seqs().map((_, n) => reader.cursor + 1 + n))
  for (const turn of stored.values()) checkTurn(reader, turn)
}

function checkTurn(reader: TestReader, turn: Stored): void {
  let text = ''
  let sawOpen = false
  let isOver = turn.ended <= reader.cursor
  for (const event of reader.events) {
    if (event.type === 'TurnDelta' && event.turnId === turn.id) {
      expect(isOver, 'text after the end').toBe(false)
      expect(event.text).not.toBe('')
      expect([event.start, event.end]).toEqual([text.length, text.length + event.text.length])
      text += event.text
    } else if (
      event.type === 'TurnSuperseded' ? event.by.id === turn.id : 'turn' in event && event.turn.id === turn.id
    ) {
      const opened = event.type === 'TurnSuperseded' ? event.by : event.type === 'TurnOpened' ? event.turn : null
      if (opened) {
        expect(text, 'text before the opening').toBe('')
        sawOpen = opened.status === 'STREAMING'
      } else isOver = true
    }
  }
  if (reader.isStopped) expect(turn.text.startsWith(text)).toBe(true)
  else if (sawOpen || text !== '' || reader.open.includes(turn.id)) expect(text).toBe(turn.text)
}
