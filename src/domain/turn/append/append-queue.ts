// Batches appends: the calls that arrive while a statement runs are written together by the next statement. Within a
// process, a tenant's conversation is in one statement at a time, so its calls keep their order; between processes, the
// conversation's lock orders them. Calls of another tenant that name the same conversation have a queue of their own:
// they fail, and must not delay the conversation's calls.

import type { Clock } from '../../../runtime/clock.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { JournalRange } from '../../kernel/live/publisher.ts'
import { counters } from '../../../runtime/counters.ts'
import { QueueDelay } from '../../../runtime/queue-delay.ts'
import type { Pool } from '../../../store/db/tenant-pool.ts'
import type { AppendCall } from '../../../store/sql/turn/append-call.ts'
import { appendTurns, type AppendRow } from '../../../store/sql/turn/append-turns.ts'
import { chooseBatch, isLarge, queueKeyOf, rowsByCall, type WaitingAppend } from './append-batch.ts'
import { APPEND_LIMITS } from './append-refusal.ts'

export type AppendQueue = {
  /**
   * Resolves after the commit with the call's rows; none for an unknown conversation. Rejects with the database's
   * error.
   */
  append(call: AppendCall): Promise<AppendRow[]>
}

/** Maximum number of concurrent statements that wait for a conversation's lock. */
const MAX_WAITERS = 2
/** Delay before a locked conversation is retried while MAX_WAITERS statements wait, ms. */
const RETRY_MS = 20

type WrittenAppend = { call: AppendCall; rows: AppendRow[] }
type QueuedAppend = WaitingAppend & {
  enteredAt: number
  resolve(rows: AppendRow[]): void
  reject(error: unknown): void
}

/** Called after the commit with the calls that were written or refused, and their rows. */
type OnWritten = (calls: readonly WrittenAppend[]) => void

type QueueState = {
  readonly clock: Pick<Clock, 'setTimeout'>
  readonly pool: Pool
  readonly concurrency: number
  readonly onWritten: OnWritten
  readonly delay: QueueDelay
  /** Queues by `queueKeyOf`, in the order of their oldest call; the calls of a queue are in order of arrival. */
  readonly waiting: Map<string, QueuedAppend[]>
  /** Keys of queues whose calls are in a statement or wait for a retry. */
  readonly busy: Set<string>
  /** Number of running statements, at most `concurrency`. Excludes `waiters`. */
  running: number
  /** Number of running statements that write large calls; less than `concurrency`, unless that is 1. */
  runningLarge: number
  /** Number of statements that wait for a lock, at most MAX_WAITERS. */
  waiters: number
  isScheduled: boolean
}

/** Returns the journal ranges that an append wrote, including its entries of the types JOINED, UPDATED and WAKE_UPS_STOPPED. */
export function journalRangesOf({ call, rows }: WrittenAppend): JournalRange[] {
  const { tenant, conversationId } = call
  return rows.flatMap(({ outcome, detail, seq }) =>
    outcome === 'written' || outcome === 'stopped'
      ? [{ tenant, conversationId, first: detail === null ? seq : seq - 1, last: seq }]
      : [],
  )
}

/**
 * @param concurrency maximum number of concurrent statements that do not wait for locks
 * @param delay measures how long appends wait for the statement that writes them
 */
export function createAppendQueue(
  { clock, pool }: Pick<Platform, 'clock' | 'pool'>,
  concurrency: number,
  onWritten: OnWritten,
  delay = new QueueDelay(clock),
): AppendQueue {
  const queue: QueueState = {
    clock,
    pool,
    concurrency,
    onWritten,
    delay,
    waiting: new Map(),
    busy: new Set(),
    running: 0,
    runningLarge: 0,
    waiters: 0,
    isScheduled: false,
  }
  return {
    append(call) {
      return new Promise((resolve, reject) => {
        const text = call.turns.reduce((sum, turn) => sum + turn.text.length, 0)
        const append = { call, text, enteredAt: delay.enter(), resolve, reject }
        const key = queueKeyOf(call)
        const appends = queue.waiting.get(key)
        if (appends) appends.push(append)
        else queue.waiting.set(key, [append])
        schedule(queue)
      })
    },
  }
}

