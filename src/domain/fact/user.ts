// Whom a statement is about: the participant whom its subject names. So what is said of one user in several conversations comes
// together, whoever says it, and under whatever name.

import { normaliseText } from './content-hash.ts'

/** Somebody in a conversation, by the name they are called. */
export type Person = { actor: string; displayName: string | null }

const fold = (text: string) => normaliseText(text).toLowerCase()

/** What somebody may be called: by id, whole name, or its first word. */
const namesOf = ({ actor, displayName }: Person): string[] => {
  const whole = fold(displayName ?? '')
  const first = whole.split(' ')[0]!
  return [...new Set([fold(actor), whole, first].filter((each) => each !== ''))]
}

/** "Ada's sister" is about Ada. */
const OWNER = /^(.+?)['’]s? /u

/**
 * The actor of the participant whom the subject names, or whose relative or thing it names; null where that is nobody,
 * or more than one.
 */
export function userOf(subject: string, people: readonly Person[]): string | null {
  for (const called of [fold(subject), OWNER.exec(fold(subject))?.[1]]) {
    if (called === undefined) continue
    const exact = people.filter(
      ({ actor, displayName }) => called === fold(actor) || called === fold(displayName ?? ''),
    )
    const meant = exact.length > 0 ? exact : people.filter((person) => namesOf(person).includes(called))
    if (meant.length > 0) return meant.length === 1 ? meant[0]!.actor : null
  }
  return null
}

/**
 * The subject that a fact is compared by: all that a user is called is one. `names`: what users are called anywhere.
 */
export function subjectFor(
  { userId, subject }: { userId: string | null; subject: string },
  names: ReadonlyMap<string, readonly string[]>,
): string {
  if (userId === null) return subject
  const own = [null, ...(names.get(userId) ?? [])].flatMap((displayName) => namesOf({ actor: userId, displayName }))
  return own.includes(fold(subject)) ? userId : subject
}
