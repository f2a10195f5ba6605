// Refreshes user profiles: reconciles the facts about the user, then merges new facts into the previous profiles and
// removes superseded facts. Each profile contains the facts of one visibility set, and changes with them only. Erasing a
// fact deletes the profiles that contain it, so that the next refresh starts from the active facts alone.

import { z } from 'zod'
import { NotAllowed, NotFound } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import type { FactRow } from '../../../store/sql/memory/fact/fact-columns.ts'
import { readActiveFacts } from '../../../store/sql/memory/fact/read-active-facts.ts'
import {
  advanceChanges,
  advanceTurns,
  readDueSets,
  readTurnProgress,
  type ProfileSet,
} from '../../../store/sql/memory/profile/user-progress.ts'
import { readProfiles } from '../../../store/sql/memory/profile/read-profiles.ts'
import {
  deleteProfile,
  readProfileRow,
  readSetsSeen,
  readEndedAmong,
  writeProfile,
  type ProfileRow,
  type EndedFact,
} from '../../../store/sql/memory/profile/write-profile.ts'
import { isKnownUser } from '../../../store/sql/memory/profile/is-known-user.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import type { Platform } from '../../kernel/platform.ts'
import { hadEnded } from '../fact/period.ts'
import { trustOf, claimantOf } from '../fact/trust.ts'
import type { FactDeps } from '../fact/deps.ts'
import { reconcileAllDue } from '../fact/reconcile/reconcile-due.ts'
import { reconcileFactsAbout } from '../fact/reconcile/reconcile-facts.ts'
import { authorize, requirePermits, trusted } from '../../kernel/rights/authorize.ts'
import { askProvider } from '../../../providers/ports/call-failed.ts'
import { between, name, parse } from '../../kernel/input.ts'
import { runsDue } from '../../kernel/automatic-thresholds.ts'
import type { Viewer } from '../../kernel/view.ts'
import { RULES, namesOfUser } from './combine.ts'
import { mergeProfile } from './merge.ts'
import { getProfiles, MAX_SETS, type UserProfile } from './profile.ts'

/** Maximum number of tokens in the profile of one set. */
const PROFILE_TOKENS = 500
/** Default number of active facts read, newest first. */
export const DEFAULT_FACTS = 200
/** Maximum number of active facts read. */
export const MAX_FACTS = 1000
/** Maximum number of attempts if the profile or its facts change concurrently. */
const ATTEMPTS = 10

/** The input of a refresh. `removed` contains the facts of the previous profile that are superseded or have ended. */
type Change = { previous: ProfileRow | null; active: FactRow[]; removed: EndedFact[] }

