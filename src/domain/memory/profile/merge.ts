// Writes a user's profile by rules, without a model: merges new facts into the previous profile and removes superseded
// facts. Each line contains the wording of one fact, so the line of a superseded fact can be found and removed. The
// result is deterministic and never exceeds the token budget. Facts that other actors assert about the user appear as
// quoted claims.

import { normaliseText, type Statement } from '../fact/content-hash.ts'
import { classify, type Section } from '../fact/reconcile/predicate.ts'

export type ProfileFact = Statement & {
  observedAt: Date
  contentHash: string
  /** Trust level; a higher value is more trusted (fact/trust.ts). */
  trust: number
  /** The author of an unconfirmed claim; null for a fact that is stated as true. */
  claimedBy: string | null
}

type ProfileChange = {
  /** The user's id and names. A fact with one of them as its subject is written without the subject. */
  names: readonly string[]
  /** The previous profile; null for none. */
  previous: string | null
  /** Active facts to add. Facts already in the profile are not repeated. */
  added: readonly ProfileFact[]
  /** Facts superseded or retracted since the previous profile. Never contains erased facts (see profile-writer.ts). */
  removed: readonly Statement[]
}

type ProfileBudget = { maxTokens: number; count(text: string): number | Promise<number> }

/** The sections of a profile, in order, with their titles. */
const TITLES: [Section, string][] = [
  ['ABOUT', 'About'],
  ['PREFERENCES', 'Preferences'],
  ['WORK', 'Work'],
  ['ENVIRONMENT', 'Environment'],
  ['CONSTRAINTS', 'Constraints'],
  ['OTHER', 'Other'],
]
const titleOf = new Map(TITLES)

/** Maximum length of a line in UTF-16 units, so that one fact cannot fill the profile. */
const MAX_LINE_UNITS = 300

/** Matches the line of a claim, and captures its wording. */
const CLAIM = /^Claimed by "[^"]*": "(.*)"$/

/** Returns the line of a fact without the dash and the prefix of a claim. */
function wording({ subject, predicate, object }: Statement, names: ReadonlySet<string>): string {
  const isOwn = names.has(normaliseText(subject).toLowerCase())
  const whole = normaliseText(isOwn ? `${predicate} ${object}` : `${subject} ${predicate} ${object}`)
  return whole.length > MAX_LINE_UNITS ? `${whole.slice(0, MAX_LINE_UNITS - 1).toWellFormed()}…` : whole
}

const quoted = (text: string) => `"${text.replaceAll('"', "'")}"`
const claimed = (text: string, author: string) => `Claimed by ${quoted(normaliseText(author))}: ${quoted(text)}`

/** Returns a key that is equal for a line and for its form as a claim, so that only one of them is written. */
const keyOf = (line: string) => (CLAIM.exec(line)?.[1] ?? line).replaceAll('"', "'").toLowerCase()

/**
 * Matches predicates such as "has a sister" and "has two", which belong to ABOUT but are not in the predicate table.
 */
const HAS = /^has (?:a|an|one|two|three|four|five)\b/i

/**
 * Returns the profile section of a fact. Facts about other people belong to OTHER, because they are not the user's own
 * preferences or constraints.
 */
function sectionOf({ subject, predicate }: Statement, names: ReadonlySet<string>): Section {
  if (!names.has(normaliseText(subject).toLowerCase())) return 'OTHER'
  const { section } = classify(predicate)
  return section === 'OTHER' && HAS.test(predicate) ? 'ABOUT' : section
}

/** Orders facts newest first; at equal times, the more trusted first, then by hash. */
const byNewness = (a: ProfileFact, b: ProfileFact) =>
  b.observedAt.getTime() - a.observedAt.getTime() || b.trust - a.trust || (a.contentHash < b.contentHash ? -1 : 1)

/** Returns the lines of a profile by section title. Drops text outside the known sections. */
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
    .filter(([, section]) => section.length > 0)
    .map(([title, section]) => `## ${title}\n${section.map((line) => `- ${line}`).join('\n')}`)
    .join('\n\n')

/**
 * Returns the new profile; empty if there are no facts or none fits the budget. Each section starts with the added
 * facts, newest first. If the profile exceeds the budget, drops lines from the end of "Other" first, and then from the
 * end of the section with the most lines.
 */
export async function mergeProfile(change: ProfileChange, { maxTokens, count }: ProfileBudget): Promise<string> {
  const names = new Set(change.names.map((name) => normaliseText(name).toLowerCase()))
  const lines = readLines(change.previous)
  const removed = new Set(change.removed.map((fact) => keyOf(wording(fact, names))))
  const added = new Map<string, string[]>(TITLES.map(([, title]) => [title, []]))
  const addedKeys = new Set<string>()
  for (const fact of [...change.added].sort(byNewness)) {
    const text = wording(fact, names)
    if (addedKeys.has(keyOf(text))) continue
    addedKeys.add(keyOf(text))
    added
      .get(titleOf.get(sectionOf(fact, names))!)!
      .push(fact.claimedBy === null ? text : claimed(text, fact.claimedBy))
  }
  const merged = new Map(
    TITLES.map(([, title]) => {
      const old = lines.get(title)!.filter((line) => !removed.has(keyOf(line)) && !addedKeys.has(keyOf(line)))
      return [title, [...added.get(title)!, ...old]] as [string, string[]]
    }),
  )
  return fit(merged, { maxTokens, count })
}

/** Drops lines until the profile fits the budget. Drops several lines between token counts if it exceeds it by far. */
async function fit(lines: Map<string, string[]>, { maxTokens, count }: ProfileBudget): Promise<string> {
  for (;;) {
    const text = render(lines)
    const tokens = text === '' ? 0 : await count(text)
    if (tokens <= maxTokens) return text
    const total = [...lines.values()].reduce((sum, section) => sum + section.length, 0)
    // Drop at least one line, but fewer than the estimated surplus, because lines differ in length.
    let surplus = Math.max(1, Math.floor(total * (1 - maxTokens / tokens) * 0.8))
    for (; surplus > 0; surplus--) {
      const other = lines.get('Other')!
      const section =
        other.length > 0 ? other : [...lines.values()].reduce((most, each) => (each.length > most.length ? each : most))
      section.pop()
    }
  }
}
