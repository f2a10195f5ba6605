// A subscriber to a conversation that records its events, and functions that extract and check the recorded events.

import { expect } from 'vitest'
import type { Deps } from '../../src/domain/deps.ts'
import type {
  ConversationEvent,
  VisibleDelta,
  VisibleEvent,
  VisiblePartDelta,
} from '../../src/domain/turn/journal/event.ts'
import type { OpenPart } from '../../src/store/sql/turn/streaming/open-content.ts'
import { readEventsOf, type Subscription } from '../../src/domain/turn/journal/reader.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'

const TIMEOUT_MS = 15_000

export type Reading = {
  readonly events: VisibleEvent[]
  /** How the subscription ended; null while it is open. */
  readonly end: 'complete' | 'stopped' | Error | null
  /** Waits until the recorded events meet the condition. Fails after TIMEOUT_MS with an error that contains `label`. */
  until(label: string, condition: (reading: Reading) => unknown): Promise<void>
  /** Stops reading events until `resume` is called. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

/** @throws the errors of readEventsOf */
export async function read(deps: Deps, viewer: Viewer, input: Subscription): Promise<Reading> {
  const iterable = await readEventsOf(deps, viewer, input)
  const events: VisibleEvent[] = []
  let end: Reading['end'] = null
  let gate: Promise<void> | null = null
  let open: () => void = () => {}
  const waiting = new Set<() => void>()

  const reading: Reading = {
    events,
    get end() {
      return end
    },
    until(label, condition) {
      return new Promise((resolve, reject) => {
        const timeout = setTimeout(() => {
          waiting.delete(check)
          reject(
            new Error(
              `Waited ${TIMEOUT_MS} ms for ${label}. Received:\n${lines(events).slice(-40).join('\n')}\n(${end})`,
            ),
          )
        }, TIMEOUT_MS)
        function check(): void {
          if (!condition(reading)) return
          clearTimeout(timeout)
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      })
    },
    pause() {
      gate ??= new Promise((resolve) => (open = resolve))
    },
    resume() {
      gate = null
      open()
    },
    async stop() {
      end ??= 'stopped'
      reading.resume()
      await iterable.return!()
    },
  }
  const changed = () => {
    for (const check of [...waiting]) check()
  }

  async function readAll(): Promise<void> {
    while (end === null) {
      if (gate) await gate
      const { done, value } = await iterable.next()
      if (done) end ??= 'complete'
      else if (end === null) events.push(value)
      changed()
    }
  }
  readAll().catch((error: Error) => {
    end ??= error
    changed()
  })
  return reading
}

type VisibleEntry = Extract<VisibleEvent, { seq: number }>

const isJournal = (event: VisibleEvent): event is VisibleEntry => event.seq !== null
export const seqsOf = ({ events }: Reading): number[] => events.filter(isJournal).map(({ seq }) => seq)
/** A condition for `until`: the reading has received an entry with this seq or a higher one. */
export const sawSeq =
  (seq: number) =>
  ({ events }: Reading) =>
    (events.findLast(isJournal)?.seq ?? 0) >= seq
export const deltasOf = ({ events }: Reading, turnId: string): VisibleDelta[] =>
  events.filter((event): event is VisibleDelta => event.type === 'TurnDelta' && event.turnId === turnId)
/** The numbers from `from` to `to`, both included. */
export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

/**
 * One line per event: the range and text of a delta, after the number of its part and before a period if the part is
 * complete; otherwise the seq, if any, and the type.
 */
export const lines = (events: readonly (ConversationEvent | VisibleEvent)[]): string[] =>
  events.map((event) =>
    event.type === 'TurnDelta'
      ? `${event.start}-${event.end} ${event.text}`
      : event.type === 'TurnPartDelta'
        ? lineOfPart(event)
        : event.seq === null
          ? event.type
          : `${event.seq} ${event.type}`,
  )

const lineOfPart = ({ part: { number, text, isComplete }, start }: Pick<VisiblePartDelta, 'part' | 'start'>): string =>
  `${number}: ${start}-${text.length} ${text.slice(start)}${isComplete ? '.' : ''}`

/**
 * The parts of a turn after the received deltas, by number. Fails unless the deltas of each part are contiguous from 0,
 * the parts begin in order, and no delta follows the last one of a part.
 */
export function partsOf({ events }: Reading, turnId: string): OpenPart[] {
  const parts: OpenPart[] = []
  for (const event of events) {
    if (event.type !== 'TurnPartDelta' || event.turnId !== turnId) continue
    const { part, start } = event
    expect(part.number).toBeLessThanOrEqual(parts.length + 1)
    const known = parts[part.number - 1]
    expect(start, `a delta of part ${part.number}`).toBe(known?.text.length ?? 0)
    expect(known?.isComplete ?? false, `part ${part.number} was complete before`).toBe(false)
    expect(part.text.startsWith(known?.text ?? '')).toBe(true)
    parts[part.number - 1] = part
  }
  return parts
}

/** The joined deltas of a turn. Fails unless they are contiguous from 0. */
export function textOf(reading: Reading, turnId: string): string {
  let text = ''
  for (const delta of deltasOf(reading, turnId)) {
    expect(delta.start, `a delta after ${JSON.stringify(text)}`).toBe(text.length)
    expect(delta.end).toBe(delta.start + delta.text.length)
    expect(delta.text).not.toBe('')
    text += delta.text
  }
  return text
}
