// Chooses the waiting appends that the next statement writes, and sorts its rows by call. Pure: append-queue.ts runs it.
// A conversation's calls are chosen from its oldest on, without skipping any, so that they keep their order.

import type { AppendCall, AppendRow } from '../../store/sql/turn/append-turns.ts'

/** A call that waits; `text` is the length of its turns' text, in UTF-16 units. */
export type WaitingAppend = { readonly call: AppendCall; readonly text: number }

/** Maximum of one statement: turns, and UTF-16 units of text. One call may be larger, and is then sent alone. */
export type BatchLimits = { turns: number; text: number }

const LIMITS: BatchLimits = { turns: 512, text: 4 * 1024 * 1024 }

/** Whether two calls must not share a statement: both have a turn with the same idempotency key, or one expects a seq. */
function excludes(a: AppendCall, b: AppendCall): boolean {
  if (a.expected != null || b.expected != null) return true
  return a.turns.some(
    (x) => x.clientId != null && b.turns.some((y) => y.clientId === x.clientId && y.actor === x.actor),
  )
}

/** Whether the call excludes one of the calls from index `from` on. */
function isExcluded(batch: readonly WaitingAppend[], from: number, call: AppendCall): boolean {
  for (let index = from; index < batch.length; index++) if (excludes(batch[index]!.call, call)) return true
  return false
}

/**
 * The calls to write next, by conversation; none if every conversation that waits is busy.
 * @param waiting calls by conversation, both in the order they arrived
 * @param busy conversations that are in another statement
 */
export function chooseBatch<Append extends WaitingAppend>(
  waiting: ReadonlyMap<string, readonly Append[]>,
  busy: ReadonlySet<string>,
  limits: BatchLimits = LIMITS,
): Append[] {
  const batch: Append[] = []
  let turns = 0
  let text = 0
  for (const [conversationId, appends] of waiting) {
    if (busy.has(conversationId)) continue
    const first = batch.length
    for (const append of appends) {
      const fits = turns + append.call.turns.length <= limits.turns && text + append.text <= limits.text
      if (batch.length > 0 && !fits) break
      if (isExcluded(batch, first, append.call)) break
      batch.push(append)
      turns += append.call.turns.length
      text += append.text
    }
    if (turns >= limits.turns || text >= limits.text) break
  }
  return batch
}

/** The rows of each call by its index, in the order of its turns. Calls without rows are left out. */
export function rowsByCall(rows: readonly AppendRow[]): Map<number, AppendRow[]> {
  const byCall = new Map<number, AppendRow[]>()
  for (const row of rows) {
    const list = byCall.get(row.call)
    if (list) list.push(row)
    else byCall.set(row.call, [row])
  }
  for (const list of byCall.values()) list.sort((a, b) => a.place - b.place)
  return byCall
}
