// The port for fact extractors, which find facts in turns. Each fact contains the id of the turn that states it.

/** A turn as the input of an extractor. */
export type ExtractorTurn = {
  id: string
  actor: string
  /** The name that "I" in the text refers to. */
  displayName: string
  kind: 'HUMAN' | 'AGENT' | 'TOOL'
  text: string
  /** Creation time of the turn. */
  at: Date
}

export type ExtractedFact = {
  subject: string
  predicate: string
  object: string
  /** Confidence from 0 to 1 that the turn states the fact. */
  confidence: number
  /** Id of one of the given turns. */
  turnId: string
  /** When the statement became true, and when it ceased to be true; absent or null if the turn does not say so. */
  validFrom?: Date | null
  validTo?: Date | null
}

export type ExtractOptions = {
  /**
   * Names of people in addition to the authors of the turns, whom the turns may mention. With them, the facts of a turn
   * do not depend on the authors of the other turns. Default: none.
   */
  people?: readonly string[]
  signal?: AbortSignal | undefined
}

/** Finds facts in turns. Every extractor passes test/contract/fact-extractor.ts. */
export type FactExtractor = {
  /** Identifies the method and its version, or the model. */
  readonly name: string
  /**
   * Returns facts in the order of the turns, at most MAX_FACTS_PER_TURN per turn. Each text is a single line, not empty
   * and at most MAX_TEXT_LENGTHS long. Questions, hypotheses and quotations yield no facts.
   * @throws CallFailed, or the signal's reason after an abort
   */
  extract(turns: readonly ExtractorTurn[], options?: ExtractOptions): Promise<{ facts: ExtractedFact[] }>
  /** Ends running calls. Later calls of `extract` reject. Idempotent. */
  close(): Promise<void>
}

/** Maximum number of facts per turn. Further facts are dropped, so that no turn can fill the store with facts. */
export const MAX_FACTS_PER_TURN = 16
/** Maximum lengths of a fact's texts, in UTF-16 units. Longer facts are dropped. @internal Exported for tests. */
export const MAX_TEXT_LENGTHS = { subject: 200, predicate: 200, object: 500 } as const

/** Returns the fact, without a period that ends before it begins. */
const withPeriod = (fact: ExtractedFact): ExtractedFact =>
  fact.validFrom && fact.validTo && fact.validFrom >= fact.validTo ? { ...fact, validFrom: null, validTo: null } : fact

/**
 * Returns the facts that satisfy the port's contract, in the order of the turns. Drops facts of other turns, duplicates
 * within a turn, facts that exceed a limit, and periods that end before they begin.
 */
export function keepValidFacts(facts: readonly ExtractedFact[], turns: readonly ExtractorTurn[]): ExtractedFact[] {
  const byTurn = new Map(turns.map(({ id }) => [id, new Map<string, ExtractedFact>()]))
  for (const fact of facts) {
    const accepted = byTurn.get(fact.turnId)
    const { subject, predicate, object } = fact
    const key = [subject, predicate, object].join('\n').toLowerCase()
    const fits =
      [subject, predicate, object].every((text) => text !== '')
      && subject.length <= MAX_TEXT_LENGTHS.subject
      && predicate.length <= MAX_TEXT_LENGTHS.predicate
      && object.length <= MAX_TEXT_LENGTHS.object
    if (accepted && fits && accepted.size < MAX_FACTS_PER_TURN && !accepted.has(key))
      accepted.set(key, withPeriod(fact))
  }
  return [...byTurn.values()].flatMap((accepted) => [...accepted.values()])
}
