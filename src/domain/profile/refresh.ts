// Refreshes user profiles: reconciles the facts about the user, then merges new facts into the previous profile and
// removes superseded facts. A profile contains only facts that every actor of the tenant may see. Erasing a fact
// deletes the profiles that contain it, so that the next refresh starts from the active facts alone.

import { z } from 'zod'
import { NotAllowed, NotFound } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import type { FactRow } from '../../store/sql/fact/fact-columns.ts'
import { readActiveFacts, readNames } from '../../store/sql/fact/read-active-facts.ts'
import { readProgressOf, advanceProfiling } from '../../store/sql/background/user-progress.ts'
import {
  readProfileRow,
  readSupersededAmong,
  writeProfile,
  type ProfileRow,
  type SupersededFact,
} from '../../store/sql/profile/write-profile.ts'
import { isKnownUser } from '../../store/sql/profile/is-known-user.ts'
import { withTransaction } from '../../store/tx.ts'
import type { Platform } from '../platform.ts'
import { isStated, trustOf, type Assertion } from '../fact/trust.ts'
import type { FactDeps } from '../fact/deps.ts'
import { reconcileAllDue } from '../fact/reconcile-due.ts'
import { reconcileFactsAbout } from '../fact/reconcile-facts.ts'
import { authorize, requirePermits, trusted } from '../authorize.ts'
import { askProvider } from '../ask-provider.ts'
import { between, name, parse } from '../input.ts'
import { runsDue } from '../automatic-thresholds.ts'
import type { Viewer } from '../view.ts'
import { mergeProfile } from './merge.ts'
import { getProfiles, type UserProfile } from './profile.ts'

/** Maximum number of tokens in a profile. */
const PROFILE_TOKENS = 500
/** Default number of active facts read, newest first. */
export const DEFAULT_FACTS = 200
/** Maximum number of active facts read. */
export const MAX_FACTS = 1000
/** Maximum number of attempts if the profile or its facts change concurrently. */
const ATTEMPTS = 10
/** The `madeBy` of a profile written by rules. */
const RULES = 'rules'

/** The input of a refresh. `removed` contains the facts of the previous profile that are now superseded. */
type Change = { previous: ProfileRow | null; active: FactRow[]; removed: SupersededFact[] }

/** Returns the author of a claim; null for a fact that is stated as true. */
const claimantOf = (fact: Assertion): string | null => (isStated(fact) ? null : (fact.assertedBy ?? 'somebody'))

/** Composes the new profile: by the profile writer if one is configured, otherwise by rules. @throws ProviderFailed */
async function compose(
  deps: Platform,
  tenant: string,
  userId: string,
  { previous, active, removed }: Change,
  signal?: AbortSignal,
): Promise<{ content: string; madeBy: string }> {
  const displayNames = (await readNames(deps.db, tenant, [userId], null)).get(userId) ?? []
  const names = [userId, ...displayNames.flatMap((each) => [each, each.split(' ')[0]!])]
  const { profileWriter } = deps.factServices
  const previousContent = previous?.content || null
  if (!profileWriter) {
    const content = await mergeProfile(
      {
        names,
        previous: previousContent,
        removed,
        added: active.map((fact) => ({ ...fact, trust: trustOf(fact), claimedBy: claimantOf(fact) })),
      },
      { maxTokens: PROFILE_TOKENS, count: deps.tokens.count },
    )
    return { content, madeBy: RULES }
  }
  const included = new Set(previous?.madeOf)
  const claims = new Set(previous?.claims)
  const added = active.filter((fact) => !included.has(fact.id) || claims.has(fact.id) === (claimantOf(fact) === null))
  // Do not call the model if nothing changed.
  if (previous && previous.madeBy === profileWriter.name && added.length + removed.length === 0) return previous
  const request = {
    userId,
    names,
    previous: previousContent,
    removed,
    maxTokens: PROFILE_TOKENS,
    added: added.map(({ subject, predicate, object, observedAt, ...fact }) => ({
      subject,
      predicate,
      object,
      observedAt: observedAt.toISOString(),
      claimedBy: claimantOf(fact),
    })),
  }
  const content = await askProvider(deps.log, 'write a profile', profileWriter.name, () =>
    profileWriter.write(request, signal),
  )
  return { content, madeBy: profileWriter.name }
}

/**
 * Composes and writes the profile, and runs `advance` in the same transaction as the write. If `advance` returns false,
 * rolls back and returns false.
 *
 * `limit` is the maximum number of facts read. Without a previous profile, at least DEFAULT_FACTS facts are read.
 * @throws ProviderFailed
 */
