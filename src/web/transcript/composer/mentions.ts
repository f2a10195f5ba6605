// Completion of mentions in the text that a person writes. The functions are pure.

/** A participant that can be mentioned. */
type Mentionable = { actor: string; displayName: string | null }

/** The mention before the cursor: its first character, after the `@`, and what was typed of the name. */
type Typed = { start: number; text: string }

/** Maximum number of characters of a name that is completed. */
const MAX_TYPED = 40

/** Returns the mention that ends at the cursor; null if there is none. A mention follows a blank or the start. */
export function typedMention(text: string, cursor: number): Typed | null {
  const before = text.slice(Math.max(0, cursor - MAX_TYPED - 2), cursor)
  const [match, , typed] = /(^|[\s(])@("?[^\s@"]*)$/.exec(before) ?? []
  if (match === undefined) return null
  return { start: cursor - typed!.length, text: typed!.replace(/^"/, '') }
}

/** Returns the participants whose name begins with the text, or contains it, at most 8. */
export function completionsOf<Person extends Mentionable>(people: readonly Person[], typed: string): Person[] {
  const wanted = typed.toLowerCase()
  const rank = ({ actor, displayName }: Mentionable) => {
    const names = [actor, displayName ?? ''].map((name) => name.toLowerCase())
    if (names.some((name) => name.startsWith(wanted))) return 0
    return names.some((name) => name.includes(wanted)) ? 1 : 2
  }
  return people
    .filter((person) => rank(person) < 2)
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, 8)
}

/** Whether a name is valid without quotes after the `@`. */
const isPlain = (name: string) => /^[\p{L}\p{N}_-]+$/u.test(name)

/** Returns the text with the mention completed, and the place of the cursor after it. */
export function completed(text: string, cursor: number, { start }: Typed, actor: string) {
  const name = isPlain(actor) ? actor : `"${actor}"`
  const end = text.slice(cursor)
  const space = /^\s/.test(end) ? '' : ' '
  return { text: `${text.slice(0, start)}${name}${space}${end}`, cursor: start + name.length + 1 }
}
