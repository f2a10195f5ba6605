// The built-in extractor: rules for English clauses, without a model or a network. In case of doubt, it extracts no
// fact. The facts of a turn depend only on the turn and on the names of people, not on the texts of other turns.

import { closedProvider } from '../ports/call-failed.ts'
import {
  keepValidFacts,
  MAX_FACTS_PER_TURN,
  type ExtractedFact,
  type FactExtractor,
  type ExtractorTurn,
} from '../ports/fact-extractor.ts'
import { clausesOf, type Clause } from './sentences/clauses.ts'
import { properName, thing } from './sentences/objects.ts'
import { NAMED_RELATIVE, RELATIVE_NAMED } from './mine.ts'
import { statementsOf } from './sentences/statements.ts'
import type { Statement } from './rule.ts'
import { subjectOf } from './sentences/subjects.ts'
import { tiesIn } from './sentences/ties.ts'
import { createYield } from '../../runtime/yield.ts'

/** Name of the extractor with its version. Increase the version with any change that affects the extracted facts. */
const NAME = 'rules-3'

export function createRulesExtractor(): FactExtractor {
  let closed = false
  return {
    name: NAME,
    async extract(turns, { people = [], signal } = {}) {
      const speakers = turns.map(({ displayName }) => displayName)
      const names = [...new Set([...people, ...speakers].map((name) => name.trim()).filter(Boolean))]
      const mentions = mentionsOf(names)
      const facts: ExtractedFact[] = []
      const yieldIfDue = createYield()
      for (const turn of turns) {
        let ofTurn: ExtractedFact[] = []
        // A turn may have thousands of clauses, so the loop yields between them.
        for (const ofClause of factsOf(turn, names, mentions)) {
          if (ofClause.length > 0) ofTurn = keepValidFacts([...ofTurn, ...ofClause], [turn])
          if (ofTurn.length >= MAX_FACTS_PER_TURN) break
          await yieldIfDue()
          signal?.throwIfAborted()
          if (closed) throw closedProvider('extractor', NAME)
        }
        facts.push(...ofTurn)
      }
      signal?.throwIfAborted()
      if (closed) throw closedProvider('extractor', NAME)
      return { facts }
    },
    async close() {
      closed = true
    },
  }
}

/** Matches a name, or its first word, at the beginning of a clause or after another word; null without names. */
function mentionsOf(names: readonly string[]): RegExp | null {
  const words = [...new Set(names.flatMap((name) => [name, name.split(' ')[0]!]))]
  return words.length === 0
    ? null
    : new RegExp(words.map((word) => word.replace(/[$(-+.?[-^{|}]/g, '\\$&')).join('|'), 'u')
}

/** Yields the facts of each clause of a turn. A tool's turn has none, because its text is data and not an assertion. */
function* factsOf(
  turn: ExtractorTurn,
  names: readonly string[],
  mentions: RegExp | null,
): Generator<ExtractedFact[], void> {
  if (turn.kind === 'TOOL') return
  for (const clause of clausesOf(turn.text, turn.kind === 'HUMAN', mentions)) {
    yield clause === null ? [] : factsOfClause(clause, turn, names)
  }
}

function factsOfClause(clause: Clause, turn: ExtractorTurn, names: readonly string[]): ExtractedFact[] {
  const speaker = turn.displayName.trim() || turn.actor
  const subject = subjectOf(clause.text, speaker, names)
  const factor = FACTORS[subject.kind]
  const statements = statementsOf({ ...clause, text: subject.text }, subject.owner, turn.at)
  const facts = statements.map((each) => factOf(each, subject.name, factor, turn.id))
  if (subject.kind !== 'PERSON')
    facts.push(...relatives(clause.text, names).map((each) => factOf(each, speaker, 1, turn.id)))
  if (facts.length === 0 && clause.isToRemember)
    facts.push(factOf(toRemember(clause.text, speaker), speaker, 1, turn.id))
  if (facts.length === 0) facts.push(...tiesIn(clause.text).map((each) => factOf(each, speaker, 1, turn.id)))
  return facts.filter(
    ({ subject: about, predicate, object }) => object !== '' && (object !== about || predicate === 'is named'),
  )
}

/** Factors for the confidence of a statement, by its subject. */
const FACTORS = { SPEAKER: 1, PERSON: 0.7, RELATIVE: 0.9 }

/** Returns the fact of a statement. Its object is '' if the statement has none. */
function factOf(given: Statement, subject: string, factor: number, turnId: string): ExtractedFact {
  const { predicate, object, confidence, validFrom, validTo } = given
  return {
    subject,
    predicate,
    object: (object ?? '').replace(/\s+/g, ' ').trim(),
    confidence: Math.round(confidence * factor * 100) / 100,
    turnId,
    ...(validFrom && { validFrom }),
    ...(validTo && { validTo }),
  }
}

/** Reads the names of relatives, as in "my sister Anna". Skips names of participants, who may be addressed. */
function relatives(text: string, names: readonly string[]): Statement[] {
  const before = [...text.matchAll(NAMED_RELATIVE)].map(([, name, relative]) => ({
    relative,
    found: properName(name!),
  }))
  const after = [...text.matchAll(RELATIVE_NAMED)].map(({ 0: whole, 1: relative, index }) => ({
    relative,
    found: properName(text.slice(index + whole.length))?.split(' ')[0] ?? null,
  }))
  return [...before, ...after].flatMap(({ relative, found }) => {
    if (found === null || names.some((name) => name.split(' ')[0] === found)) return []
    return [{ predicate: `has a ${relative!.toLowerCase()} named`, object: found, confidence: 0.85 }]
  })
}

/** Returns a statement for a clause that the speaker asks to remember and that no rule matches. */
const toRemember = (text: string, speaker: string): Statement => ({
  predicate: 'wants remembered',
  object: thing(text, speaker),
  confidence: 0.8,
})
