// Finds facts that a context need not repeat, because it contains their statement already: in a profile, in a turn or a
// summary, or in another fact. Pure. Compares words, so that case and punctuation do not matter.

import type { QuotedFact } from '../quote.ts'

/** Manifest reasons for facts that the context contains already. Their omission does not make a context truncated. */
export const REPEATED = {
  profile: 'already in a profile of the context',
  turn: 'already in the context: its source turn says so',
  summary: 'already in a summary of the context',
  fact: 'already in the context: another fact says the same',
} as const
export type Repetition = keyof typeof REPEATED

/** What a context contains besides facts. */
export type Contained = {
  /** Texts of the profiles by the ids of their users. */
  profiles: ReadonlyMap<string, string>
  summaries: readonly string[]
  /** Returns the text of a turn that the context contains verbatim; undefined for other turns. */
  turnText(id: string): string | undefined
}

/** Returns the words of a text, in lower case, each between single spaces. */
const wordsOf = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{S}]+/gu, ' ')
    .trim()} `

/** Whether a fact's source turn, if its text is given, has the words of the fact's object in a row. */
export const containsStatement = (source: string | undefined, { object }: Pick<QuotedFact, 'object'>): boolean =>
  source !== undefined && wordsOf(source).includes(wordsOf(object))

/**
 * Returns a function that says where the context contains a fact already; null for nowhere. The function remembers each
 * fact for which it returns null.
 *
 * A profile contains a fact about its user if it has the words of the predicate and the object in a row. A turn contains
 * the facts made from it whose object it has word for word: a fact that says more than its turn, for example whom "he"
 * means, is no repetition.
 */
export function createFolding({ profiles, summaries, turnText }: Contained): (fact: QuotedFact) => Repetition | null {
  const inProfiles = new Map([...profiles].map(([user, text]) => [user, wordsOf(text)]))
  const inSummaries = summaries.map(wordsOf)
  const statements = new Set<string>()
  return ({ subject, predicate, object, userId, sourceTurnId }) => {
    const statement = wordsOf(`${subject} ${predicate} ${object}`)
    if (statements.has(statement)) return 'fact'
    if (userId !== null && inProfiles.get(userId)?.includes(wordsOf(`${predicate} ${object}`))) return 'profile'
    if (sourceTurnId !== null && containsStatement(turnText(sourceTurnId), { object })) return 'turn'
    if (inSummaries.some((text) => text.includes(statement))) return 'summary'
    statements.add(statement)
    return null
  }
}

/** Splits facts into those to include and the repetitions, which are grouped by where the context contains them. */
export function foldFacts(
  fold: (fact: QuotedFact) => Repetition | null,
  facts: readonly QuotedFact[],
): { kept: QuotedFact[]; repeated: Map<Repetition, QuotedFact[]> } {
  const kept: QuotedFact[] = []
  const repeated = new Map<Repetition, QuotedFact[]>()
  for (const fact of facts) {
    const where = fold(fact)
    if (where === null) kept.push(fact)
    else repeated.set(where, [...(repeated.get(where) ?? []), fact])
  }
  return { kept, repeated }
}
