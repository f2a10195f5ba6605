// What is known of a user, as text for a model: made from active facts alone, no model needed. The old profile is kept
// and only what is new is merged into it: each line is the wording of one fact, so what was superseded is found and
// struck. Deterministic; never over its budget; facts of little trust stand in it as quoted claims.

import { normaliseText, type Statement } from '../fact/content-hash.ts'
import { classify, type Section } from '../fact/predicate.ts'
import { BELIEVED } from '../fact/trust.ts'

export type ProfileFact = Statement & { observedAt: Date; contentHash: string; trust: number }

type ProfileChange = {
  /** The user's id and names: a fact of one of these subjects is told without its subject. */
  names: readonly string[]
  /** The profile as it was made last; null for none. */
  previous: string | null
  /** Active facts that are not in it yet. Those that are do no harm. */
  added: readonly ProfileFact[]
  /** Facts superseded, retracted or erased since. */
  removed: readonly Statement[]
}

type ProfileBudget = { maxTokens: number; count(text: string): number | Promise<number> }

const TITLES: [Section, string][] = [
  ['ABOUT', 'About'],
  ['PREFERENCES', 'Preferences'],
  ['WORK', 'Work'],
  ['ENVIRONMENT', 'Environment'],
  ['CONSTRAINTS', 'Constraints'],
  ['OTHER', 'Other'],
]
const titleOf = new Map(TITLES)

/** UTF-16 units of a line: one fact must not fill the profile. */
const LONGEST_LINE = 300

/** Who said it is not known for sure, or not to be believed. */
const CLAIM = 'Somebody claims: '

/** The wording of a fact on a line, without its dash. */
function wording({ subject, predicate, object }: Statement, names: ReadonlySet<string>): string {
  const isOwn = names.has(normaliseText(subject).toLowerCase())
  const whole = normaliseText(isOwn ? `${predicate} ${object}` : `${subject} ${predicate} ${object}`)
  return whole.length > LONGEST_LINE ? `${whole.slice(0, LONGEST_LINE - 1).toWellFormed()}…` : whole
}

const claimed = (text: string) => `${CLAIM}"${text.replaceAll('"', "'")}"`

/** What a line says, whoever says it: as a claim and as a fact it is told once. */
const keyOf = (line: string) =>
  (line.startsWith(CLAIM) ? line.slice(CLAIM.length + 1, -1) : line).replaceAll('"', "'").toLowerCase()

/** Family, pets and the like: no row of the table of predicates, but who somebody is. */
const HAS = /^has (?:a|an|one|two|three|four|five)\b/i

/** What is said of others is no preference or constraint of the user's. */
function sectionOf({ subject, predicate }: Statement, names: ReadonlySet<string>): Section {
  if (!names.has(normaliseText(subject).toLowerCase())) return 'OTHER'
  const { section } = classify(predicate)
  return section === 'OTHER' && HAS.test(predicate) ? 'ABOUT' : section
}

/** Newer first; of one time the more trusted, then by hash. */
const byNewness = (a: ProfileFact, b: ProfileFact) =>
  b.observedAt.getTime() - a.observedAt.getTime() || b.trust - a.trust || (a.contentHash < b.contentHash ? -1 : 1)

/** The lines of a profile by its sections' titles. What is no section of ours was not made here, and is dropped. */
function readLines(profile: string | null): Map<string, string[]> {
  const lines = new Map<string, string[]>(TITLES.map(([, title]) => [title, []]))
  let section: string[] | undefined
  for (const line of profile?.split('\n') ?? []) {
    if (line.startsWith('- ')) section?.push(line.slice(2))
    else section = lines.get(line.replace(/^## /, ''))
  }
  return lines
}

const render = (lines: ReadonlyMap<string, readonly string[]>) =>
  [...lines]
    .filter(([, own]) => own.length > 0)
    .map(([title, own]) => `## ${title}\n${own.map((line) => `- ${line}`).join('\n')}`)
    .join('\n\n')

/**
 * The new profile; empty where nothing is known, or nothing fits. In each section the newest stands first. What is too
 * much is left out from the end of the longest section, one line at a time, "Other" before all.
 */
export async function mergeProfile(change: ProfileChange, { maxTokens, count }: ProfileBudget): Promise<string> {
  const names = new Set(change.names.map((name) => normaliseText(name).toLowerCase()))
  const lines = readLines(change.previous)
  const gone = new Set(
    change.removed.flatMap((fact) => {
      const text = wording(fact, names)
      return [text, claimed(text)]
    }),
  )
  const fresh = new Map<string, string[]>(TITLES.map(([, title]) => [title, []]))
  const told = new Set<string>()
  for (const fact of [...change.added].sort(byNewness)) {
    const text = wording(fact, names)
    if (told.has(keyOf(text))) continue
    told.add(keyOf(text))
    fresh.get(titleOf.get(sectionOf(fact, names))!)!.push(fact.trust >= BELIEVED ? text : claimed(text))
  }
  const merged = new Map(
    TITLES.map(([, title]) => {
      const old = lines.get(title)!.filter((line) => !gone.has(line) && !told.has(keyOf(line)))
      return [title, [...fresh.get(title)!, ...old]] as [string, string[]]
    }),
  )
  return fit(merged, { maxTokens, count })
}

/** Leaves lines out until the budget holds. Counts each time only where few are left to leave out. */
async function fit(lines: Map<string, string[]>, { maxTokens, count }: ProfileBudget): Promise<string> {
  for (;;) {
    const text = render(lines)
    const tokens = text === '' ? 0 : await count(text)
    if (tokens <= maxTokens) return text
    const total = [...lines.values()].reduce((sum, own) => sum + own.length, 0)
    // In proportion to what is too much, less a little: then one by one.
    let surplus = Math.max(1, Math.floor(total * (1 - maxTokens / tokens) * 0.8))
    for (; surplus > 0; surplus--) {
      const other = lines.get('Other')!
      const longest =
        other.length > 0 ? other : [...lines.values()].reduce((most, own) => (own.length > most.length ? own : most))
      longest.pop()
    }
  }
}
