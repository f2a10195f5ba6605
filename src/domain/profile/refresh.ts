// Refreshing what is known of a user: the old profile is merged with what is new, and what was superseded is struck.
// Only facts for everyone are in it. What was erased leaves nothing behind: then it is made anew.

import { z } from 'zod'
import { NotAllowed } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import type { FactRow } from '../../store/sql/fact/fact-columns.ts'
import { readActiveFacts, readNames } from '../../store/sql/fact/read-active-facts.ts'
import { readProgressOf, takeProfiling } from '../../store/sql/background/user-progress.ts'
import {
  readProfileRow,
  readSupersededAmong,
  writeProfile,
  type ProfileRow,
  type SupersededFact,
} from '../../store/sql/profile/write-profile.ts'
import { withTransaction } from '../../store/tx.ts'
import type { Platform } from '../platform.ts'
import { BELIEVED, TRUST } from '../fact/trust.ts'
import { askProvider } from '../ask-provider.ts'
import { between, name, parse } from '../input.ts'
import { runsDue } from '../automatic-thresholds.ts'
import type { Viewer } from '../view.ts'
import { mergeProfile } from './merge.ts'
import { getProfiles, type UserProfile } from './profile.ts'

/** Tokens of a profile, at most. */
const PROFILE_TOKENS = 500
/** The newest active facts that are looked at, unless another number is asked for, and at most. */
const RECENT = 200
const MOST = 1000
/** Attempts where the profile, or what it tells of, changes meanwhile. */
const ATTEMPTS = 10
/** What rules make goes by this name. */
const RULES = 'rules'

type Change = { previous: ProfileRow | null; active: FactRow[]; removed: SupersededFact[] }

/** The new profile, by the writer where there is one, else by rule; and who made it. @throws ProviderFailed */
async function write(
  deps: Platform,
  tenant: string,
  userId: string,
  { previous, active, removed }: Change,
  signal?: AbortSignal,
): Promise<{ content: string; madeBy: string }> {
  const called = (await readNames(deps.db, tenant, [userId])).get(userId) ?? []
  const names = [userId, ...called.flatMap((each) => [each, each.split(' ')[0]!])]
  const { profileWriter } = deps.factServices
  const before = previous?.content || null
  if (!profileWriter) {
    const content = await mergeProfile(
      { names, previous: before, removed, added: active.map((fact) => ({ ...fact, trust: TRUST[fact.saidBy] })) },
      { maxTokens: PROFILE_TOKENS, count: deps.tokens.count },
    )
    return { content, madeBy: RULES }
  }
  const told = new Set(previous?.madeOf)
  const added = active.filter(({ id }) => !told.has(id))
  // A model is asked only where there is something to say.
  if (previous && previous.madeBy === profileWriter.name && added.length + removed.length === 0) return previous
  const request = {
    userId,
    names,
    previous: before,
    removed,
    maxTokens: PROFILE_TOKENS,
    added: added.map(({ subject, predicate, object, observedAt, saidBy }) => ({
      subject,
      predicate,
      object,
      observedAt: observedAt.toISOString(),
      believed: TRUST[saidBy] >= BELIEVED,
    })),
  }
  const content = await askProvider(deps.log, 'write a profile', profileWriter.name, () =>
    profileWriter.write(request, signal),
  )
  return { content, madeBy: profileWriter.name }
}

/**
 * Makes the profile, together with what `take` does in its transaction; false where that says no.
 * @throws ProviderFailed
 */
async function make(
  deps: Platform,
  tenant: string,
  userId: string,
  recent: number,
  take: (tx: Tx) => Promise<boolean>,
  signal?: AbortSignal,
): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const previous = await readProfileRow(deps.db, tenant, userId)
    const rows = await readActiveFacts(
      deps.db,
      { tenant, userId, conversationId: null, actor: null },
      previous ? recent : Math.max(recent, RECENT),
    )
    // Of facts that not everybody sees, none.
    const active = rows.filter(({ visibility }) => visibility === '')
    const removed = previous ? await readSupersededAmong(deps.db, previous.madeOf) : []
    const made = await write(deps, tenant, userId, { previous, active, removed }, signal)
    const gone = new Set(removed.map(({ id }) => id))
    const known = new Set([...(previous?.madeOf ?? []), ...active.map(({ id }) => id)])
    const madeOf = [...known].filter((id) => !gone.has(id))
    const tokenCount = await deps.tokens.count(made.content)
    const done = await withTransaction(deps.db, async (tx) => {
      // Its facts are locked before the user's progress, as everywhere.
      const written = await writeProfile(tx, tenant, userId, previous?.updatedAt ?? null, {
        ...made,
        madeOf,
        tokenCount,
      })
      if (!written) return 'moved'
      if (!(await take(tx))) throw new Taken()
      return 'written'
    }).catch((error) => {
      if (error instanceof Taken) return 'taken'
      throw error
    })
    if (done !== 'moved') return done === 'written'
  }
  throw new Error(`the profile of a user changed ${ATTEMPTS} times while it was made`)
}

/** Rolls back: somebody else did it. */
class Taken extends Error {}

const refreshInput = z.object({ userId: name, recentK: between(1, MOST).nullish() })
export type RefreshUserProfileInput = z.input<typeof refreshInput>

/**
 * The profile, up to date with the user's `recentK` (200) newest active facts for everyone.
 * @throws InvalidInput @throws ProviderFailed
 * @throws NotAllowed for a viewer who does not see all the facts that it tells of
 */
export async function refreshUserProfile(
  deps: Platform,
  viewer: Viewer,
  input: RefreshUserProfileInput,
): Promise<UserProfile> {
  const { userId, recentK } = parse(refreshInput, input)
  await make(deps, viewer.tenant, userId, recentK ?? RECENT, async () => true)
  const profile = (await getProfiles(deps, viewer, [userId])).get(userId)
  if (!profile) {
    throw new NotAllowed('It was refreshed, but it tells of facts that you do not see: ask as somebody who does.')
  }
  return profile
}

/**
 * One automatic refreshing, where the user has said `every` turns more than the ones before account for. False where
 * not, or somebody else did it.
 * @throws ProviderFailed, or the reason of the signal
 */
export async function refreshProfileDue(
  deps: Platform,
  tenant: string,
  userId: string,
  every: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const progress = await readProgressOf(deps.db, tenant, userId)
  if (!progress || runsDue(progress.turns, progress.profiledTurns, every) === 0) return false
  return make(
    deps,
    tenant,
    userId,
    RECENT,
    (tx) => takeProfiling(tx, tenant, userId, progress.profiledTurns, every),
    signal,
  )
}
