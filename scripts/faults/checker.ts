// Checks a history as Jepsen does: each rule reads the operations of all clients and the final journals, and returns
// the violations of a guarantee. Pure. checker.test.ts plants a violation of each rule.

import { isVisible, type Append, type Entry, type Journals, type Operation, type Read } from './history.ts'
import type { Stream, Subscription } from './history.ts'

export type Violation = { rule: RuleName; detail: string }

/** Indexes for the rules, computed once. */
type Known = {
  appends: Append[]
  streams: Stream[]
  reads: Read[]
  subscriptions: Subscription[]
  journals: Journals
  /** Every turn at the end, by id. */
  turns: Map<string, Entry & { conversation: string }>
  /** The turns that clients sent: appends by their text, and streaming turns by their id. */
  appendOf: ReadonlyMap<string, Append>
  streamOf: Map<string, Stream>
}

const CREATES = new Set(['APPENDED', 'OPENED'])

function index(operations: readonly Operation[], journals: Journals): Known {
  const of = <T extends Operation['type']>(type: T) =>
    operations.filter((each): each is Extract<Operation, { type: T }> => each.type === type)
  const [appends, streams] = [of('append'), of('stream')]
  const turns = new Map<string, Entry & { conversation: string }>()
  for (const [conversation, entries] of journals) {
    for (const entry of entries) if (CREATES.has(entry.kind)) turns.set(entry.turnId!, { ...entry, conversation })
  }
  return {
    appends,
    streams,
    reads: of('read'),
    subscriptions: of('subscription'),
    journals,
    turns,
    appendOf: new Map(appends.map((append) => [append.text, append])),
    streamOf: new Map(streams.flatMap((stream) => (stream.turnId ? [[stream.turnId, stream] as const] : []))),
  }
}

type Rule = (known: Known) => string[]

/** Whether the viewer may see the turn, by the audience that was sent. */
function isInView({ appendOf }: Known, viewer: string, { text, audience }: Entry): boolean {
  const sent = appendOf.get(text ?? '')
  return isVisible(viewer, sent ? sent.audience && [sent.actor, ...sent.audience] : audience)
}

/** R1: an acknowledged append is stored once, with its text, at the acknowledged seq. */
const acknowledgedIsStored: Rule = ({ appends, streams, journals }) =>
  [...appends, ...streams]
    .filter(({ outcome }) => outcome === 'ok')
    .flatMap((append) => {
      const entry = journals.get(append.conversation)?.[append.seq! - 1]
      if (entry?.turnId !== append.turnId) return [`${append.turnId} is not at seq ${append.seq}`]
      return append.type === 'append' && entry!.text !== append.text ? [`${append.turnId} has another text`] : []
    })

/** R1: the journal is dense, and no turn is stored twice. */
const journalIsDense: Rule = ({ journals }) =>
  [...journals].flatMap(([conversation, entries]) => {
    const holes = entries.filter(({ seq }, at) => seq !== at + 1).map(({ seq }) => `${conversation}: gap before ${seq}`)
    const created = new Set<string>()
    const repeated = entries
      .filter(({ kind, actor, clientId, text }) => {
        const isFirst = clientId === null || added(created, `${actor} ${clientId}`)
        return CREATES.has(kind) && (!isFirst || (kind === 'APPENDED' && !added(created, text!)))
      })
      .map(({ turnId }) => `${conversation}: ${turnId} is stored twice`)
    return [...holes, ...repeated]
  })

/** Adds the value. Returns whether it was new. */
function added<T>(values: Set<T>, value: T): boolean {
  const { size } = values
  return values.add(value).size > size
}

/** R2: every stored turn was sent by a client, and no refused append is stored. */
const storedWasSent: Rule = ({ appends, turns, appendOf, streamOf, streams }) => {
  const refused = new Set(appends.filter(({ outcome }) => outcome === 'failed').map(({ text }) => text))
  const sentStreams = new Set(streams.map(({ clientId }) => clientId))
  return [...turns.values()].flatMap(({ turnId, kind, text, clientId }) => {
    if (kind === 'APPENDED' && !appendOf.has(text!)) return [`${turnId} was never sent`]
    if (kind === 'APPENDED' && refused.has(text!)) return [`${turnId} was refused, but is stored`]
    const stream = streamOf.get(turnId!)
    if (kind === 'OPENED' && !stream && clientId !== null && !sentStreams.has(clientId)) return [`${turnId}: unknown`]
    return stream && !stream.text.startsWith(text!) ? [`${turnId} has text that was never sent`] : []
  })
}

