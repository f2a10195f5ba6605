// The offline extractor: rules over clauses, in English, no model and no network. It would rather miss a fact than make
// one up; what it says of a clause it says of that clause alone, so the same turn gives the same facts, always.

import { closedProvider } from '../ports/call-failed.ts'
import { acceptable, type ExtractedFact, type FactExtractor, type ToldTurn } from '../ports/fact-extractor.ts'
import { ACTIVITIES, NAMED_RELATIVE } from './activities.ts'
import { clausesOf, type Clause } from './clauses.ts'
import { eventOf } from './events.ts'
import { properName, thing } from './objects.ts'
import { OF_KIN, RELATIVE_NAMED, RULES } from './patterns.ts'
import type { Rule, Told } from './rule.ts'
import { VALUES } from './values.ts'
import { createYield } from '../../yield.ts'

/** A new number whenever other facts are found. */
const NAME = 'rules-2'

/** Of what is said of somebody else, less is sure. */
const HEARSAY = 0.7

/** Verbs of the third person, as the rules know them. */
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
        await yieldIfDue()
        signal?.throwIfAborted()
        if (closed) throw closedProvider('extractor', NAME)
        facts.push(...factsOf(turn, names))
      }
      signal?.throwIfAborted()
      if (closed) throw closedProvider('extractor', NAME)
      return { facts: acceptable(facts, turns) }
    },
    async close() {
      closed = true
    },
  }
}

/** What a tool returns is data: nobody said it. */
function factsOf(turn: ToldTurn, names: readonly string[]): ExtractedFact[] {
  const speaker = turn.displayName.trim() || turn.actor
  if (turn.kind === 'TOOL') return []
  const facts: ExtractedFact[] = []
  for (const clause of clausesOf(turn.text, turn.kind === 'HUMAN')) {
    const { subject, text } = inFirstPerson(clause.text, speaker, names)
    const sureness = subject === speaker ? 1 : HEARSAY
    let told = tellings({ ...clause, text }, subject, turn.at)
    const kin = told.length === 0 && subject === speaker ? ofKin(text, speaker) : null
    if (kin) {
      const said = tellings({ ...clause, text: kin.text }, kin.subject, turn.at).filter(({ object }) => object !== null)
      const ofThem = { subject: kin.subject, turnId: turn.id }
      facts.push(
        ...said.map(({ predicate, object, confidence }) => ({
          ...ofThem,
          predicate,
          object: object!,
          confidence: Math.round(confidence * 90) / 100,
        })),
      )
    }
    if (subject === speaker) told = [...told, ...relatives(clause.text, names)]
    if (told.length === 0 && clause.isToRemember) told = asked(clause.text, speaker)
    for (const { predicate, object, confidence } of told) {
      if (object === null) continue
      facts.push({
        subject,
        predicate,
        object: object.replace(/\s+/g, ' ').trim(),
        confidence: Math.round(confidence * sureness * 100) / 100,
        turnId: turn.id,
      })
    }
  }
  return facts
}

/** The clause as its subject would say it: "Ada lives in Rome" as "I live in Rome", of Ada, if she takes part. */
function inFirstPerson(text: string, speaker: string, names: readonly string[]): { subject: string; text: string } {
  for (const name of names) {
    const called = [name, name.split(' ')[0]!].find((each) => text.startsWith(each))
    if (!called) continue
    const rest = text.slice(called.length)
    const own = /^['’]s (?=\p{L}+ (?:\p{L}+ )?(?:is|are)\b)/u.exec(rest)
    if (own) return { subject: name, text: `my ${rest.slice(own[0].length)}` }
    const [, verb, more] = /^ (\S+)(.*)$/.exec(rest) ?? []
    const first = verb && Object.hasOwn(FIRST_PERSON, verb) ? FIRST_PERSON[verb] : undefined
    if (first) return { subject: name, text: first === 'am' ? `I'm${more}` : `I ${first}${more}` }
  }
  return { subject: speaker, text }
}

/** "My kids love the sea" as they would say it. */
function ofKin(text: string, speaker: string): { subject: string; text: string } | null {
  const [, kin, verb, more] = OF_KIN.exec(text) ?? []
  // "my" is the speaker's still: "my dad loves my sister".
  if (!kin || !verb || /\b(?:my|our|me|us)\b/i.test(more!)) return null
  const lower = verb.toLowerCase()
  const first = Object.hasOwn(FIRST_PERSON, lower) ? FIRST_PERSON[lower]! : lower
  const isBeing = first === 'am' || first === 'are'
  return { subject: `${speaker}'s ${kin.toLowerCase()}`, text: isBeing ? `I'm${more}` : `I ${first}${more}` }
}

/** What is said plainly; else what is told of a time; else what somebody is at, and what matters to them. */
function tellings(clause: Clause, name: string, at: Date): Told[] {
  const plain = firstOf(RULES, clause, name)
  if (plain.length > 0) return plain
  const event = eventOf(clause.text, name, at)
  return event && event.object !== null ? [event] : firstOf(OTHER_RULES, clause, name)
}
const OTHER_RULES = [...ACTIVITIES, ...VALUES]

/** What the first rule says that matches and finds something. */
function firstOf(rules: readonly Rule[], clause: Clause, name: string): Told[] {
  for (const [pattern, read] of rules) {
    const match = pattern.exec(clause.text)
    if (!match) continue
    const said = read(
      [...match].map((group) => group?.trim() ?? ''),
      { name, isGreeting: clause.isGreeting },
    )
    const list = (Array.isArray(said) ? said : [said]).filter((each): each is Told => !!each && each.object !== null)
    if (list.length > 0) return list
  }
  return []
}

/** "My sister Anna" has a name, whatever is said of her. One who takes part may be the one spoken to. */
function relatives(text: string, names: readonly string[]): Told[] {
  const before = [...text.matchAll(NAMED_RELATIVE)].map(([, name, kin]) => ({ kin, found: properName(name!) }))
  const after = [...text.matchAll(RELATIVE_NAMED)].map(({ 0: whole, 1: kin, index }) => ({
    kin,
    found: properName(text.slice(index + whole.length))?.split(' ')[0] ?? null,
  }))
  return [...before, ...after].flatMap(({ kin, found }) => {
    if (found === null || names.some((name) => name.split(' ')[0] === found)) return []
    return [{ predicate: `has a ${kin!.toLowerCase()} named`, object: found, confidence: 0.85 }]
  })
}

/** What no rule understands, and somebody asked to be remembered. */
function asked(text: string, speaker: string): Told[] {
  const object = thing(text, speaker)
  return [{ predicate: 'wants remembered', object, confidence: 0.8 }]
}
