// The port to fact judges, which compare pairs of facts that rules leave undecided: equivalent, contradictory or
// compatible. A judge does not choose the winner, so it can neither favour a fact nor create a cycle. The caller checks
// that verdicts are about the given pairs.

/** The fields of a fact that a judge gets. */
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

/** A judge's verdict on two facts, by their ids. */
export type Verdict = { a: string; b: string; says: 'SAME' | 'CONTRADICTORY' | 'BOTH_HOLD' }

/** Judges pairs of facts. Every judge passes test/contract/fact-judge.ts. */
export type FactJudge = {
  /** The method and its version, or the model. */
  readonly name: string
  /**
   * Judges at most MOST_PAIRS pairs. A pair may get no verdict and stays undecided, or several, which may differ.
   * @throws CallFailed, or the signal's reason after an abort
   */
  judge(pairs: readonly FactPair[], signal?: AbortSignal): Promise<Verdict[]>
  /** Ends running calls; afterwards, judge rejects. Idempotent. */
  close(): Promise<void>
}

/** Maximum number of pairs per call. */
export const MOST_PAIRS = 100