async function refresh(
  deps: Platform,
  tenant: string,
  userId: string,
  limit: number,
  advance: (tx: Tx) => Promise<boolean>,
  signal?: AbortSignal,
): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const previous = await readProfileRow(deps.db, tenant, userId)
    // Facts with an audience, and those of MEMBERS conversations, must not enter a profile.
    const active = await readActiveFacts(
      deps.db,
      { tenant, userId, conversationId: null, actor: null, visibility: '' },
      previous ? limit : Math.max(limit, DEFAULT_FACTS),
    )
    const removed = previous ? await readSupersededAmong(deps.db, tenant, previous.madeOf) : []
    const newProfile = await compose(deps, tenant, userId, { previous, active, removed }, signal)
    const removedIds = new Set(removed.map(({ id }) => id))
    const included = new Set([...(previous?.madeOf ?? []), ...active.map(({ id }) => id)])
    const madeOf = [...included].filter((id) => !removedIds.has(id))
    const tokenCount = await deps.tokens.count(newProfile.content)
    const read = new Map(active.map((fact) => [fact.id, fact]))
    const before = new Set(previous?.claims)
    // Facts of the previous profile beyond the limit were not read. They stay claims if they were claims before.
    const claims = madeOf.filter((id) => (read.has(id) ? claimantOf(read.get(id)!) !== null : before.has(id)))
    const result = await withTransaction(deps.db, tenant, async (tx) => {
      // Lock order: facts before the user's progress; see count-user-turns.ts.
      const written = await writeProfile(tx, tenant, userId, previous?.updatedAt ?? null, {
        ...newProfile,
        madeOf,
        claims,
        tokenCount,
      })
      if (!written) return 'changed'
      if (!(await advance(tx))) throw new AlreadyRun()
      return 'written'
    }).catch((error) => {
      if (error instanceof AlreadyRun) return 'alreadyRun'
      throw error
    })
    if (result !== 'changed') return result === 'written'
  }
  throw new Error(`the profile of a user changed concurrently in ${ATTEMPTS} attempts to refresh it`)
}

/** Thrown to roll back the transaction when `advance` returned false. */
class AlreadyRun extends Error {}

const refreshInput = z.object({ userId: name, recentK: between(1, MAX_FACTS).nullish() })
export type RefreshUserProfileInput = z.input<typeof refreshInput>

/**
 * Reconciles the facts about the user that the viewer sees. Then refreshes the profile from the newest active facts
 * that every actor of the tenant may see, and returns the profile. `recentK` is the number of facts; defaults to
 * DEFAULT_FACTS, at most MAX_FACTS.
 * @throws InvalidInput @throws ProviderFailed
 * @throws NotFound if the user was never a participant of a conversation of the tenant, and no fact that the viewer
 * sees is about the user
 * @throws NotAllowed if rights.ts denies the call; or if the viewer does not see all facts in the profile, which is
 * refreshed nevertheless
 */
export async function refreshUserProfile(
  deps: FactDeps,
  viewer: Viewer,
  input: RefreshUserProfileInput,
): Promise<UserProfile> {
  authorize(viewer, 'refreshUserProfile')
  const { userId, recentK } = parse(refreshInput, input)
  await requirePermits(
    deps.db.of(viewer.tenant),
    viewer,
    'refreshUserProfile',
    null,
    userId === viewer.actor ? [] : ['otherUser'],
  )
  if (!(await isKnownUser(deps.db, viewer, userId))) throw new NotFound('user', userId)
  await reconcileFactsAbout(deps, trusted(viewer), userId)
  await refresh(deps, viewer.tenant, userId, recentK ?? DEFAULT_FACTS, async () => true)
  const profile = (await getProfiles(deps, trusted(viewer), [userId])).get(userId)
  if (!profile) {
    throw new NotAllowed(
      'The profile was refreshed, but it contains facts that you do not see. Read it as an actor who sees them all.',
    )
  }
  return profile
}

/**
 * Runs one automatic refresh if one is due: one becomes due per `every` turns by the user, and whenever facts about the
 * user change. Reconciles the facts about the user first that are due. Returns false if none is due, or if another process ran it.
 * @throws ProviderFailed, or the signal's reason after an abort
 */
export async function refreshProfileDue(
  deps: FactDeps,
  tenant: string,
  userId: string,
  every: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const before = await readProgressOf(deps.db, tenant, userId)
  if (!before) return false
  const turns = runsDue(before.turns, before.profiledTurns, every) > 0 ? every : 0
  if (turns === 0 && before.factChanges <= before.profiledChanges) return false
  await reconcileAllDue(deps, { tenant, key: userId }, signal)
  // Changes of facts since `before` may be missing in this refresh, so they make the profile due again. This includes
  // changes by the reconciliation. The next refresh has nothing to reconcile, so the refreshes end.
  const changes = before.factChanges
  const advance = (tx: Tx) => advanceProfiling(tx, tenant, userId, before, { turns, changes })
  return refresh(deps, tenant, userId, DEFAULT_FACTS, advance, signal)
}
