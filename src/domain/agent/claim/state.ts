// The states of a claim, as a pure state machine. A claim is the right of one process of a participant to answer a
// turn. claim.ts applies the machine under the lock of the conversation; the SQL functions claim_fault, answer_claims
// and close_turn implement the transitions by answers. test/unit/domain/agent/claim/state.test.ts covers every transition. In the
// table, "···" is a case that cannot occur; the commit and the abort are those of a streaming turn that answers.
//
//              renew       release      expire     answer by a turn    its commit   its abort
//   HELD       HELD        RELEASED     EXPIRED    ANSWERING/ANSWERED  ···          ···
//   ANSWERING  ANSWERING   (refused)    ···        (refused)           ANSWERED     RELEASED
//   ANSWERED   (refused)   (refused)    ···        (refused)           ···          ···
//   RELEASED   (refused)   RELEASED     ···        (refused)           ···          ···
//   EXPIRED    (refused)   EXPIRED      ···        (refused)           ···          ···

import type { ClaimRow } from '../../../store/sql/agent/claim/claim-columns.ts'

/** AGENT: one process of the participant may answer. TURN: one process of one participant may answer. */
export const CLAIM_SCOPES = ['AGENT', 'TURN'] as const
export type ClaimScope = (typeof CLAIM_SCOPES)[number]

/** Returns the slot of a claim: a turn has at most one live claim for each slot. */
export const slotOf = (scope: ClaimScope, actor: string): string => (scope === 'AGENT' ? actor : '')

/** Returns the scope of the claims of a slot. */
export const scopeOf = (slot: string): ClaimScope => (slot === '' ? 'TURN' : 'AGENT')

type Claimant = { actor: string; tokenHash: string }
type Stored = Pick<ClaimRow, 'slot' | 'actor' | 'tokenHash' | 'state' | 'hasEnded'>

const isClaimOf = ({ actor, tokenHash }: Claimant, claim: Stored) =>
  claim.actor === actor && claim.tokenHash === tokenHash

/** Whether claims of these slots exclude each other. */
export const exclude = (a: string, b: string) => a === b || a === '' || b === ''

/** Whether the claim is live: it prevents other claims in the slots that exclude its own. */
export const isLive = ({ state }: Stored) => state === 'HELD' || state === 'ANSWERING'

export type ClaimDecision<C> =
  /** The same claim is live: nothing changes. */
  | { outcome: 'repeated'; claim: C }
  /** The claim is written after those in `replaced` are ended: expired claims, and HELD claims that it replaces. */
  | { outcome: 'granted'; replaced: C[] }
  /** Another claim is live, or the turn was answered with a claim. */
  | { outcome: 'refused'; by: C }

/**
 * Decides a call of claimTurn. A claim of scope TURN excludes all other claims on the turn. A claim of scope AGENT
 * excludes claims of the same participant and claims of scope TURN. An ANSWERED claim excludes the same claims
 * permanently. With `replacesOwn`, a HELD claim of the same participant in the same slot is replaced.
 */
export function decideClaim<C extends Stored>(
  claims: readonly C[],
  request: Claimant & { slot: string; replacesOwn?: boolean },
): ClaimDecision<C> {
  const relevant = claims.filter(({ slot }) => exclude(slot, request.slot))
  const answered = relevant.find(({ state }) => state === 'ANSWERED')
  if (answered) return { outcome: 'refused', by: answered }
  const live = relevant.filter(isLive)
  const own = live.find((claim) => claim.slot === request.slot && isClaimOf(request, claim))
  if (own) return { outcome: 'repeated', claim: own }
  const isReplaced = ({ slot, actor, state }: C) =>
    request.replacesOwn === true && slot === request.slot && actor === request.actor && state === 'HELD'
  const excluding = live.find((claim) => !isReplaced(claim))
  if (excluding) return { outcome: 'refused', by: excluding }
  const isOver = ({ state, hasEnded }: C) => state === 'EXPIRED' && !hasEnded
  return { outcome: 'granted', replaced: relevant.filter((claim) => isOver(claim) || isReplaced(claim)) }
}

/**
 * Returns the claim of the token, or null. If the token has claimed the turn in both scopes, returns the live claim, or
 * the first one if none is live.
 */
const ownOf = <C extends Stored>(claims: readonly C[], claimant: Claimant): C | null =>
  claims.find((claim) => isLive(claim) && isClaimOf(claimant, claim))
  ?? claims.find((claim) => isClaimOf(claimant, claim))
  ?? null

export type RenewDecision<C> =
  | { outcome: 'extended'; claim: C }
  /** A streaming turn keeps the claim: nothing changes. */
  | { outcome: 'kept'; claim: C }
  /** `claim` is null if the token has no claim on the turn, or another claim has replaced it. */
  | { outcome: 'refused'; claim: C | null }

/** Decides a call of renewClaim. */
export function decideRenewal<C extends Stored>(claims: readonly C[], claimant: Claimant): RenewDecision<C> {
  const claim = ownOf(claims, claimant)
  if (claim?.state === 'HELD') return { outcome: 'extended', claim }
  if (claim?.state === 'ANSWERING') return { outcome: 'kept', claim }
  return { outcome: 'refused', claim }
}

export type ReleaseDecision<C> =
  | { outcome: 'released'; claim: C; as: 'RELEASED' | 'EXPIRED' }
  /** The claim has ended without an answer: nothing changes. */
  | { outcome: 'repeated'; claim: C }
  | { outcome: 'refused'; claim: C | null }

/** Decides a call of releaseClaim. */
export function decideRelease<C extends Stored>(claims: readonly C[], claimant: Claimant): ReleaseDecision<C> {
  const claim = ownOf(claims, claimant)
  if (claim === null || claim.state === 'ANSWERING' || claim.state === 'ANSWERED') return { outcome: 'refused', claim }
  if (claim.hasEnded) return { outcome: 'repeated', claim }
  return { outcome: 'released', claim, as: claim.state === 'HELD' ? 'RELEASED' : 'EXPIRED' }
}
