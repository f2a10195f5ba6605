// Combines the profiles of several visibility sets into the one that a viewer gets, who sees all their facts. Profiles
// written by rules are written again from these facts, so that a statement occurs once, and of contradictory facts of
// different sets only the one that wins. Texts of a model are put one after the other. The result depends on nothing but
// the given profiles, their facts, and the moment.

import { readNames } from '../../../store/sql/memory/fact/read-active-facts.ts'
import { readFactRows } from '../../../store/sql/memory/fact/restored-facts.ts'
import type { ProfileOfSet } from '../../../store/sql/memory/profile/read-profiles.ts'
import { runStepsYielding } from '../../../runtime/yield.ts'
import { hadEnded } from '../fact/period.ts'
import { planSteps } from '../fact/reconcile/reconcile.ts'
import { trustOf, claimantOf } from '../fact/trust.ts'
import { subjectFor } from '../fact/user.ts'
import { membersOf } from '../fact/write.ts'
import type { Platform } from '../../kernel/platform.ts'
import { mergeProfile } from './merge.ts'

/** Maximum number of tokens of a combined profile. */
const COMBINED_TOKENS = 1_000
/** The `madeBy` of a profile written by rules. */
export const RULES = 'rules'

type Text = { content: string; tokenCount: number }
export type CombineDeps = Pick<Platform, 'clock' | 'db' | 'tokens'>

/** Writes one profile by rules from the facts of all profiles. */
async function fromFacts(
  { clock, db, tokens }: CombineDeps,
  tenant: string,
  profiles: readonly ProfileOfSet[],
): Promise<Text> {
  const { userId } = profiles[0]!
  const names = await namesOfUser(
    { db },
    tenant,
    userId,
    profiles.map(({ visibility }) => visibility),
  )
  const rows = await readFactRows(db.of(tenant), tenant, [...new Set(profiles.flatMap(({ madeOf }) => madeOf))])
  const now = new clock.Date()
  const facts = rows.filter((fact) => !hadEnded(fact, now))
  const aliases = new Map([[userId, names]])
  const { kept, merged } = await runStepsYielding(
    planSteps(
      facts.map((fact) => ({ ...fact, subject: subjectFor(fact, aliases), vector: null, trust: trustOf(fact) })),
    ),
  )
  const chosen = new Set([...kept, ...merged.map(({ into }) => into.from)])
  const added = facts
    .filter(({ id }) => chosen.has(id))
    .map((fact) => ({ ...fact, trust: trustOf(fact), claimedBy: claimantOf(fact) }))
  const budget = { maxTokens: COMBINED_TOKENS, count: tokens.count }
  const content = await mergeProfile({ names, previous: null, added, removed: [] }, budget)
  return { content, tokenCount: await tokens.count(content) }
}

/** Puts the texts one after the other, and leaves out those that would exceed COMBINED_TOKENS. */
async function ofTexts({ tokens }: CombineDeps, profiles: readonly ProfileOfSet[]): Promise<Text> {
  let text: Text = { content: '', tokenCount: 0 }
  for (const { content } of profiles) {
    const longer = text.content === '' ? content : `${text.content}\n\n${content}`
    const tokenCount = await tokens.count(longer)
    if (tokenCount <= COMBINED_TOKENS) text = { content: longer, tokenCount }
  }
  return text
}

/** Returns the combination of one user's profiles, at least one, in the order in which their texts are preferred. */
export async function combine(
  deps: CombineDeps,
  tenant: string,
  profiles: readonly ProfileOfSet[],
): Promise<{ userId: string; updatedAt: Date; madeOf: string[] } & Text> {
  const updatedAt = new Date(Math.max(...profiles.map((profile) => profile.updatedAt.getTime())))
  const { userId } = profiles[0]!
  const madeOf = [...new Set(profiles.flatMap((profile) => profile.madeOf))]
  const filled = profiles.filter(({ content }) => content.trim() !== '')
  const [only] = filled
  if (filled.length <= 1) {
    const { content, tokenCount } = only ?? profiles[0]!
    return { userId, updatedAt, madeOf, content, tokenCount }
  }
  const isByRules = filled.every(({ madeBy }) => madeBy === RULES)
  return {
    userId,
    updatedAt,
    madeOf,
    ...(isByRules ? await fromFacts(deps, tenant, filled) : await ofTexts(deps, filled)),
  }
}

/**
 * Returns the names by which a profile recognises facts whose subject is the user: its id, and its display names and their
 * first words in conversations that viewers of the sets see.
 */
export async function namesOfUser(
  { db }: Pick<Platform, 'db'>,
  tenant: string,
  userId: string,
  visibilities: readonly string[],
): Promise<string[]> {
  const members = visibilities.flatMap((visibility) => membersOf(visibility) ?? [])
  const displayNames = (await readNames(db, tenant, [userId], members)).get(userId) ?? []
  return [userId, ...displayNames.flatMap((each) => [each, each.split(' ')[0]!])]
}
