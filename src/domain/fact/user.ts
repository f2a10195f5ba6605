// Resolves the subject of a statement to a participant, so that facts about one user are grouped across conversations,
// authors and names.

import { normaliseText } from './content-hash.ts'

/** A participant's actor and display name. */
export type Person = { actor: string; displayName: string | null }

/** Returns the form in which names are compared. */
const fold = (text: string) => normaliseText(text).toLowerCase()

/** Returns a participant's names, folded: actor, display name, and the first word of the display name. */
const namesOf = ({ actor, displayName }: Person): string[] => {
  const whole = fold(displayName ?? '')
  const first = whole.split(' ')[0]!
  return [...new Set([fold(actor), whole, first].filter((each) => each !== ''))]
}

/** Captures the possessor: "Ada's sister" is about Ada. */
const POSSESSOR = /^(.+?)['’]s? /u

/**
 * Returns the actor of the participant that the subject names, alone or as a possessor ("Ada's sister"); null if it
 * names none, or more than one.
 */
export function userOf(subject: string, people: readonly Person[]): string | null {
  for (const named of [fold(subject), POSSESSOR.exec(fold(subject))?.[1]]) {
    if (named === undefined) continue
    const exact = people.filter(({ actor, displayName }) => named === fold(actor) || named === fold(displayName ?? ''))
    const matches = exact.length > 0 ? exact : people.filter((person) => namesOf(person).includes(named))
    if (matches.length > 0) return matches.length === 1 ? matches[0]!.actor : null
  }
  return null
}

/**
 * Returns the subject used to compare facts: each name of a user becomes the user's id. `names`: display names by user
 * id, from all conversations.
 */
export function subjectFor(
  { userId, subject }: { userId: string | null; subject: string },
  names: ReadonlyMap<string, readonly string[]>,
): string {
  if (userId === null) return subject
  const aliases = [null, ...(names.get(userId) ?? [])].flatMap((displayName) => namesOf({ actor: userId, displayName }))
  return aliases.includes(fold(subject)) ? userId : subject
}
