// Chooses the names of actors in a context, so that a model can distinguish them. A display name is free text: two
// participants may have the same one, or names that become equal when they are rendered.

import { createHash } from 'node:crypto'
import { openAiName } from '../../../providers/openai/chat-request.ts'
import { oneLine } from './perspective.ts'

type Named = { actor: string; displayName: string | null }

/** Returns the forms of a name that must differ from those of all other names: as text, and as OpenAI's `name`. */
const formsOf = (name: string): string[] => [
  `text ${name.normalize('NFKC').toLowerCase()}`,
  `name ${openAiName(name).toLowerCase()}`,
]

/** Names of the messages that Colloquy itself writes. No actor gets any of these names. */
const RESERVED = ['profile', 'facts', 'summary', 'state', 'recall'].flatMap(formsOf)

/** Matches an actor that can be appended to its display name as a readable suffix. */
const PLAIN = /^[\w-]{1,32}$/

const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** Generates the names to try for an actor, in order. The last one contains a digest of the actor, so it is unique. */
function* candidatesOf({ actor, displayName }: Named): Generator<string, void> {
  const name = oneLine(displayName ?? actor)
  yield name
  // Keep only the start of a long name: OpenAI's `name` is cut at 64 characters and must include the suffix.
  const start = name.slice(0, 20).toWellFormed()
  if (PLAIN.test(actor)) yield `${start} (${actor})`
  yield `${start} (${digest(actor)})`
}

/** A name that is tried for an actor, and the names to try next. */
type Choice = { actor: string; candidates: Generator<string, void>; name: string; forms: string[] }

/** Takes the next name; returns whether there was one. */
function advance(choice: Choice): boolean {
  const next = choice.candidates.next()
  if (next.done) return false
  Object.assign(choice, { name: next.value, forms: formsOf(next.value) })
  return true
}

/**
 * Returns a one-line name for each actor: its display name or, without one, the actor itself. Actors whose names differ
 * only in case, width or punctuation get a suffix: "Ada (u-2)". Actors in `assigned` keep their name.
 */
export function distinctNames(
  people: readonly Named[],
  assigned: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const unassigned = new Map(people.filter(({ actor }) => !assigned.has(actor)).map((each) => [each.actor, each]))
  const choices = [...unassigned.values()].map((each): Choice => {
    const choice = { actor: each.actor, candidates: candidatesOf(each), name: '', forms: [] }
    advance(choice)
    return choice
  })
  const fixed = new Set([...RESERVED, ...[...assigned.values()].flatMap(formsOf)])
  // Quotes from other conversations have the actor instead of a name, so no name may equal another actor.
  const actors = new Map(
    [...assigned.keys(), ...unassigned.keys()].flatMap((actor) => formsOf(actor).map((form) => [form, actor])),
  )
  for (let changed = true; changed;) {
    changed = false
    const uses = new Map<string, number>()
    for (const { forms } of choices) for (const form of forms) uses.set(form, (uses.get(form) ?? 0) + 1)
    for (const choice of choices) {
      const isTaken = choice.forms.some(
        (form) => fixed.has(form) || uses.get(form)! > 1 || (actors.get(form) ?? choice.actor) !== choice.actor,
      )
      if (isTaken && advance(choice)) changed = true
    }
  }
  return new Map([...assigned, ...choices.map(({ actor, name }) => [actor, name] as const)])
}
