// The life of a streaming turn, as a pure machine. What the SQL functions append_chunks and close_turn do under the
// row's lock is this table; test/domain/streaming-turn/state.test.ts spells it out without a hole.
//
//              delta            commit         abort         expire (lease over)
//   STREAMING  STREAMING ···    COMMITTED      ABORTED       ABORTED
//   COMMITTED  (closed)         (closed)       (closed)      (closed)
//   ABORTED    (closed)         (closed)       (closed)      (closed)
//   ERASED     (closed)         (closed)       (closed)      (closed)

import type { TurnStatus } from '../../store/generated/enums.ts'

/** Where an open turn's text ends: UTF-16 units, and the first half of a surrogate pair that waits for the other. */
type Tail = { end: number; half: number | null }

export type State = { status: 'STREAMING'; tail: Tail; aliveAt: number } | { status: Exclude<TurnStatus, 'STREAMING'> }

/** Times are in ms. */
export type Event =
  | { type: 'delta'; start: number | null; text: string; at: number }
  | { type: 'commit' }
  | { type: 'abort' }
  | { type: 'expire'; at: number; leaseMs: number }

export type Step =
  /** Goes on to the next state; a delta writes the range that `write` says, nothing when it only renews the lease. */
  | { outcome: 'accepted'; next: State; write?: { start: number; text: string; half: number | null } }
  /** What the delta says is not where it says, or not text: see `Conflict`, `InvalidInput`. */
  | { outcome: 'elsewhere'; end: number }
  | { outcome: 'torn' }
  /** The writer was heard within the lease. */
  | { outcome: 'alive' }
  | { outcome: 'closed'; status: TurnStatus }

export const isFirstHalf = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
export const isSecondHalf = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

/** The turn's end as the writer counts it: a waiting half is a unit. */
export const endOf = (tail: Tail) => tail.end + (tail.half === null ? 0 : 1)

/**
 * Text as it is stored: what begins with the half that waited gets it back, and a half at the end waits in turn. Null
 * when it holds a half that nothing will ever complete.
 */
export function join(tail: Tail, text: string): { start: number; text: string; half: number | null } | null {
  const whole = tail.half === null ? text : String.fromCharCode(tail.half) + text
  const last = whole.charCodeAt(whole.length - 1)
  const half = isFirstHalf(last) ? last : null
  const complete = half === null ? whole : whole.slice(0, -1)
  return complete.isWellFormed() ? { start: tail.end, text: complete, half } : null
}

/** Whether the text begins with the second half of a pair. */
export const joins = (text: string) => isSecondHalf(text.charCodeAt(0))

/** What the event does to a turn in that state. */
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
