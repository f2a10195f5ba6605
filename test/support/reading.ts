// A reader of a conversation that records its events, and their invariants.

import { expect } from 'vitest'
import type { Deps } from '../../src/domain/deps.ts'
import type { ConversationEvent, ToldDelta, ToldEvent } from '../../src/domain/event/event.ts'
import { readEventsOf, type Subscription } from '../../src/domain/event/reader.ts'
import type { Viewer } from '../../src/domain/view.ts'

export type Reading = {
  readonly events: ToldEvent[]
  /** How the subscription ended; null while it is open. */
  readonly end: 'complete' | 'stopped' | Error | null
  /** Resolves when the condition is true of the recorded events; fails after 15 s. */
  until(what: string, condition: (reading: Reading) => unknown): Promise<void>
  /** Takes no more events until `resume`. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

/** @throws what the subscription throws */
export async function read(deps: Deps, viewer: Viewer, input: Subscription): Promise<Reading> {
  const iterable = await readEventsOf(deps, viewer, input)
  const events: ToldEvent[] = []
  let end: Reading['end'] = null
  let gate: Promise<void> | null = null
  let open: () => void = () => {}
  const waiting = new Set<() => void>()

  const reading: Reading = {
    events,
    get end() {
      return end
    },
    until(what, condition) {
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`Waited 15 s for ${what}. Told so far:\n${lines(events).slice(-40).join('\n')}\n(${end})`))
        }, 15_000)
        function look(): void {
          if (!condition(reading)) return
          clearTimeout(late)
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
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
    for (const look of [...waiting]) look()
  }

  async function take(): Promise<void> {
    while (end === null) {
      if (gate) await gate
      const { done, value } = await iterable.next()
      if (done) end ??= 'complete'
      else if (end === null) events.push(value)
      changed()
    }
  }
  take().catch((error: Error) => {
    end ??= error
    changed()
  })
  return reading
}

type ToldEntry = Extract<ToldEvent, { seq: number }>

const isJournal = (event: ToldEvent): event is ToldEntry => event.seq !== null
export const seqsOf = ({ events }: Reading): number[] => events.filter(isJournal).map(({ seq }) => seq)
/** Whether it has reached that entry. */
export const sawSeq =
  (seq: number) =>
  ({ events }: Reading) =>
    (events.findLast(isJournal)?.seq ?? 0) >= seq
export const deltasOf = ({ events }: Reading, turnId: string): ToldDelta[] =>
  events.filter((event): event is ToldDelta => event.type === 'TurnDelta' && event.turnId === turnId)
export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

/** One line per event: its seq and type, or the text of a delta. */
export const lines = (events: readonly (ConversationEvent | ToldEvent)[]): string[] =>
  events.map((event) =>
    event.type === 'TurnDelta'
      ? `${event.start}-${event.end} ${event.text}`
      : event.seq === null
        ? event.type
        : `${event.seq} ${event.type}`,
  )

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
