// The lines of the list of events: one for each entry, and one for a run of events that are not stored, such as the
// deltas of a turn. Their number and size are limited.

import type { FollowedEvent, JoinedDelta, JoinedPartDelta } from '../../client/index.ts'

/** A note of the page itself, about its connection. */
export type Note = { text: string; tone: 'info' | 'bad' | 'good' }

type Common = { id: number; at: string; size: number }
export type EventLine = Common & {
  kind: 'event'
  /** The newest event of the line. */
  event: FollowedEvent
  /** Number of events of the line. */
  count: number
  /** Number of UTF-16 units of the text that the deltas of the line added; 0 for other events. */
  characters: number
  /** The author of the turn to which the deltas belong; null for other events, and if the lines do not name it. */
  author: string | null
}
export type NoteLine = Common & { kind: 'note' } & Note
export type Line = EventLine | NoteLine

export type Lines = {
  /** Oldest first. */
  lines: readonly Line[]
  /** Sum of the sizes of the lines, in UTF-16 units of JSON. */
  size: number
  /** Number of lines that were dropped because of the limits. */
  dropped: number
  /** Number of lines so far. */
  count: number
}

/** Limits of the lines: their number, and their size in UTF-16 units of JSON. */
const LIMITS = { lines: 500, size: 2_000_000 }

export const NO_LINES: Lines = { lines: [], size: 0, dropped: 0, count: 0 }

/** Returns what the events of one line have in common; null for an event with a line of its own. */
function groupOf(event: FollowedEvent): string | null {
  if (event.__typename === 'TurnDelta') return `delta ${event.turnId}`
  if (event.__typename === 'TurnPartDelta') return `part ${event.turnId} ${event.number}`
  if (event.__typename === 'PresenceChanged' || event.__typename === 'ParticipantRead')
    return `${event.__typename} ${event.participant.actor}`
  return null
}

/** Whether the event adds to an open turn. */
export const isDelta = (event: FollowedEvent): event is JoinedDelta | JoinedPartDelta => 'joined' in event

/** Returns the event as the server sent it. */
export function sentEvent(event: FollowedEvent): object {
  if (!isDelta(event)) return event
  const { joined: _, ...sent } = event
  return sent
}

/** Removes the oldest lines until the limits are met. The newest line is always kept. */
function limited({ lines, size, dropped, count }: Lines, limits: typeof LIMITS): Lines {
  let [start, left] = [0, size]
  while (start < lines.length - 1 && (lines.length - start > limits.lines || left > limits.size))
    left -= lines[start++]!.size
  return start === 0
    ? { lines, size, dropped, count }
    : { lines: lines.slice(start), size: left, dropped: dropped + start, count }
}

/** Returns the index of the line that the event extends: of its group, after the newest entry; -1 if there is none. */
function extended(lines: readonly Line[], group: string): number {
  for (let index = lines.length - 1; index >= 0; index--) {
    const line = lines[index]!
    if (line.kind === 'note' || line.event.seq !== null) return -1
    if (groupOf(line.event) === group) return index
  }
  return -1
}

/** Returns the turn that the event may have opened: a new turn, or a newer version. */
function openedBy(event: FollowedEvent): { id: string; actor: string } | null {
  if (event.__typename === 'TurnOpened') return event.turn
  return event.__typename === 'TurnSuperseded' ? event.by : null
}

/** Returns the author of the open turn to which a delta belongs; null if no line names it. */
function authorOf(lines: readonly Line[], event: FollowedEvent): string | null {
  if (!isDelta(event)) return null
  const openedIn = (line: Line) => (line.kind === 'event' ? openedBy(line.event) : null)
  const opened = lines.findLast((line) => openedIn(line)?.id === event.turnId)
  return (opened && openedIn(opened)?.actor) ?? null
}

/** Returns the lines with the event. */
export function withEvent(before: Lines, event: FollowedEvent, limits = LIMITS): Lines {
  const { lines, size, dropped, count } = before
  const group = groupOf(event)
  const index = group === null ? -1 : extended(lines, group)
  const known = index < 0 ? null : (lines[index] as EventLine)
  const line: EventLine = {
    kind: 'event',
    id: known?.id ?? count,
    at: event.at,
    event,
    count: (known?.count ?? 0) + 1,
    characters: (known?.characters ?? 0) + (isDelta(event) ? event.text.length : 0),
    author: known ? known.author : authorOf(lines, event),
    size: JSON.stringify(sentEvent(event)).length,
  }
  const total = size - (known?.size ?? 0) + line.size
  if (known) return limited({ lines: lines.with(index, line), size: total, dropped, count }, limits)
  return limited({ lines: [...lines, line], size: total, dropped, count: count + 1 }, limits)
}

/** Returns the lines with the note. */
export const withNote = (before: Lines, note: Note, at: string, limits = LIMITS): Lines => {
  const { lines, size, dropped, count } = before
  const line: NoteLine = { kind: 'note', id: count, at, size: note.text.length, ...note }
  return limited({ lines: [...lines, line], size: size + line.size, dropped, count: count + 1 }, limits)
}
