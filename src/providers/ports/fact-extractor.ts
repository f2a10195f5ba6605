// The port to fact extractors: turns in, statements out. Each fact names the given turn that states it; others are
// dropped.

/** The fields of a turn that an extractor gets. */
export type ToldTurn = {
  id: string
  actor: string
  /** The name that "I" in the text refers to. */
  displayName: string
  kind: 'HUMAN' | 'AGENT' | 'TOOL'
  text: string
  at: Date
}

export type ExtractedFact = {
  subject: string
  predicate: string
  object: string
  /** 0 to 1. */
  confidence: number
  /** Id of one of the given turns. */
  turnId: string
}

export type ExtractOptions = {
  /** Names of further people whom the turns may be about, so that facts do not depend on which of them speak. */
  people?: readonly string[]
  signal?: AbortSignal | undefined
}

/** Finds facts in turns. Every extractor passes test/contract/fact-extractor.ts. */
export type FactExtractor = {
  /** The method and its version, or the model. */
  readonly name: string
  /**
   * Returns facts in the order of the turns, at most MOST_FACTS per turn. Each text is one line, not empty and at most
   * LONGEST_TEXT long. Questions, hypotheses and quotations state no facts.
   * @throws CallFailed, or the signal's reason after an abort
   */
  extract(turns: readonly ToldTurn[], options?: ExtractOptions): Promise<{ facts: ExtractedFact[] }>
  /** Ends running calls; afterwards, extract rejects. Idempotent. */
  close(): Promise<void>
}

/** Maximum number of facts per turn, the first ones, so that a single turn cannot flood the memory. */
export const MOST_FACTS = 16
/** Maximum lengths in UTF-16 units. */
export const LONGEST_TEXT = { subject: 200, predicate: 200, object: 500 } as const

/** Returns the facts that satisfy the port's contract: of given turns, in their order, without duplicates, capped. */
export function acceptable(facts: readonly ExtractedFact[], turns: readonly ToldTurn[]): ExtractedFact[] {
  const byTurn = new Map(turns.map(({ id }) => [id, new Map<string, ExtractedFact>()]))
  for (const fact of facts) {
    const own = byTurn.get(fact.turnId)
    const { subject, predicate, object } = fact
    const key = [subject, predicate, object].join('\n').toLowerCase()
    const fits =
      [subject, predicate, object].every((text) => text !== '')
      && subject.length <= LONGEST_TEXT.subject
      && predicate.length <= LONGEST_TEXT.predicate
      && object.length <= LONGEST_TEXT.object
    if (own && fits && own.size < MOST_FACTS && !own.has(key)) own.set(key, fact)
  }
  return [...byTurn.values()].flatMap((own) => [...own.values()])
}
