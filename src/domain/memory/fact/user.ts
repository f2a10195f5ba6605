// Finds the participant that is the subject of a statement, so that facts about one user belong together although they
// come from several conversations and authors, or use different names.

import { normaliseText } from './content-hash.ts'

/** A participant's actor and display name. */
export type Person = { actor: string; displayName: string | null }

/** Folds a name for comparison: normalised, in lower case. */
const fold = (text: string) => normaliseText(text).toLowerCase()

/** Returns a participant's names, folded: actor, display name, and the first word of the display name. */
const namesOf = ({ actor, displayName }: Person): string[] => {
  const whole = fold(displayName ?? '')
  const first = whole.split(' ')[0]!
  return [...new Set([fold(actor), whole, first].filter((each) => each !== ''))]
}

/** Captures the possessor: "Ada" in "Ada's sister". A fact about the sister belongs to Ada. */
const POSSESSOR = /^(.+?)['’]s? /u

/**
 * Returns the actor of the participant whose name is the subject ("Ada") or its possessor ("Ada's sister"). Null if no
 * participant or more than one has the name.
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
 * Returns the subject with which the fact is compared: the user's id if the subject is a name of the user, and the
 * subject itself otherwise.
 * @param names display names by user id
 */
export function subjectFor(
  { userId, subject }: { userId: string | null; subject: string },
  names: ReadonlyMap<string, readonly string[]>,
): string {
  if (userId === null) return subject
  const aliases = [null, ...(names.get(userId) ?? [])].flatMap((displayName) => namesOf({ actor: userId, displayName }))
  return aliases.includes(fold(subject)) ? userId : subject
}