/** Calls `look` with every turn that a reader or subscriber received. */
function seenTurns(
  { reads, subscriptions }: Known,
  look: (seen: { viewer: string; conversation: string; seq: number | null; turnId: string; text: string }) => string[],
): string[] {
  return [
    ...reads.flatMap(({ viewer, conversation, turns }) =>
      turns.flatMap((turn) => look({ viewer, conversation, ...turn })),
    ),
    ...subscriptions.flatMap(({ viewer, conversation, sessions }) =>
      sessions.flatMap(({ events }) =>
        events.flatMap((event) =>
          event.seq !== null && event.turn ? look({ viewer, conversation, seq: event.seq, ...event.turn }) : [],
        ),
      ),
    ),
  ]
}

/** R2: every turn that a reader or subscriber saw was sent by a client. */
const readWasSent: Rule = (known) =>
  seenTurns(known, ({ viewer, turnId, text }) => {
    const stream = known.streamOf.get(turnId)
    // A streaming turn whose opening was not answered has no text.
    const sent = stream ? stream.text.startsWith(text) : text === '' || known.appendOf.has(text)
    return sent ? [] : [`${viewer} read ${turnId} with text that was never sent`]
  })

/** R3: a seq of a conversation names one turn, in every read, event and acknowledgement. */
const oneTurnPerSeq: Rule = (known) =>
  seenTurns(known, ({ viewer, conversation, seq, turnId }) => {
    const stored = known.journals.get(conversation)?.[seq! - 1]
    return stored?.turnId === turnId ? [] : [`${viewer} saw ${turnId} at seq ${seq}, where ${stored?.turnId} is`]
  })

/** R4: a subscriber receives every entry in its view once and in order, over all its sessions. */
const subscribersMissNothing: Rule = (known) =>
  known.subscriptions.flatMap(({ name, viewer, conversation, sessions }) => {
    const received = sessions.flatMap(({ events }) => events.flatMap(({ seq }) => seq ?? []))
    const expected = (known.journals.get(conversation) ?? [])
      .filter(({ seq }) => seq > (sessions[0]?.after ?? 0))
      .filter(({ turnId }) => turnId === null || isInView(known, viewer, known.turns.get(turnId)!))
      .map(({ seq }) => seq)
    const at = expected.findIndex((seq, n) => received[n] !== seq)
    if (at >= 0) return [`${name} received ${received[at] ?? 'nothing'} instead of ${expected[at]}`]
    return received.length > expected.length ? [`${name} received ${received[expected.length]}, unexpectedly`] : []
  })

/** R4: within a session, the deltas of a turn have no gap, and their joined text equals the stored text. */
const noDeltaIsLost: Rule = ({ subscriptions, turns }) =>
  subscriptions.flatMap(({ name, sessions }) =>
    sessions.flatMap(({ events }) => {
      const joined = new Map<string, string>()
      const opened = new Set<string>()
      return events.flatMap((event) => {
        if (event.type === 'TurnDelta' && event.seq === null) {
          const text = joined.get(event.turnId) ?? ''
          joined.set(event.turnId, text.slice(0, event.start) + event.text)
          if (event.start > text.length) return [`${name}: gap before ${event.start} in ${event.turnId}`]
          return event.end === event.start + event.text.length ? [] : [`${name}: wrong range in ${event.turnId}`]
        }
        if (event.seq === null || !event.turn) return []
        const { turnId, status } = event.turn
        if (event.type === 'TurnOpened' && status === 'STREAMING') opened.add(turnId)
        if (event.type !== 'TurnCommitted' && event.type !== 'TurnAborted') return []
        const text = joined.get(turnId) ?? (opened.has(turnId) ? '' : null)
        return text === null || text === turns.get(turnId)?.text ? [] : [`${name}: deltas of ${turnId} were lost`]
      })
    }),
  )

/** R5: an append that was acknowledged before another append to the conversation was sent has the smaller seq. */
const orderIsRealTime: Rule = ({ appends, streams }) => {
  const done = [...appends, ...streams].filter(({ outcome }) => outcome === 'ok')
  const ended = done.toSorted((a, b) => a.endedAt! - b.endedAt!)
  const newest = new Map<string, number>()
  let next = 0
  return done
    .toSorted((a, b) => a.invokedAt - b.invokedAt)
    .flatMap(({ conversation, invokedAt, seq, turnId }) => {
      for (; next < ended.length && ended[next]!.endedAt! < invokedAt; next++) {
        const { conversation: of, seq: acknowledged } = ended[next]!
        newest.set(of, Math.max(newest.get(of) ?? 0, acknowledged!))
      }
      const before = newest.get(conversation) ?? 0
      return seq! > before ? [] : [`${turnId} at seq ${seq} was sent after seq ${before} had been acknowledged`]
    })
}

