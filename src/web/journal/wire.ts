// Follows the journal of a conversation for the lane: its lines, the order of the numbers, and the state of the
// connection, with a note about each loss and what was resumed.

import { useEffect, useState } from 'react'
import type { ConversationHandle, FollowedEvent } from '../../client/index.ts'
import { errorText } from '../kit/text.ts'
import { NO_LINES, withEvent, withNote, type Lines, type Note } from './lines.ts'
import { arrived, resumptionText, skipped, startOrder, type Order } from './order.ts'

export type Wire = {
  lines: Lines
  /** Null until the first number is known. */
  order: Order | null
  connection: 'connecting' | 'live' | 'waiting' | 'ended'
  /** Why the journal cannot be followed, in words; null if it can. */
  error: string | null
}

/** Number of entries with which the lane begins. */
const NEWEST = 50
/** Time within which events are shown together, ms. */
const SHOW_MS = 100
/** Time after which a resumption counts as complete although the newest entry has not arrived, ms. */
const SETTLE_MS = 2_500

const EMPTY: Wire = { lines: NO_LINES, order: null, connection: 'connecting', error: null }

/** The entries that have arrived since the connection was lost. `head`: null until it is known. */
type Loss = { lost: number; head: number | null; seqs: number[] }

/**
 * Follows the journal until the signal is aborted.
 * @param after the number after which to begin; null for the newest entries
 * @param show called with each new state
 */
async function follow(
  conversation: ConversationHandle,
  after: number | null,
  show: (wire: Wire) => void,
  signal: AbortSignal,
): Promise<void> {
  let wire = EMPTY
  let loss: Loss | null = null
  let timer: ReturnType<typeof setTimeout> | undefined

  function change(changes: Partial<Wire>): void {
    wire = { ...wire, ...changes }
    timer ??= setTimeout(() => {
      timer = undefined
      if (!signal.aborted) show(wire)
    }, SHOW_MS)
  }
  const note = (text: string, tone: Note['tone']) =>
    change({ lines: withNote(wire.lines, { text, tone }, new Date().toISOString()) })
  const headOf = async () => (await conversation.read({ signal })).lastSeq

  function settle(ended: Loss): void {
    if (loss !== ended || ended.head === null) return
    loss = null
    const { lost, seqs } = ended
    const head = Math.max(ended.head, seqs.at(-1) ?? lost)
    note(resumptionText({ lost, head, seqs }), 'good')
  }

  /** Finds out which entries were written while the connection was lost. */
  async function resumed(ended: Loss): Promise<void> {
    ended.head = await headOf().catch(() => wire.order!.last)
    if (wire.order!.last >= ended.head) settle(ended)
    else setTimeout(() => settle(ended), SETTLE_MS)
  }

  function onConnection(state: 'live' | 'waiting', reason?: Error): void {
    if (signal.aborted) return
    if (state === 'waiting' && wire.connection === 'live') {
      // A second loss before the first resumption is complete belongs to it.
      loss = { lost: loss?.lost ?? wire.order!.last, head: null, seqs: loss?.seqs ?? [] }
      const why = reason ? ` ${reason.message.replace(/\.?$/, '.')}` : ''
      note(`Connection lost at entry ${wire.order!.last}.${why}`, 'bad')
    }
    if (state === 'live' && wire.connection === 'waiting' && loss) {
      note(`Connected again. The page asked for the entries after ${wire.order!.last}.`, 'info')
      void resumed(loss)
    }
    change({ connection: state })
  }

  function add(event: FollowedEvent): void {
    const { seq } = event
    const order = wire.order!
    if (seq !== null) change({ order: arrived(order, seq) })
    else if (event.__typename === 'Gap') change({ order: skipped(order, event.resumeAfterSeq) })
    change({ lines: withEvent(wire.lines, event) })
    if (seq === null || !loss) return
    if (loss.head === null || seq <= loss.head) loss.seqs.push(seq)
    if (loss.head !== null && seq >= loss.head) settle(loss)
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

/** Returns the journal as it arrives. @param start the number after which to begin; null for the newest entries */
export function useWire(conversation: ConversationHandle, start: number | null, attempt: number): Wire {
  const [wire, setWire] = useState(EMPTY)
  useEffect(() => {
    const ending = new AbortController()
    setWire(EMPTY)
    void follow(conversation, start, setWire, ending.signal)
    return () => ending.abort()
  }, [conversation, start, attempt])
  return wire
}

/** Time within which a second reading must have delivered its entries, ms. */
const READ_AGAIN_MS = 15_000

/** Reads the entries again, by a subscription of its own, and returns their numbers. */
export async function readAgain(conversation: ConversationHandle, first: number, last: number): Promise<number[]> {
  const ending = new AbortController()
  const timer = setTimeout(() => ending.abort(), READ_AGAIN_MS)
  const seqs: number[] = []
  try {
    for await (const { seq } of conversation.follow({ afterSeq: first - 1, signal: ending.signal })) {
      if (seq !== null && seq <= last) seqs.push(seq)
      if (seq !== null && seq >= last) break
    }
    return seqs
  } finally {
    clearTimeout(timer)
    ending.abort()
  }
}
