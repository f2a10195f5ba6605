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
import { ACTIVITIES, NAMED_RELATIVE } from './activities.ts'
import { clausesOf, type Clause } from './clauses.ts'
import { eventOf } from './events.ts'
import { properName, thing } from './objects.ts'
import { OF_RELATIVE, RELATIVE_NAMED, RULES } from './patterns.ts'
import type { Rule, Statement } from './rule.ts'
import { VALUES } from './values.ts'
import { createYield } from '../../yield.ts'

/** Name of the extractor with its version. Increase the version with any change that affects the extracted facts. */
const NAME = 'rules-2'

/** Factor for the confidence of a statement about another person. */
const OTHER_SUBJECT = 0.7

/** Verbs in the third person, with their form in the first person, which the rules match. */
const FIRST_PERSON: Record<string, string> = {
  lives: 'live',
  resides: 'reside',
  works: 'work',
  likes: 'like',
  loves: 'love',
  enjoys: 'enjoy',
  hates: 'hate',
  dislikes: 'dislike',
  prefers: 'prefer',
  speaks: 'speak',
  plays: 'play',
  owns: 'own',
  runs: 'run',
  drives: 'drive',
  studies: 'study',
  uses: 'use',
  collects: 'collect',
  is: 'am',
  was: 'was',
  has: 'have',
  "doesn't": "don't",
  does: 'do',
  moved: 'moved',
  got: 'got',
  joined: 'joined',
  quit: 'quit',
  left: 'left',
  grew: 'grew',
  decided: 'decided',
  no: 'no',
  used: 'used',
  graduated: 'graduated',
  went: 'went',
  bought: 'bought',
  adopted: 'adopted',
  visited: 'visited',
  volunteers: 'volunteer',
  comes: 'come',
  turned: 'turned',
  started: 'started',
  never: 'never',
  "can't": "can't",
}

export function createRulesExtractor(): FactExtractor {
  let closed = false
  return {
    name: NAME,
    async extract(turns, { people = [], signal } = {}) {
      const speakers = turns.map(({ displayName }) => displayName)
      const names = [...new Set([...people, ...speakers].map((name) => name.trim()).filter(Boolean))]
      const facts: ExtractedFact[] = []
      const yieldIfDue = createYield()
      for (const turn of turns) {
        let ofTurn: ExtractedFact[] = []
        // A turn may have thousands of clauses, so the loop yields between them.
        for (const ofClause of factsOf(turn, names)) {
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

/** Yields the facts of each clause of a turn. A tool's turn has none, because its text is data and not an assertion. */
function* factsOf(turn: ExtractorTurn, names: readonly string[]): Generator<ExtractedFact[], void> {
  if (turn.kind === 'TOOL') return
  for (const clause of clausesOf(turn.text, turn.kind === 'HUMAN')) {
    yield clause === null ? [] : factsOfClause(clause, turn, names)
  }
}

function factsOfClause(clause: Clause, turn: ExtractorTurn, names: readonly string[]): ExtractedFact[] {
  const speaker = turn.displayName.trim() || turn.actor
  const facts: ExtractedFact[] = []
  const { subject, text } = inFirstPerson(clause.text, speaker, names)
  const certainty = subject === speaker ? 1 : OTHER_SUBJECT
  let statements = statementsOf({ ...clause, text }, subject, turn.at)
  const relative = statements.length === 0 && subject === speaker ? ofRelative(text, speaker) : null
  if (relative) {
    const relativeStatements = statementsOf({ ...clause, text: relative.text }, relative.subject, turn.at).filter(
      ({ object }) => object !== null,
    )
    facts.push(
      ...relativeStatements.map(({ predicate, object, confidence }) => ({
        subject: relative.subject,
        turnId: turn.id,
        predicate,
        object: object!,
        confidence: Math.round(confidence * 90) / 100,
      })),
    )
  }
  if (subject === speaker) statements = [...statements, ...relatives(clause.text, names)]
  if (statements.length === 0 && clause.isToRemember) statements = toRemember(clause.text, speaker)
  for (const { predicate, object, confidence } of statements) {
    if (object === null) continue
    facts.push({
      subject,
      predicate,
      object: object.replace(/\s+/g, ' ').trim(),
      confidence: Math.round(confidence * certainty * 100) / 100,
      turnId: turn.id,
    })
  }
  return facts
}

/**
 * Rewrites a clause about a participant in the first person: "Ada lives in Rome" as "I live in Rome" with subject Ada.
 */
function inFirstPerson(text: string, speaker: string, names: readonly string[]): { subject: string; text: string } {
  for (const name of names) {
    const matched = [name, name.split(' ')[0]!].find((each) => text.startsWith(each))
    if (!matched) continue
    const rest = text.slice(matched.length)
    const possessive = /^['’]s (?=\p{L}+ (?:\p{L}+ )?(?:is|are)\b)/u.exec(rest)
    if (possessive) return { subject: name, text: `my ${rest.slice(possessive[0].length)}` }
    const [, verb, more] = /^ (\S+)(.*)$/.exec(rest) ?? []
    const first = verb && Object.hasOwn(FIRST_PERSON, verb) ? FIRST_PERSON[verb] : undefined
    if (first) return { subject: name, text: first === 'am' ? `I'm${more}` : `I ${first}${more}` }
  }
  return { subject: speaker, text }
}

/** Rewrites "My kids love the sea" in the first person, with the kids as subject. Null for other clauses. */
function ofRelative(text: string, speaker: string): { subject: string; text: string } | null {
  const [, relative, verb, more] = OF_RELATIVE.exec(text) ?? []
  // In "my dad loves my sister", the second "my" still refers to the speaker.
  if (!relative || !verb || /\b(?:my|our|me|us)\b/i.test(more!)) return null
  const lower = verb.toLowerCase()
  const first = Object.hasOwn(FIRST_PERSON, lower) ? FIRST_PERSON[lower]! : lower
  const isBeing = first === 'am' || first === 'are'
  return { subject: `${speaker}'s ${relative.toLowerCase()}`, text: isBeing ? `I'm${more}` : `I ${first}${more}` }
}

/** Applies the rules to a clause in order: patterns.ts, then events.ts, then activities.ts and values.ts. */
function statementsOf(clause: Clause, name: string, at: Date): Statement[] {
  const plain = firstOf(RULES, clause, name)
  if (plain.length > 0) return plain
  const event = eventOf(clause.text, name, at)
  return event && event.object !== null ? [event] : firstOf(OTHER_RULES, clause, name)
}
const OTHER_RULES = [...ACTIVITIES, ...VALUES]

/** Returns the statements of the first rule that matches and returns any. */
function firstOf(rules: readonly Rule[], clause: Clause, name: string): Statement[] {
  for (const [pattern, read] of rules) {
    const match = pattern.exec(clause.text)
    if (!match) continue
    const statements = read(
      [...match].map((group) => group?.trim() ?? ''),
      { name, isGreeting: clause.isGreeting },
    )
    const list = (Array.isArray(statements) ? statements : [statements]).filter(
      (each): each is Statement => !!each && each.object !== null,
    )
    if (list.length > 0) return list
  }
  return []
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
function toRemember(text: string, speaker: string): Statement[] {
  const object = thing(text, speaker)
  return [{ predicate: 'wants remembered', object, confidence: 0.8 }]
}
