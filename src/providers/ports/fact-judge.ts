// The port to what judges pairs of facts that rules leave open: whether they say the same, cannot both hold, or have
// nothing against each other. It does not say who wins: so it can neither favour a fact nor close a circle. Whoever
// asks checks the verdicts against what was asked.

/** A fact, as far as a judge may know it. */
export type JudgedFact = {
  id: string
  subject: string
  predicate: string
  object: string
  /** ISO 8601. */
  observedAt: string
}

/** Two facts of one visibility set. */
export type FactPair = { a: JudgedFact; b: JudgedFact }

/** What a judge says of two facts, by their ids. */
export type Verdict = { a: string; b: string; says: 'SAME' | 'CONTRADICTORY' | 'BOTH_HOLD' }

/** Judges pairs of facts. Every judge passes test/contract/fact-judge.ts. */
export type FactJudge = {
  /** Says the method and its version, or the model. */
  readonly name: string
  /**
   * At most MOST_PAIRS pairs. A pair may come back without a verdict: it stays open; or with several, which may differ.
   * @throws CallFailed, or the reason of the signal that was aborted
   */
  judge(pairs: readonly FactPair[], signal?: AbortSignal): Promise<Verdict[]>
  /** Ends what runs; afterwards, judge rejects. May be called twice. */
  close(): Promise<void>
}

/** Pairs of one call. */
export const MOST_PAIRS = 100