/** R6: a read contains every turn in the view that was acknowledged before it, and has no gap. */
const readsAreComplete: Rule = (known) => {
  const { reads, appends, streams, journals } = known
  const acknowledged = new Map([...appends, ...streams].map(({ turnId, endedAt }) => [turnId, endedAt ?? Infinity]))
  return reads.flatMap(({ viewer, conversation, after, turns: page, complete, invokedAt }) => {
    const got = new Set(page.map(({ turnId }) => turnId))
    const last = page.at(-1)?.seq ?? after
    return (journals.get(conversation) ?? [])
      .slice(after)
      .filter(({ kind, turnId }) => CREATES.has(kind) && !got.has(turnId!))
      .filter((entry) => isInView(known, viewer, entry))
      .filter(({ seq, turnId }) => seq < last || (complete && (acknowledged.get(turnId!) ?? Infinity) < invokedAt))
      .map(({ turnId, seq }) => `a read of ${viewer} after ${after} lacks ${turnId} at seq ${seq}`)
  })
}

/** R7: no reader or subscriber sees a turn that is limited to other actors, or a turn of another conversation. */
const viewsAreKept: Rule = (known) =>
  seenTurns(known, ({ viewer, conversation, turnId }) => {
    const turn = known.turns.get(turnId)
    const hidden = turn && (turn.conversation !== conversation || !isInView(known, viewer, turn))
    return hidden ? [`${viewer} saw ${turnId}, which is not in its view`] : []
  })

/** R8: a turn that was seen still exists at the end; the text of a streaming turn has only grown. */
const nothingDisappears: Rule = (known) =>
  seenTurns(known, ({ viewer, turnId, text }) =>
    known.turns.get(turnId)?.text?.startsWith(text)
      ? []
      : [`${turnId}, which ${viewer} saw, is missing or has changed`],
  )

/** R9: a streaming turn ends, keeps its acknowledged text, and is complete if its commit was acknowledged. */
const streamsEnd: Rule = ({ streams, turns }) => [
  ...[...turns.values()].filter(({ status }) => status === 'STREAMING').map(({ turnId }) => `${turnId} is still open`),
  ...streams
    .filter(({ outcome, turnId }) => outcome === 'ok' && turns.has(turnId!))
    .flatMap(({ turnId, acknowledged, end, text: sent }) => {
      const { text, status } = turns.get(turnId!)!
      if (text!.length < acknowledged)
        return [`${turnId} lost text: ${text!.length} of ${acknowledged} UTF-16 units are stored`]
      if (end === 'committed' && status !== 'COMMITTED') return [`${turnId} was committed, but is ${status}`]
      return end === 'committed' && text !== sent ? [`${turnId} was committed without all of its text`] : []
    }),
]

/** The rules, by their numbers and guarantees in docs/operations.md. */
const RULES = {
  'R1 acknowledged appends are stored': acknowledgedIsStored,
  'R1 journals are dense, without repeats': journalIsDense,
  'R2 stored turns were sent': storedWasSent,
  'R2 read turns were sent': readWasSent,
  'R3 a seq names one turn': oneTurnPerSeq,
  'R4 subscribers miss and repeat nothing': subscribersMissNothing,
  'R4 no delta is lost': noDeltaIsLost,
  'R5 the order follows real time': orderIsRealTime,
  'R6 reads contain acknowledged turns': readsAreComplete,
  'R7 readers see only their view': viewsAreKept,
  'R8 seen turns do not disappear': nothingDisappears,
  'R9 streaming turns end with their text': streamsEnd,
} satisfies Record<string, Rule>
export type RuleName = keyof typeof RULES
export const RULE_NAMES = Object.keys(RULES) as RuleName[]

/** Returns all violations of the rules in the history. */
export function checkHistory(operations: readonly Operation[], journals: Journals): Violation[] {
  const known = index(operations, journals)
  return RULE_NAMES.flatMap((rule) => RULES[rule](known).map((detail) => ({ rule, detail })))
}
