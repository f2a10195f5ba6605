// The port to what extracts facts: turns in, statements out, each with the turn it was said in. It is given what was
// said, and invents nothing: whatever an extractor answers, each fact names a turn it was given.

/** A turn, as far as an extractor may know it. */
export type ToldTurn = {
  id: string
  actor: string
  /** Who "I" is, in what the turn says. */
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
  /** One of the turns that were given. */
  turnId: string
}

export type ExtractOptions = {
  /** Names of people who may be spoken of, besides the speakers: what is told does not hang on who speaks by chance. */
  people?: readonly string[]
  signal?: AbortSignal | undefined
}

/** Finds facts in turns. Every extractor passes test/contract/fact-extractor.ts. */
export type FactExtractor = {
  /** Says the method and its version, or the model. */
  readonly name: string
  /**
   * In the order of the turns; at most MOST_FACTS a turn, each text at most LONGEST_TEXT long, not empty, one line.
   * None where nothing is said for sure. Questions, hypotheses and quotations say nothing.
   * @throws CallFailed, or the reason of the signal that was aborted
   */
  extract(turns: readonly ToldTurn[], options?: ExtractOptions): Promise<{ facts: ExtractedFact[] }>
  /** Ends what runs; afterwards, extract rejects. May be called twice. */
  close(): Promise<void>
}

/** Facts of one turn that are taken, the first ones: nobody fills the memory with a single turn. */
export const MOST_FACTS = 16
/** UTF-16 units of a subject and of a predicate, and of an object. */
export const LONGEST_TEXT = { subject: 200, predicate: 200, object: 500 } as const

/** What of the facts an extractor may answer: of known turns, in their order, each once, capped. */
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
