// Chooses the names of actors in a context, so that a model can distinguish them. A display name is free text: two
// participants may have the same one, or names that become equal when they are rendered.

import { createHash } from 'node:crypto'
import { openAiName } from '../../text/openai-name.ts'
import { oneLine } from './perspective.ts'

type Named = { actor: string; displayName: string | null }

/** Names of the messages that Colloquy itself writes. No actor gets any of these names. */
const RESERVED = ['profile', 'facts', 'summary', 'recall']

/** Returns the forms of a name that must differ from those of all other names: as text, and as OpenAI's `name`. */
const formsOf = (name: string): string[] => [
  `text ${name.normalize('NFKC').toLowerCase()}`,
  `name ${openAiName(name).toLowerCase()}`,
]

/** Matches an actor that can be appended to its display name as a readable suffix. */
const PLAIN = /^[\w-]{1,32}$/

const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** Returns the names to try for an actor, in order. The last one contains a digest of the actor, so it is unique. */
function candidatesOf({ actor, displayName }: Named): string[] {
  // The start of a long name is cut, because OpenAI's `name` is cut at 64 characters and must include the suffix.
  const name = oneLine(displayName ?? actor)
  const start = name.slice(0, 20).toWellFormed()
  return [name, ...(PLAIN.test(actor) ? [`${start} (${actor})`] : []), `${start} (${digest(actor)})`]
}

/**
 * Returns a one-line name for each actor: its display name or, without one, the actor itself. Actors whose names differ
 * only in case, width and punctuation get a suffix: "Ada (u-2)". Actors in `assigned` keep their name.
 */
export function distinctNames(
  people: readonly Named[],
  assigned: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const unassigned = [
    ...new Map(people.filter(({ actor }) => !assigned.has(actor)).map((each) => [each.actor, each])).values(),
  ]
  const choices = unassigned.map((each) => ({ actor: each.actor, candidates: candidatesOf(each), level: 0 }))
  const fixed = new Set([...RESERVED, ...assigned.values()].flatMap(formsOf))
  // Quotes from other conversations have the actor instead of a name, so no name may equal another actor.
  const actors = new Map(
    [...assigned.keys(), ...unassigned.map(({ actor }) => actor)].flatMap((a) => formsOf(a).map((f) => [f, a])),
  )
  for (let changed = true; changed;) {
    changed = false
    const uses = new Map<string, number>()
    const formsNow = choices.map(({ candidates, level }) => formsOf(candidates[level]!))
    for (const form of formsNow.flat()) uses.set(form, (uses.get(form) ?? 0) + 1)
    for (const [index, choice] of choices.entries()) {
      const isTaken = formsNow[index]!.some(
        (form) => fixed.has(form) || uses.get(form)! > 1 || (actors.get(form) ?? choice.actor) !== choice.actor,
      )
      if (!isTaken || choice.level === choice.candidates.length - 1) continue
      choice.level += 1
      changed = true
    }
  }
  return new Map([...assigned, ...choices.map(({ actor, candidates, level }) => [actor, candidates[level]!] as const)])
}
