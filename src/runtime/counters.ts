// The counters of the process for /metrics (server/load/metrics.ts). They are plain numbers, because hot paths change them.
// All Deps in one process share them. They contain no name that a client chose.

/** A histogram of durations, in seconds. */
export type Histogram = {
  /** Upper bounds of the buckets, ascending. One more bucket has no upper bound. */
  readonly bounds: readonly number[]
  /** Number of observations in each bucket, not cumulative. */
  readonly counts: number[]
  /** Sum of all observations. */
  sum: number
}

/** Upper bounds of the buckets of all histograms, in seconds. */
const BOUNDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const createHistogram = (): Histogram => ({
  bounds: BOUNDS,
  counts: Array.from({ length: BOUNDS.length + 1 }, () => 0),
  sum: 0,
})

export function observe(histogram: Histogram, seconds: number): void {
  let bucket = 0
  while (bucket < BOUNDS.length && seconds > BOUNDS[bucket]!) bucket += 1
  histogram.counts[bucket]! += 1
  histogram.sum += seconds
}

const KINDS = ['query', 'mutation', 'subscription'] as const
/**
 * `ok`: an answer without errors; an expected error in a result union is part of such an answer. `refused`: an error
 * that the client can avoid. `failed`: an error of the server.
 */
const OUTCOMES = ['ok', 'refused', 'failed'] as const

export type OperationKind = (typeof KINDS)[number]
export type OperationOutcome = (typeof OUTCOMES)[number]

const histogramByOutcome = () =>
  Object.fromEntries(OUTCOMES.map((outcome) => [outcome, createHistogram()])) as Record<OperationOutcome, Histogram>

export const counters = {
  /** Time from the start of an operation's execution to its result, or until a subscription is open. */
  operations: Object.fromEntries(KINDS.map((kind) => [kind, histogramByOutcome()])) as Record<
    OperationKind,
    Record<OperationOutcome, Histogram>
  >,
  /** Number of refused requests and expected errors, by code. Incremented by `refused`. */
  refusals: new Map<string, number>(),
  /** Turns that appendTurn, appendTurns and openTurn wrote. */
  turns: 0,
  /** Deltas of streaming turns that were written, heartbeats included. */
  deltas: 0,
  /** Events of conversations that were added to the outboxes of clients. */
  deliveries: 0,
  /** Time from the creation of a journal entry to its delivery to the readers in this process. */
  lag: createHistogram(),
  /** Operations and connections that were refused because the process was overloaded, by transport. */
  shed: { http: 0, websocket: 0 },
  /** Connections that were closed because their clients did not read, by the reason (server/live/unread-data.ts). */
  unread: { timeout: 0, budget: 0 },
  /** Open WebSockets. */
  webSockets: 0,
  /** Open event streams. */
  eventStreams: 0,
  /** Values that redaction removed from turns, by the kind of the detector. */
  redactions: new Map<string, number>(),
}

/** Maximum number of codes that are counted separately; further codes count as OTHER. The server defines all codes. */
const MAX_CODES = 100

/** Counts a refused request or an expected error by its stable code. */
export function refused(code: string): void {
  const { refusals } = counters
  const key = refusals.has(code) || refusals.size < MAX_CODES ? code : 'OTHER'
  refusals.set(key, (refusals.get(key) ?? 0) + 1)
}
