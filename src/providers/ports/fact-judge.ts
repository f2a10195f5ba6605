// The port for fact judges. A judge decides whether two facts are equivalent, contradictory or compatible if the rules
// leave the pair undecided. It does not choose which fact supersedes the other, so it can neither favour a fact nor
// create a cycle. The caller checks that the verdicts are about the given pairs.

/** A fact as the input of a judge. */
export type JudgedFact = {
  id: string
  subject: string
  predicate: string
  object: string
  /** Time at which the fact was last asserted, in ISO 8601. */
  observedAt: string
}

/** Two facts that the same viewers may see. */
export type FactPair = { a: JudgedFact; b: JudgedFact }

/** A verdict on two facts. `a` and `b` are their ids. */
export type Verdict = { a: string; b: string; relation: 'SAME' | 'CONTRADICTORY' | 'COMPATIBLE' }

/** Judges pairs of facts. Every judge passes test/contract/fact-judge.ts. */
export type FactJudge = {
  /** Identifies the method and its version, or the model. */
  readonly name: string
  /**
   * Judges at most MAX_PAIRS pairs. A pair without a verdict stays undecided. A pair may get several verdicts, which
   * may differ.
   * @throws CallFailed, or the signal's reason after an abort
   */
  judge(pairs: readonly FactPair[], signal?: AbortSignal): Promise<Verdict[]>
  /** Ends running calls. Later calls of `judge` reject. Idempotent. */
  close(): Promise<void>
}

/** Maximum number of pairs per call. */
export const MAX_PAIRS = 100
