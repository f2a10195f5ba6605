// Learns the short names of participants from how others address them: "Hey Mel!" to Melanie. Pure.

import { foldedName as fold, isPartOf, isShortFor } from '../../../../text/words/short-names.ts'
import type { Person } from '../user.ts'

/** The predicate of a fact that states another name of a user. */
export const GOES_BY = 'goes by'

const GREETINGS = `hey|hi|hiya|hello|yo|morning|thanks|thank you|thanks so much|thanks a lot|thx|ok|okay|sorry|bye|wow|
  congrats|congratulations|cheers|yes|no|good (?:morning|afternoon|evening|night)|happy birthday|love you|miss you|
  hola|gracias|ciao|grazie|salut|bonjour|merci|coucou|hallo|danke|moin|servus|olá|oi|obrigad[oa]|hoi|bedankt|
  привет|спасибо`.replaceAll(/\s*\n\s*/g, '')
const NAME = '(\\p{Lu}\\p{Ll}{2,})'
/** A name after a greeting, a name before a comma that begins a sentence, and one after a comma that ends the text. */
const ADDRESSES = [
  new RegExp(`(?<![\\p{L}\\p{N}])(?:${GREETINGS})[,!]?\\s+${NAME}(?![\\p{L}'’])`, 'giu'),
  new RegExp(`(?:^|[.!?…]\\s+)${NAME},`, 'gu'),
  new RegExp(`,\\s*${NAME}\\s*[.!?…]*\\s*$`, 'gu'),
]

/** Whether the name of an addressed person is short for the first name: also by another part of it than the beginning. */
const mayStandFor = (short: string, name: string) => isShortFor(short, name) || isPartOf(short, name)

/** Returns the names with which the text addresses somebody, in order, without repetitions. */
function addressed(text: string): string[] {
  const found = ADDRESSES.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name]) => name!))
  // The first pattern ignores case.
  return [...new Set(found.filter((name) => /^\p{Lu}/u.test(name)))]
}

/** A short name of a participant. */
export type Nickname = { actor: string; name: string }

const firstNameOf = ({ actor, displayName }: Person) => (displayName ?? actor).trim().split(/\s+/)[0]!

/**
 * Returns the short names by which a turn addresses others than its author. A name counts if it is short for the first
 * name of exactly one of them, and is no name of a participant.
 */
export function nicknamesIn(turn: { actor: string; text: string }, people: readonly Person[]): Nickname[] {
  const taken = new Set(people.flatMap((person) => [fold(person.actor), fold(firstNameOf(person))]))
  return addressed(turn.text).flatMap((name) => {
    if (taken.has(fold(name))) return []
    const [match, another] = people.filter((person) => mayStandFor(name, firstNameOf(person)))
    return match && !another && match.actor !== turn.actor ? [{ actor: match.actor, name }] : []
  })
}

/** A subject, or its possessor: "Mel" in "Mel's sister". */
const SUBJECT = /^(\p{L}+)(['’]s? .+)?$/u

/** Returns the subject with the participant's name in place of its short name. */
export function withoutNickname(subject: string, nicknames: readonly Nickname[], people: readonly Person[]): string {
  const [, name, rest = ''] = SUBJECT.exec(subject) ?? []
  if (name === undefined) return subject
  const actors = new Set(nicknames.filter((each) => fold(each.name) === fold(name)).map(({ actor }) => actor))
  const [person, another] = people.filter(({ actor }) => actors.has(actor))
  return person && !another ? `${person.displayName ?? person.actor}${rest}` : subject
}
