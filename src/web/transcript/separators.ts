// The separators above a turn: the day, a pause, and where the unread turns begin. The functions are pure.

import type { Turn } from '../../client/index.ts'
import { dayOf } from '../kit/text.ts'

/** Time between two turns after which a new session begins, ms. */
const PAUSE_MS = 60 * 60_000
/** Time within which turns of one author follow each other without a header, ms. */
const TOGETHER_MS = 5 * 60_000

const HOUR_MS = 3_600_000
const ageOf = (from: string, to: string) => new Date(to).getTime() - new Date(from).getTime()

/** `day`: the day that begins with the turn; null for that of the previous one. `pause`: hours since it, from 1 on. */
export type Separator = { day: string | null; pause: number | null; isContinued: boolean }

/** Returns what separates a turn from the previous one; null for the first turn. */
export function separatorOf(previous: Turn | null, turn: Turn, now = new Date()): Separator {
  const day = dayOf(turn.createdAt, now)
  if (!previous) return { day, pause: null, isContinued: false }
  const age = ageOf(previous.createdAt, turn.createdAt)
  const isNewDay = dayOf(previous.createdAt, now) !== day
  const isContinued =
    !isNewDay
    && age <= TOGETHER_MS
    && previous.actor === turn.actor
    && previous.status !== 'ERASED'
    && turn.replyTo === null
    && String(previous.audience) === String(turn.audience)
  return {
    day: isNewDay ? day : null,
    pause: !isNewDay && age >= PAUSE_MS ? Math.floor(age / HOUR_MS) : null,
    isContinued,
  }
}

/** When the viewer opened the conversation: up to which entries it had read, and the newest entry. */
export type Opening = { viewer: string; readSeq: number; lastSeq: number }

/**
 * Returns the position of the first turn that the viewer had not read when it opened the conversation; null if there is
 * none, if the viewer has read nothing at all, or if older unread turns are not loaded.
 */
export function firstUnread(turns: readonly Turn[], hasOlder: boolean, opening: Opening): number | null {
  const { viewer, readSeq, lastSeq } = opening
  const [first] = turns
  if (readSeq === 0 || (hasOlder && first && first.position > readSeq)) return null
  const isUnread = ({ seq, position, actor }: Turn) => seq > readSeq && position <= lastSeq && actor !== viewer
  return turns.find(isUnread)?.position ?? null
}

/** A participant, as far as read marks need it. */
type Reader = { actor: string; lastReadSeq: number; leftAt: string | null }
/** Maximum number of turns at the end at which read marks are shown. */
const MARKED_TURNS = 200

/** Returns, by position, the others whose newest read turn it is. */
export function readersByPosition(
  turns: readonly Turn[],
  participants: readonly Reader[],
  viewer: string,
): ReadonlyMap<number, readonly string[]> {
  const readers = new Map<number, string[]>()
  const first = Math.max(0, turns.length - MARKED_TURNS)
  for (const { actor, lastReadSeq, leftAt } of participants) {
    if (actor === viewer || leftAt !== null || lastReadSeq === 0) continue
    let index = turns.length - 1
    while (index >= first && turns[index]!.seq > lastReadSeq) index -= 1
    if (index < first) continue
    const { position } = turns[index]!
    readers.set(position, [...(readers.get(position) ?? []), actor])
  }
  return readers
}