/** Composes the new profile: by the profile writer if one is configured, otherwise by rules. @throws ProviderFailed */
async function compose(
  deps: Platform,
  { tenant, userId, visibility }: ProfileSet,
  { previous, active, removed }: Change,
  signal?: AbortSignal,
): Promise<{ content: string; madeBy: string }> {
  const names = await namesOfUser(deps, tenant, userId, [visibility])
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

type Refresh = {
  /** Maximum number of facts read. Without a previous profile, at least DEFAULT_FACTS facts are read. */
  limit: number
  /** Runs in the transaction that writes the profile, which is rolled back if it returns false. */
  advance: (tx: Tx) => Promise<boolean>
}

const isEqual = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((each, i) => each === b[i])

/**
 * Composes and writes the profile of the set. Does not write a profile that stays the same. A set without facts has no
 * profile, except the one whose facts everyone sees, which is then empty. Returns false if `advance` did.
 * @throws ProviderFailed
 */
async function refresh(
  deps: Platform,
  set: ProfileSet,
  { limit, advance }: Refresh,
  signal?: AbortSignal,
): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { tenant, userId, visibility } = set
    const previous = await readProfileRow(deps.db, set)
    const now = new deps.clock.Date()
    const rows = await readActiveFacts(
      deps.db,
      { tenant, userId, conversationId: null, actor: null, visibility },
      previous ? limit : Math.max(limit, DEFAULT_FACTS),
    )
    const active = rows.filter((fact) => !hadEnded(fact, now))
    const removed = previous ? await readEndedAmong(deps.db, tenant, previous.madeOf, now) : []
    const newProfile = await compose(deps, set, { previous, active, removed }, signal)
    const removedIds = new Set(removed.map(({ id }) => id))
    const included = new Set([...(previous?.madeOf ?? []), ...active.map(({ id }) => id)])
    const madeOf = [...included].filter((id) => !removedIds.has(id))
    const tokenCount = await deps.tokens.count(newProfile.content)
    const read = new Map(active.map((fact) => [fact.id, fact]))
    const before = new Set(previous?.claims)
    // Facts of the previous profile beyond the limit were not read. They stay claims if they were claims before.
    const claims = madeOf.filter((id) => (read.has(id) ? claimantOf(read.get(id)!) !== null : before.has(id)))
    const write = async (tx: Tx) => {
      if (visibility !== '' && madeOf.length === 0) return deleteProfile(tx, set, previous?.updatedAt ?? null)
      const isSame =
        previous?.content === newProfile.content
        && previous.madeBy === newProfile.madeBy
        && isEqual(previous.madeOf, madeOf)
        && isEqual(previous.claims, claims)
      if (isSame) return true
      const written = { content: newProfile.content, madeBy: newProfile.madeBy, madeOf, claims, tokenCount }
      return writeProfile(tx, set, previous?.updatedAt ?? null, written)
    }
    const result = await withTransaction(deps.db, tenant, async (tx) => {
      // Lock order: facts before the user's progress; see count-user-turns.ts.
      if (!(await write(tx))) return 'changed'
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

/** The sets whose profiles a refresh on demand writes: those of the facts and profiles that the viewer sees. */
async function setsSeen(deps: FactDeps, viewer: Viewer, userId: string): Promise<ProfileSet[]> {
  const profiles = await readProfiles(deps.db, [viewer], [userId], MAX_SETS)
  const visibilities = new Set([
    '',
    ...(await readSetsSeen(deps.db, viewer, userId, MAX_SETS)),
    ...profiles.map(({ visibility }) => visibility),
  ])
  return [...visibilities].map((visibility) => ({ tenant: viewer.tenant, userId, visibility }))
}

/**
 * Reconciles the facts about the user that the viewer sees. Then refreshes the profiles of the visibility sets of these
 * facts, at most MAX_SETS, those with the newest facts first, from the newest active facts of each; and returns the
 * profile that the viewer gets. `recentK` is the number of facts of each set; defaults to DEFAULT_FACTS, at most
 * MAX_FACTS.
 * @throws InvalidInput @throws ProviderFailed
 * @throws NotFound if the user was never a participant of a conversation of the tenant, and no fact that the viewer
 * sees is about the user
 * @throws NotAllowed if rights.ts denies the call; or if the viewer sees all facts of none of the profiles, which are
 * refreshed nevertheless
 */
export async function refreshUserProfile(
  deps: FactDeps,
  viewer: Viewer,
  input: RefreshUserProfileInput,
): Promise<UserProfile> {
  authorize(viewer, 'refreshUserProfile')
  const { userId, recentK } = parse(refreshInput, input)
  await requirePermits(deps.db.of(viewer.tenant), viewer, 'refreshUserProfile', {
    conversationId: null,
    conditions: userId === viewer.actor ? [] : ['otherUser'],
  })
  if (!(await isKnownUser(deps.db, viewer, userId))) throw new NotFound('user', userId)
  await reconcileFactsAbout(deps, trusted(viewer), userId)
  for (const set of await setsSeen(deps, viewer, userId)) {
    await refresh(deps, set, { limit: recentK ?? DEFAULT_FACTS, advance: async () => true })
  }
  const profile = (await getProfiles(deps, trusted(viewer), [userId])).get(userId)
  if (!profile) {
    throw new NotAllowed(
      'The profile was refreshed, but it contains facts that you do not see. Read it as an actor who sees them all.',
    )
  }
  return profile
}

/**
 * Runs one automatic refresh if one is due: one becomes due per `every` turns by the user, and for each visibility set
 * whose facts about the user change. Reconciles the facts about the user first that are due. Returns false if none is
 * due, or if another process ran it.
 * @throws ProviderFailed, or the signal's reason after an abort
 */
export async function refreshProfileDue(
  deps: FactDeps,
  { tenant, userId }: { tenant: string; userId: string },
  every: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const { turns, profiledTurns } = await readTurnProgress(deps.db, tenant, userId)
  const isTurn = runsDue(turns, profiledTurns, every) > 0
  // Changes of facts after this read may be missing in this refresh, so they make the profile due again. This includes
  // changes by the reconciliation. The next refresh has nothing to reconcile, so the refreshes end.
  const [changed] = await readDueSets(deps.db, tenant, userId, 1)
  if (!isTurn && !changed) return false
  await reconcileAllDue(deps, { tenant, key: userId }, signal)
  // The set that everyone sees comes first, and turns count for it.
  const set = { tenant, userId, visibility: isTurn ? '' : changed!.visibility }
  const advance = async (tx: Tx) => {
    if (isTurn && !(await advanceTurns(tx, set, profiledTurns, every))) return false
    return changed?.visibility !== set.visibility || advanceChanges(tx, set, changed)
  }
  return refresh(deps, set, { limit: DEFAULT_FACTS, advance }, signal)
}
