// Appends that wait while a statement runs leave together as the next one. Within a process a conversation is in one statement
// at a time, so its appends keep the order they came in; between processes the conversation's lock decides.

import type { Platform } from '../platform.ts'
import type { Pool } from 'pg'
import { appendTurns, type AppendCall, type AppendRow } from '../../store/sql/turn/append-turns.ts'

export type AppendQueue = {
  /** The rows of this call, after the commit; none for an unknown conversation. Rejects when the outcome is unknown. */
  append(call: AppendCall): Promise<AppendRow[]>
}

/** What one statement takes at most: turns, and UTF-16 units of text. One call may be larger, and goes alone. */
const BATCH_TURNS = 512
const BATCH_TEXT = 4 * 1024 * 1024
/** Statements that wait for a conversation which somebody else has locked. */
const WAITERS = 2
/** While so many wait, further locked conversations are tried again after this. */
const RETRY_MS = 20

type Job = { call: AppendCall; text: number; resolve(rows: AppendRow[]): void; reject(error: unknown): void }

/** Whether the database said no, so that nothing was written; a broken connection leaves that open. */
const wasRefused = (error: unknown): boolean =>
  error instanceof Error && /^[0-9A-Z]{5}$/.test((error as Error & { code?: string }).code ?? '')

/** Calls that must not share a statement: both have turns with the same idempotency key, or one minds the head. */
function excludes(a: AppendCall, b: AppendCall): boolean {
  if (a.expected != null || b.expected != null) return true
  return a.turns.some(
    (x) => x.clientId != null && b.turns.some((y) => y.clientId === x.clientId && y.actor === x.actor),
  )
}

/**
 * @param lanes statements that run at once
 * @param written called after the commit with every conversation that grew
 */
export function createAppendQueue(
  pool: Pool,
  lanes: number,
  written: (calls: readonly { call: AppendCall; rows: AppendRow[] }[]) => void,
): AppendQueue {
  /** Waiting calls by conversation, in the order of arrival; conversations in the order of their oldest. */
  const waiting = new Map<string, Job[]>()
  const busy = new Set<string>()
  let running = 0
  let waiters = 0
  let scheduled = false

  function schedule(): void {
    if (scheduled || waiting.size === 0) return
    scheduled = true
    // After the events of this turn of the loop, so that requests that came together leave together.
    setImmediate(() => {
      scheduled = false
      while (running < lanes) {
        const batch = take()
        if (batch.length === 0) return
        running += 1
        void run(batch, false).finally(() => {
          running -= 1
          schedule()
        })
      }
    })
  }

  function take(): Job[] {
    const batch: Job[] = []
    let turns = 0
    let text = 0
    for (const [conversationId, jobs] of waiting) {
      if (busy.has(conversationId)) continue
      const taken: Job[] = []
      while (jobs.length > 0) {
        const job = jobs[0]!
        const fits = turns + job.call.turns.length <= BATCH_TURNS && text + job.text <= BATCH_TEXT
        if (batch.length + taken.length > 0 && !fits) break
        if (taken.some((other) => excludes(other.call, job.call))) break
        taken.push(jobs.shift()!)
        turns += job.call.turns.length
        text += job.text
      }
      if (taken.length > 0) {
        batch.push(...taken)
        busy.add(conversationId)
      }
      if (jobs.length === 0) waiting.delete(conversationId)
      if (turns >= BATCH_TURNS || text >= BATCH_TEXT) break
    }
    return batch
  }

  const free = (jobs: readonly Job[]) => {
    for (const { call } of jobs) busy.delete(call.conversationId)
  }

  async function run(batch: Job[], wait: boolean): Promise<void> {
    const passedOver = await execute(batch, wait)
    free(batch.filter((job) => !passedOver.includes(job)))
    setAside(passedOver)
  }

  /** Writes the calls and answers them, but for those whose conversations were passed over: they are returned. */
  async function execute(batch: Job[], wait: boolean): Promise<Job[]> {
    let rows: AppendRow[]
    try {
      rows = await appendTurns(
        pool,
        batch.map(({ call }) => call),
        wait,
      )
    } catch (error) {
      if (batch.length > 1 && wasRefused(error)) {
        // One call's fault is not the others': each on its own, in their order.
        for (const job of batch) await execute([job], true)
      } else {
        for (const job of batch) job.reject(error)
      }
      return []
    }
    const byCall = new Map<number, AppendRow[]>()
    for (const row of rows) {
      const list = byCall.get(row.call)
      if (list) list.push(row)
      else byCall.set(row.call, [row])
    }
    const answered = batch.flatMap((job, index) => {
      const found = byCall.get(index)
      return found ? [{ job, call: job.call, rows: found.sort((a, b) => a.place - b.place) }] : []
    })
    written(answered)
    for (const { job, rows } of answered) job.resolve(rows)
    const unanswered = batch.filter((_, index) => !byCall.has(index))
    if (!wait) return unanswered
    for (const job of unanswered) job.resolve([]) // an unknown conversation
    return []
  }

  /** Conversations that were passed over, locked or unknown, go on in a statement of their own that waits. They stay busy. */
  function setAside(passedOver: readonly Job[]): void {
    const conversationIds = new Map<string, Job[]>()
    for (const job of passedOver)
      conversationIds.set(job.call.conversationId, [...(conversationIds.get(job.call.conversationId) ?? []), job])
    for (const [conversationId, jobs] of conversationIds) {
      if (waiters < WAITERS) {
        waiters += 1
        void run(jobs, true).finally(() => {
          waiters -= 1
          schedule()
        })
        continue
      }
      // Conversations that stay locked must not hold up one that is free again soon; nor is the database asked all the time.
      setTimeout(() => {
        busy.delete(conversationId)
        waiting.set(conversationId, [...jobs, ...(waiting.get(conversationId) ?? [])])
        schedule()
      }, RETRY_MS)
    }
  }

  return {
    append(call) {
      return new Promise((resolve, reject) => {
        const text = call.turns.reduce((sum, turn) => sum + turn.text.length, 0)
        const job = { call, text, resolve, reject }
        const jobs = waiting.get(call.conversationId)
        if (jobs) jobs.push(job)
        else waiting.set(call.conversationId, [job])
        schedule()
      })
    },
  }
}

/** What appending needs. */
export type AppendDeps = Platform & { appends: AppendQueue }
