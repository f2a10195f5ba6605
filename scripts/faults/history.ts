// The history of a run: the requests of each client, the answers, their times, and the database rows at the end. The
// checker reads nothing else. Times are readings of one monotonic clock, ms.

/** A turn that a client appended. */
export type Append = {
  type: 'append'
  conversation: string
  actor: string
  /** Unique in the run. */
  text: string
  clientId: string
  /** The actors besides the author who may see the turn; null for all. */
  audience: readonly string[] | null
  invokedAt: number
  endedAt: number | null
  /** `unknown`: no answer, and the client gave up. */
  outcome: 'ok' | 'failed' | 'unknown'
  seq?: number
  turnId?: string
}

/** A streaming turn that a client wrote. */
export type Stream = Omit<Append, 'type' | 'audience'> & {
  type: 'stream'
  /** Length of the acknowledged part of `text`, which also contains text that the client sent without an answer. */
  acknowledged: number
  /** How the turn ended according to an answer; `unknown` if no answer arrived. */
  end: 'committed' | 'aborted' | 'unknown'
}

export type SeenTurn = { seq: number; turnId: string; text: string }

/** One page of the turns after an entry, ascending. */
export type Read = {
  type: 'read'
  conversation: string
  viewer: string
  invokedAt: number
  endedAt: number
  after: number
  turns: readonly SeenTurn[]
  /** Whether no turn followed the page. */
  complete: boolean
}

/** An event of a subscription. `turn` is null for events that name no turn. */
export type Event =
  | { seq: number; type: string; turn: { turnId: string; text: string; status: string } | null }
  | { seq: null; type: 'TurnDelta'; turnId: string; start: number; end: number; text: string }

/** One connection of a subscriber, which resumed after entry `after`. */
export type Session = { after: number; events: Event[] }

export type Subscription = {
  type: 'subscription'
  name: string
  conversation: string
  viewer: string
  sessions: Session[]
}

export type Operation = Append | Stream | Read | Subscription

/** A journal entry in the database at the end, with its turn; the fields of the turn are null for other entries. */
export type Entry = {
  seq: number
  kind: string
  turnId: string | null
  text: string | null
  status: string | null
  actor: string | null
  audience: readonly string[] | null
  clientId: string | null
}

/** The journals at the end by conversation, ascending by seq. */
export type Journals = ReadonlyMap<string, readonly Entry[]>

export const isVisible = (viewer: string, audience: readonly string[] | null): boolean =>
  audience === null || audience.includes(viewer)