function schedule(queue: QueueState): void {
  if (queue.isScheduled || queue.waiting.size === 0) return
  queue.isScheduled = true
  // Run after the I/O events of this event loop iteration, so that requests that arrive together are written together.
  setImmediate(() => {
    queue.isScheduled = false
    while (queue.running < queue.concurrency) {
      const batch = take(queue)
      if (batch.length === 0) return
      const large = Number(isLarge(batch[0]!))
      queue.running += 1
      queue.runningLarge += large
      void run(queue, batch, false).finally(() => {
        queue.running -= 1
        queue.runningLarge -= large
        schedule(queue)
      })
    }
  })
}

/** Removes the next batch from the waiting calls and marks its queues busy. */
function take(queue: QueueState): QueuedAppend[] {
  const { waiting, busy } = queue
  const batch = chooseBatch(waiting, busy, queue.concurrency === 1 || queue.runningLarge < queue.concurrency - 1)
  for (const { call, enteredAt } of batch) {
    queue.delay.leave(enteredAt)
    const key = queueKeyOf(call)
    const appends = waiting.get(key)!
    appends.shift()
    if (appends.length === 0) waiting.delete(key)
    busy.add(key)
  }
  return batch
}

async function run(queue: QueueState, batch: QueuedAppend[], wait: boolean): Promise<void> {
  const skipped = await execute(queue, batch, wait)
  for (const append of batch) if (!skipped.includes(append)) queue.busy.delete(queueKeyOf(append.call))
  retrySkipped(queue, skipped)
}

/**
 * Whether the database refused the statement, so that nothing was written. False after a lost connection, when the
 * outcome is unknown.
 */
const wasRefused = (error: unknown): boolean =>
  error instanceof Error && /^[0-9A-Z]{5}$/.test((error as Error & { code?: string }).code ?? '')

/**
 * Writes the calls and resolves them. Without `wait`, the statement skips the calls of locked or unknown conversations,
 * and this function returns them unresolved.
 */
async function execute(
  queue: Pick<QueueState, 'pool' | 'onWritten'>,
  batch: QueuedAppend[],
  wait: boolean,
): Promise<QueuedAppend[]> {
  let rows: AppendRow[]
  try {
    const calls = batch.map(({ call }) => call)
    rows = await appendTurns(queue.pool, calls, { wait, limits: APPEND_LIMITS })
  } catch (error) {
    if (batch.length > 1 && wasRefused(error)) {
      // An invalid call must not make the other calls fail: send each call alone, in order.
      for (const append of batch) await execute(queue, [append], true)
    } else {
      for (const append of batch) append.reject(error)
    }
    return []
  }
  for (const { outcome } of rows) if (outcome === 'written') counters.turns += 1
  const byCall = rowsByCall(rows)
  const answered = batch.flatMap((append, index) => {
    const ofCall = byCall.get(index)
    return ofCall ? [{ append, call: append.call, rows: ofCall }] : []
  })
  queue.onWritten(answered)
  for (const { append, rows } of answered) append.resolve(rows)
  const skipped = batch.filter((_, index) => !byCall.has(index))
  if (!wait) return skipped
  // A statement that waits for locks skips only unknown conversations.
  for (const append of skipped) append.resolve([])
  return []
}

/** Retries each skipped conversation in its own statement, which waits for the lock. Its queue stays busy. */
function retrySkipped(queue: QueueState, skipped: readonly QueuedAppend[]): void {
  const byKey = new Map<string, QueuedAppend[]>()
  for (const append of skipped) {
    const key = queueKeyOf(append.call)
    const appends = byKey.get(key)
    if (appends) appends.push(append)
    else byKey.set(key, [append])
  }
  for (const [key, appends] of byKey) {
    if (queue.waiters < MAX_WAITERS) sendWaiting(queue, appends)
    // Conversations that stay locked must neither delay other conversations nor be queried in a tight loop.
    else queue.clock.setTimeout(() => requeue(queue, key, appends), RETRY_MS)
  }
}

function sendWaiting(queue: QueueState, appends: QueuedAppend[]): void {
  queue.waiters += 1
  void run(queue, appends, true).finally(() => {
    queue.waiters -= 1
    schedule(queue)
  })
}

/** Queues the calls again, before later calls of their queue. */
function requeue(queue: QueueState, key: string, appends: QueuedAppend[]): void {
  queue.busy.delete(key)
  for (const append of appends) append.enteredAt = queue.delay.enter()
  queue.waiting.set(key, [...appends, ...(queue.waiting.get(key) ?? [])])
  schedule(queue)
}

/** Dependencies of the functions that append turns. */
export type AppendDeps = Platform & { appends: AppendQueue }
