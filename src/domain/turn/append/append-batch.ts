// Chooses the waiting calls that the next statement writes, and groups the statement's rows by call. Pure:
// append-queue.ts runs the statement. A conversation's calls are taken in order of arrival, without skipping any.

import type { AppendCall } from '../../../store/sql/turn/append-call.ts'
import type { AppendRow } from '../../../store/sql/turn/append-turns.ts'

/** A waiting call. `text` is the length of its turns' text, in UTF-16 units. */
export type WaitingAppend = { readonly call: AppendCall; readonly text: number }

/** Maximum number of turns, and of UTF-16 units of text, per statement. A call that exceeds one is written alone. */
export type BatchLimits = { turns: number; text: number }

const LIMITS: BatchLimits = { turns: 512, text: 4 * 1024 * 1024 }

/**
 * Number of UTF-16 units of text above which a call is large. Large calls share no statement with smaller ones, so that
 * a short turn does not wait until long ones are indexed.
 */
const LARGE_TEXT = 64 * 1024

export const isLarge = ({ text }: WaitingAppend): boolean => text > LARGE_TEXT

/** Returns the key of the queue in which a call waits: one per conversation and tenant. Ids contain no space. */
export const queueKeyOf = ({ conversationId, tenant }: Pick<AppendCall, 'conversationId' | 'tenant'>): string =>
  `${conversationId} ${tenant}`

/**
 * Whether two calls must not share a statement: they share an idempotency key or a claim, or one of them expects a seq.
 */
function excludes(a: AppendCall, b: AppendCall): boolean {
  if (a.expected != null || b.expected != null) return true
  return a.turns.some((x) =>
    b.turns.some(
      (y) =>
        (x.clientId != null && y.clientId === x.clientId && y.actor === x.actor)
        || (x.claimHash !== undefined && y.claimHash === x.claimHash),
    ),
  )
}

/** Whether the call must not share a statement with any of the calls from index `from` on. */
function isExcluded(batch: readonly WaitingAppend[], from: number, call: AppendCall): boolean {
  for (let index = from; index < batch.length; index++) if (excludes(batch[index]!.call, call)) return true
  return false
}

/**
 * Returns the calls to write next, all of one tenant and grouped by queue; none if every queue is busy.
 * @param waiting queues by `queueKeyOf`; queues and their calls are in order of arrival
 * @param busy keys of queues to skip, because another statement writes or will retry their calls
 * @param allowLarge whether large calls may be chosen; if false, queues that begin with a large call are skipped
 */
export function chooseBatch<Append extends WaitingAppend>(
  waiting: ReadonlyMap<string, readonly Append[]>,
  busy: ReadonlySet<string>,
  allowLarge = true,
  limits: BatchLimits = LIMITS,
): Append[] {
  const batch: Append[] = []
  let turns = 0
  let text = 0
  for (const [key, appends] of waiting) {
    if (busy.has(key)) continue
    // A statement sees the rows of one tenant only.
    if (batch.length > 0 && appends[0]!.call.tenant !== batch[0]!.call.tenant) continue
    const first = batch.length
    for (const append of appends) {
      const fits = turns + append.call.turns.length <= limits.turns && text + append.text <= limits.text
      if (batch.length > 0 && !fits) break
      if (batch.length > 0 ? isLarge(append) !== isLarge(batch[0]!) : isLarge(append) && !allowLarge) break
      if (isExcluded(batch, first, append.call)) break
      batch.push(append)
      turns += append.call.turns.length
      text += append.text
    }
    if (turns >= limits.turns || text >= limits.text) break
  }
  return batch
}

/** Returns each call's rows by the index of the call, in the order of its turns. Calls without rows have no key. */
export function rowsByCall(rows: readonly AppendRow[]): Map<number, AppendRow[]> {
  const byCall = new Map<number, AppendRow[]>()
  for (const row of rows) {
    const ofCall = byCall.get(row.call)
    if (ofCall) ofCall.push(row)
    else byCall.set(row.call, [row])
  }
  for (const ofCall of byCall.values()) ofCall.sort((a, b) => a.index - b.index)
  return byCall
}
