// The states of a streaming turn, as a pure state machine. The SQL functions append_chunks and close_turn implement it
// under the lock of the turn's stream; test/unit/domain/streaming-turn/state.test.ts covers every transition.
//
//              delta            commit         abort         expire
//   STREAMING  STREAMING        COMMITTED      ABORTED       ABORTED
//   COMMITTED  (closed)         (closed)       (closed)      (closed)
//   ABORTED    (closed)         (closed)       (closed)      (closed)
//   ERASED     (closed)         (closed)       (closed)      (closed)

import type { TurnStatus } from '../../store/generated/enums.ts'

/** The end of an open turn's text in UTF-16 units, and the first half of a surrogate pair after it, if any. */
type Tail = { end: number; half: number | null }

/** `aliveAt` is the time of the last delta; before the first delta, the time at which the turn was opened. */
export type State = { status: 'STREAMING'; tail: Tail; aliveAt: number } | { status: Exclude<TurnStatus, 'STREAMING'> }

/** Times are in ms. */
export type Event =
  | { type: 'delta'; start: number | null; text: string; at: number }
  | { type: 'commit' }
  | { type: 'abort' }
  | { type: 'expire'; at: number; leaseMs: number }

export type Step =
  /** Moves to the next state. A delta with text writes `write`; an empty delta only renews the lease. */
  | { outcome: 'accepted'; next: State; write?: { start: number; text: string; half: number | null } }
  /** The delta does not start at the turn's end. */
  | { outcome: 'elsewhere'; end: number }
  /** The delta would store half of a surrogate pair without the other half. */
  | { outcome: 'torn' }
  /** The lease has not expired. */
  | { outcome: 'alive' }
  | { outcome: 'closed'; status: TurnStatus }

export const isFirstHalf = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isSecondHalf = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

/** The turn's end in UTF-16 units, including a trailing half. */
export const endOf = (tail: Tail) => tail.end + (tail.half === null ? 0 : 1)

/**
 * Returns the text to store: a half in `tail` is prepended, and a half at the end is left for the next delta. Null if a
 * half can no longer be completed.
 */
export function join(tail: Tail, text: string): { start: number; text: string; half: number | null } | null {
  const whole = tail.half === null ? text : String.fromCharCode(tail.half) + text
  const last = whole.charCodeAt(whole.length - 1)
  const half = isFirstHalf(last) ? last : null
  const complete = half === null ? whole : whole.slice(0, -1)
  return complete.isWellFormed() ? { start: tail.end, text: complete, half } : null
}

/** Whether the text begins with the second half of a surrogate pair. */
export const startsWithSecondHalf = (text: string) => isSecondHalf(text.charCodeAt(0))

/** Returns the transition for an event of a turn in that state. */
export function step(state: State, event: Event): Step {
  if (state.status !== 'STREAMING') return { outcome: 'closed', status: state.status }
  switch (event.type) {
    case 'delta': {
      const end = endOf(state.tail)
      if (event.start !== null && event.start !== end) return { outcome: 'elsewhere', end }
      if (event.text === '') return { outcome: 'accepted', next: { ...state, aliveAt: event.at } }
      const write = join(state.tail, event.text)
      if (!write) return { outcome: 'torn' }
      const tail = { end: write.start + write.text.length, half: write.half }
      return { outcome: 'accepted', next: { status: 'STREAMING', tail, aliveAt: event.at }, write }
    }
    case 'commit':
      return { outcome: 'accepted', next: { status: 'COMMITTED' } }
    case 'abort':
      return { outcome: 'accepted', next: { status: 'ABORTED' } }
    case 'expire':
      return state.aliveAt > event.at - event.leaseMs
        ? { outcome: 'alive' }
        : { outcome: 'accepted', next: { status: 'ABORTED' } }
  }
}
