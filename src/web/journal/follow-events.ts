// Follows the events of a conversation: their lines, the order of the numbers, and the state of the connection, with a
// note about each loss and what was resumed.

import { useEffect, useState } from 'react'
import type { ConversationHandle, FollowedEvent } from '../../client/index.ts'
import { errorText } from '../kit/text.ts'
import { NO_LINES, withEvent, withNote, type Lines, type Note } from './lines.ts'
import { arrived, resumptionText, skipped, startOrder, type Order, type Range } from './order.ts'

export type Followed = {
  lines: Lines
  /** Null until the first number is known. */
  order: Order | null
  connection: 'connecting' | 'live' | 'waiting' | 'ended'
  /** Why the journal cannot be followed, in words; null if it can. */
  error: string | null
}

/** Number of entries with which the list begins. */
const NEWEST = 50
/** Time within which events are shown together, ms. */
const SHOW_MS = 100
/** Time without an entry after which a resumption counts as complete although the newest one has not arrived, ms. */
const SETTLE_MS = 2_500

const EMPTY: Followed = { lines: NO_LINES, order: null, connection: 'connecting', error: null }

/** The entries that have arrived since the connection was lost. `head`: null until it is read. */
type Loss = { lost: number; head: number | 'unknown' | null; seqs: number[]; skipped: Range[] }

/**
 * Follows the journal until the signal is aborted.
 * @param after the number after which to begin; null for the newest entries
 * @param show called with each new state
 * @internal
 */
export async function followEvents(
  conversation: ConversationHandle,
  after: number | null,
  show: (followed: Followed) => void,
  signal: AbortSignal,
): Promise<void> {
  let followed = EMPTY
  let loss: Loss | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let settling: ReturnType<typeof setTimeout> | undefined

  function change(changes: Partial<Followed>): void {
    followed = { ...followed, ...changes }
    timer ??= setTimeout(() => {
      timer = undefined
      if (!signal.aborted) show(followed)
    }, SHOW_MS)
  }
  const note = (text: string, tone: Note['tone']) =>
    change({ lines: withNote(followed.lines, { text, tone }, new Date().toISOString()) })
  const headOf = async () => (await conversation.read({ signal })).lastSeq

  function settle(ended: Loss): void {
    if (loss !== ended || ended.head === null || signal.aborted) return
    loss = null
    clearTimeout(settling)
    const { lost, seqs } = ended
    const isKnown = ended.head !== 'unknown'
    const head = ended.head === 'unknown' ? null : Math.max(ended.head, seqs.at(-1) ?? lost)
    const isComplete = isKnown && ended.skipped.length === 0
    note(resumptionText({ lost, head, seqs, skipped: ended.skipped }), isComplete ? 'good' : 'info')
  }

  /** Settles the loss if its newest entry has arrived, or else when no entry has arrived for a while. */
  function settleSoon(ended: Loss): void {
    clearTimeout(settling)
    if (typeof ended.head === 'number' && followed.order!.last >= ended.head) settle(ended)
    else settling = setTimeout(() => settle(ended), SETTLE_MS)
  }

  /** Finds out which entries were written while the connection was lost. */
  async function resumed(ended: Loss): Promise<void> {
    ended.head = await headOf().catch(() => 'unknown' as const)
    if (loss === ended) settleSoon(ended)
  }

  function onConnection(state: 'live' | 'waiting', reason?: Error): void {
    if (signal.aborted) return
    if (state === 'waiting' && followed.connection === 'live') {
      // A second loss before the first resumption is complete belongs to it.
      loss = { lost: followed.order!.last, seqs: [], skipped: [], ...loss, head: null }
      const why = reason ? ` ${reason.message.replace(/\.?$/, '.')}` : ''
      note(`Connection lost at entry ${followed.order!.last}.${why}`, 'bad')
    }
    if (state === 'live' && followed.connection === 'waiting' && loss) {
      note(`Connected again. The page asked for the entries after ${followed.order!.last}.`, 'info')
      void resumed(loss)
    }
    change({ connection: state })
  }

  function add(event: FollowedEvent): void {
    const { seq } = event
    const order = followed.order!
    if (seq !== null) change({ order: arrived(order, seq) })
    else if (event.__typename === 'Gap') change({ order: skipped(order, event.resumeAfterSeq) })
    change({ lines: withEvent(followed.lines, event) })
    if (!loss || followed.order === order) return
    if (seq === null) loss.skipped.push(followed.order!.skipped.at(-1)!)
    else if (typeof loss.head !== 'number' || seq <= loss.head) loss.seqs.push(seq)
    if (loss.head !== null) settleSoon(loss)
  }

  try {
    const start = after ?? Math.max(0, (await headOf()) - NEWEST)
    change({ order: startOrder(start) })
    for await (const event of conversation.follow({ afterSeq: start, signal, onConnection })) add(event)
    change({ connection: 'ended' })
  } catch (error) {
    change({ connection: 'ended', error: errorText(error) })
  }
}

/** Returns the events as they arrive. @param start the number after which to begin; null for the newest entries */
export function useEvents(conversation: ConversationHandle, start: number | null, attempt: number): Followed {
  const [followed, setFollowed] = useState(EMPTY)
  useEffect(() => {
    const ending = new AbortController()
    setFollowed(EMPTY)
    void followEvents(conversation, start, setFollowed, ending.signal)
    return () => ending.abort()
  }, [conversation, start, attempt])
  return followed
}

/** Time within which a second reading must have delivered its entries, ms. */
const READ_AGAIN_MS = 15_000

/**
 * Reads the entries again, by a subscription of its own, and returns their numbers.
 * @throws Error if the last of them does not arrive in time: then it is unknown whether others were lost
 */
export async function readAgain(
  conversation: ConversationHandle,
  { from, to }: Range,
  signal: AbortSignal,
): Promise<number[]> {
  const ending = new AbortController()
  const end = () => ending.abort()
  const timer = setTimeout(end, READ_AGAIN_MS)
  signal.addEventListener('abort', end)
  const seqs: number[] = []
  try {
    for await (const { seq } of conversation.follow({ afterSeq: from - 1, signal: ending.signal })) {
      if (seq !== null && seq <= to) seqs.push(seq)
      if (seq !== null && seq >= to) return seqs
    }
    throw new Error(`The second reading did not reach entry ${to} within ${READ_AGAIN_MS / 1_000} s.`)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    ending.abort()
  }
}
