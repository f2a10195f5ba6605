// Appends that wait while a statement runs are written together by the next one. Within a process a conversation is in
// one statement at a time, so its appends keep the order they came in; between processes its lock decides.

import type { Platform } from '../platform.ts'
import type { Pool } from 'pg'
import { appendTurns, type AppendCall, type AppendRow } from '../../store/sql/turn/append-turns.ts'
import { chooseBatch, rowsByCall, type WaitingAppend } from './append-batch.ts'

export type AppendQueue = {
  /** The rows of this call, after the commit; none for an unknown conversation. Rejects when the outcome is unknown. */
  append(call: AppendCall): Promise<AppendRow[]>
}

/** Maximum number of statements that wait for a conversation which another process has locked. */
const WAITERS = 2
/** Time before a locked conversation is tried again while that many wait, in ms. */
const RETRY = 20

type QueuedAppend = WaitingAppend & { resolve(rows: AppendRow[]): void; reject(error: unknown): void }

/** Called after the commit with every conversation that grew. */
type OnWritten = (calls: readonly { call: AppendCall; rows: AppendRow[] }[]) => void

type QueueState = {
  readonly pool: Pool
  readonly lanes: number
  readonly written: OnWritten
  /** Waiting calls by conversation, in the order of arrival; conversations in the order of their oldest. */
  readonly waiting: Map<string, QueuedAppend[]>
  /** Conversations in a statement, or set aside after one. */
  readonly busy: Set<string>
  /** Statements that run in lanes, and beside them those that wait for a lock. */
  running: number
  waiters: number
  isScheduled: boolean
}

/**
 * @param lanes number of statements that run at once
 * @param written called after the commit with every conversation that grew
 */
export function createAppendQueue(pool: Pool, lanes: number, written: OnWritten): AppendQueue {
  const queue: QueueState = {
    pool,
    lanes,
    written,
    waiting: new Map(),
    busy: new Set(),
    running: 0,
    waiters: 0,
    isScheduled: false,
  }
  return {
    append(call) {
      return new Promise((resolve, reject) => {
        const text = call.turns.reduce((sum, turn) => sum + turn.text.length, 0)
        const append = { call, text, resolve, reject }
        const appends = queue.waiting.get(call.conversationId)
        if (appends) appends.push(append)
        else queue.waiting.set(call.conversationId, [append])
        schedule(queue)
      })
    },
  }
}

function schedule(queue: QueueState): void {
  if (queue.isScheduled || queue.waiting.size === 0) return
  queue.isScheduled = true
  // After the I/O events of this turn of the event loop, so that requests that came together are written together.
  setImmediate(() => {
    queue.isScheduled = false
    while (queue.running < queue.lanes) {
      const batch = take(queue)
      if (batch.length === 0) return
      queue.running += 1
      void run(queue, batch, false).finally(() => {
        queue.running -= 1
        schedule(queue)
      })
    }
  })
}

/** Removes the next batch from the waiting calls and marks its conversations busy. */
function take({ waiting, busy }: QueueState): QueuedAppend[] {
  const batch = chooseBatch(waiting, busy)
  for (const { call } of batch) {
    const appends = waiting.get(call.conversationId)!
    appends.shift()
    if (appends.length === 0) waiting.delete(call.conversationId)
    busy.add(call.conversationId)
  }
  return batch
}

async function run(queue: QueueState, batch: QueuedAppend[], wait: boolean): Promise<void> {
  const passedOver = await execute(queue, batch, wait)
  for (const append of batch) if (!passedOver.includes(append)) queue.busy.delete(append.call.conversationId)
  setAside(queue, passedOver)
}

/** Whether the database refused the statement, so that nothing was written; a broken connection leaves that open. */
const wasRefused = (error: unknown): boolean =>
  error instanceof Error && /^[0-9A-Z]{5}$/.test((error as Error & { code?: string }).code ?? '')

/**
 * Writes the calls and answers them. Returns those whose conversations were passed over, locked or unknown, unless `wait`.
 */
async function execute(
  queue: Pick<QueueState, 'pool' | 'written'>,
  batch: QueuedAppend[],
  wait: boolean,
): Promise<QueuedAppend[]> {
  let rows: AppendRow[]
  try {
    const calls = batch.map(({ call }) => call)
    rows = await appendTurns(queue.pool, calls, wait)
  } catch (error) {
    if (batch.length > 1 && wasRefused(error)) {
      // One call's fault must not fail the others: send each alone, in their order.
      for (const append of batch) await execute(queue, [append], true)
    } else {
      for (const append of batch) append.reject(error)
    }
    return []
  }
  const byCall = rowsByCall(rows)
  const answered = batch.flatMap((append, index) => {
    const found = byCall.get(index)
    return found ? [{ append, call: append.call, rows: found }] : []
  })
  queue.written(answered)
  for (const { append, rows } of answered) append.resolve(rows)
  const unanswered = batch.filter((_, index) => !byCall.has(index))
  if (!wait) return unanswered
  for (const append of unanswered) append.resolve([]) // an unknown conversation
  return []
}

/** Sends each conversation that was passed over in a statement of its own that waits for the lock. It stays busy. */
function setAside(queue: QueueState, passedOver: readonly QueuedAppend[]): void {
  const byConversation = new Map<string, QueuedAppend[]>()
  for (const append of passedOver) {
    const appends = byConversation.get(append.call.conversationId)
    if (appends) appends.push(append)
    else byConversation.set(append.call.conversationId, [append])
  }
  for (const [conversationId, appends] of byConversation) {
    if (queue.waiters < WAITERS) sendWaiting(queue, appends)
    // Conversations that stay locked must neither delay one that is free again soon, nor query the database in a loop.
    else setTimeout(() => putBack(queue, conversationId, appends), RETRY)
  }
}

function sendWaiting(queue: QueueState, appends: QueuedAppend[]): void {
  queue.waiters += 1
  void run(queue, appends, true).finally(() => {
    queue.waiters -= 1
    schedule(queue)
  })
}

/** Queues the calls again, before those of their conversation that came later. */
function putBack(queue: QueueState, conversationId: string, appends: QueuedAppend[]): void {
  queue.busy.delete(conversationId)
  queue.waiting.set(conversationId, [...appends, ...(queue.waiting.get(conversationId) ?? [])])
  schedule(queue)
}

/** What appending needs. */
export type AppendDeps = Platform & { appends: AppendQueue }
