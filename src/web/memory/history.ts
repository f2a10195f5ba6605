// The history of facts: when each was stated, superseded and restored, for each subject.

import { dateOf } from '../kit/text.ts'
import type { FactDetails, Statement } from './queries.ts'

export type FactEvent = { at: string; kind: 'stated' | 'superseded' | 'restored'; fact: FactDetails }
type SubjectHistory = { subject: string; events: FactEvent[] }

export const statementOf = ({ subject, predicate, object }: Statement): string => `${subject} ${predicate} ${object}`

/** In events of the same time, a fact is stated before the one that it contradicts is superseded. */
const ORDER = { stated: 0, superseded: 1, restored: 2 }

/** A fact that is active again keeps no time at which it was superseded. */
function eventsOf(fact: FactDetails): FactEvent[] {
  const { observedAt, supersededAt, restoredAt } = fact
  const stated: FactEvent = { at: observedAt, kind: 'stated', fact }
  const restored: FactEvent[] = restoredAt ? [{ at: restoredAt, kind: 'restored', fact }] : []
  const superseded: FactEvent[] = supersededAt ? [{ at: supersededAt, kind: 'superseded', fact }] : []
  return [stated, ...restored, ...superseded]
}

/** Returns the events of each subject, oldest first; the subject with the newest event is the first one. */
export function historyOf(facts: readonly FactDetails[]): SubjectHistory[] {
  const bySubject = new Map<string, SubjectHistory>()
  for (const fact of facts) {
    const key = fact.subject.toLowerCase()
    const history = bySubject.get(key) ?? { subject: fact.subject, events: [] }
    history.events.push(...eventsOf(fact))
    bySubject.set(key, history)
  }
  const histories = [...bySubject.values()]
  for (const { events } of histories) {
    events.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || ORDER[a.kind] - ORDER[b.kind])
  }
  const newestOf = ({ events }: SubjectHistory) => Date.parse(events.at(-1)!.at)
  return histories.sort((a, b) => newestOf(b) - newestOf(a))
}

/** Returns why a fact is not active any more, in words; null for an active fact. */
export function supersededText({ supersedeReason, supersedeNote, supersededBy }: FactDetails): string | null {
  const note = supersedeNote ? `: ${supersedeNote}` : ''
  const by = (text: string) =>
    `${text} ${supersededBy ? `“${statementOf(supersededBy)}”` : 'a fact that is not visible'}`
  switch (supersedeReason) {
    case null:
      return null
    case 'CONTRADICTED':
      return by('Contradicted by')
    case 'DUPLICATED':
      return by('Merged into')
    case 'RETRACTED':
      return `Retracted${note}`
    case 'UNDONE':
      return `The merge was undone${note}`
    case 'UPDATED':
      return 'The turn that stated it was edited'
  }
}

const day = { dateStyle: 'medium' } as const

/** Returns a time, or only its day if it is the start of a day, here or in UTC. */
function momentOf(at: string): string {
  const date = new Date(at)
  if (/T00:00:00(\.0+)?Z$/.test(at)) return date.toLocaleDateString(undefined, { ...day, timeZone: 'UTC' })
  return date.getHours() + date.getMinutes() + date.getSeconds() === 0
    ? date.toLocaleDateString(undefined, day)
    : dateOf(at)
}

/** Returns the period in which a fact is true, in words; null if neither end is known. */
export function periodText({ validFrom, validTo }: Pick<FactDetails, 'validFrom' | 'validTo'>): string | null {
  if (validFrom && validTo) return `${momentOf(validFrom)} to ${momentOf(validTo)}`
  if (validFrom) return `since ${momentOf(validFrom)}`
  return validTo ? `until ${momentOf(validTo)}` : null
}
