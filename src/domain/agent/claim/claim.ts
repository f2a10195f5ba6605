// Claims the right to answer a turn, so that exactly one of several agents, or of several processes of an agent,
// answers. The holder proves its claim by a token that it generates. It answers with appendTurn or openTurn and passes
// the token and `replyToId`; a streaming turn then keeps the claim until it ends. A claim applies to all versions of a
// turn. The database's clock determines when it expires. Only a hash of the token is stored.

import { z } from 'zod'
import { Conflict, NotFound } from '../../../errors.ts'
import type { ClaimRow } from '../../../store/sql/agent/claim/claim-columns.ts'
import { readExpiredClaims, readExpiredConversations } from '../../../store/sql/agent/claim/expired-claims.ts'
import { readClaimableTurn, type ClaimableTurn } from '../../../store/sql/agent/claim/read-claimable-turn.ts'
import { endClaim, endWakeUp, extendClaim, putClaim } from '../../../store/sql/agent/claim/claims.ts'
import type { Tx } from '../../../store/db/db.ts'
import { lockJournal, writeEntry } from '../../../store/sql/turn/journal/write-entry.ts'
import { withTransaction, type AfterCommit } from '../../../store/db/tx.ts'
import { authorize, isWithinReach, notParticipant } from '../../kernel/rights/authorize.ts'
import { between, id, parse } from '../../kernel/input.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import { claimNotHeld } from '../../turn/append/append-refusal.ts'
import type { Turn } from '../../turn/turn.ts'
import { hashOfWriter, writerToken } from '../../turn/append/turn-input.ts'
import type { Viewer } from '../../kernel/view.ts'
import {
  CLAIM_SCOPES,
  decideClaim,
  decideRelease,
  decideRenewal,
  exclude,
  isLive,
  scopeOf,
  slotOf,
  type ClaimScope,
} from './state.ts'

/** Range and default of `ttlSeconds`: the number of seconds after which a claim expires. */
export const CLAIM_TTL = { min: 1, max: 3600, default: 60 }

export type Claim = {
  /** Id of the first version of the turn. */
  turnId: string
  conversationId: string
  actor: string
  scope: ClaimScope
  /** Time at which the claim expires; null while a streaming turn keeps it. */
  expiresAt: Date | null
}

const ttlSeconds = between(CLAIM_TTL.min, CLAIM_TTL.max).nullish()

const claimTurnInput = z.object({
  turnId: id('turn'),
  scope: z.enum(CLAIM_SCOPES).nullish(),
  claimToken: writerToken,
  ttlSeconds,
})
export type ClaimTurnInput = z.input<typeof claimTurnInput>

const renewClaimInput = z.object({ turnId: id('turn'), claimToken: writerToken, ttlSeconds })
export type RenewClaimInput = z.input<typeof renewClaimInput>

const releaseClaimInput = z.object({ turnId: id('turn'), claimToken: writerToken, dismiss: z.boolean().nullish() })
export type ReleaseClaimInput = z.input<typeof releaseClaimInput>

/**
 * Claims the turn, given by the id of any version that the viewer sees. A repeated call with the same token returns the
 * live claim unchanged.
 * @param forRun id of the server's run for which its agent claims the turn that woke it up; null for none. Such a claim
 * replaces a live claim from an earlier part of the run, and is possible even if the agent replied without a claim.
 * @throws InvalidInput
 * @throws NotFound if the viewer does not see the version, or if `forRun` is not the run that answers the turn
 * @throws NotAllowed if the viewer is not in the conversation, or if rights.ts denies the call
 * @throws Conflict if the turn is not committed, if another claim is live, if a run of the server answers the turn, if
 * the turn was answered with a claim, or if the viewer answered it without one
 */
export async function claimTurn(
  deps: Platform,
  viewer: Viewer,
  input: ClaimTurnInput,
  forRun: string | null = null,
): Promise<Claim> {
  authorize(viewer, 'claimTurn')
  const { turnId, scope, claimToken, ttlSeconds: ttl } = parse(claimTurnInput, input)
  const claimant = { actor: viewer.actor, tokenHash: hashOfWriter(claimToken) }
  const slot = slotOf(scope ?? 'AGENT', viewer.actor)
  const decide = (turn: ClaimableTurn) => {
    const { runId, runActor } = turn
    if (forRun !== null && forRun !== runId) throw new NotFound('run', forRun)
    if (turn.status !== 'COMMITTED') throw notCommitted(turnId, turn.status)
    const decision = decideClaim(turn.claims, { ...claimant, slot, replacesOwn: forRun !== null })
    if (decision.outcome === 'refused') throw taken(turnId, decision.by)
    if (decision.outcome === 'repeated' || forRun !== null) return decision
    if (turn.isWakeUpOver) throw wakeUpOver(turnId, turn.wakeUpAnswerId, viewer.actor)
    if (runId !== null && exclude(slot, runActor!)) throw running(turnId, runId, runActor!)
    return decision
  }
  const apply = async (decision: ReturnType<typeof decide>, { tx, turn, record }: Locked) => {
    if (decision.outcome === 'repeated') return decision.claim
    for (const each of decision.replaced) {
      await endClaim(tx, each, each.state === 'HELD' ? 'RELEASED' : 'EXPIRED')
      await record('CLAIM_RELEASED', each.actor)
    }
    const { firstId, conversationId } = turn
    const written = await putClaim(tx, { ...claimant, turnId: firstId, slot, conversationId }, ttl ?? CLAIM_TTL.default)
    await record('CLAIMED', viewer.actor)
    return written
  }
  return change(deps, viewer, turnId, { decide, apply })
}

/**
 * Renews a claim: it expires `ttlSeconds` from now, by default CLAIM_TTL.default. A claim that a streaming turn keeps
 * is returned unchanged.
 * @throws InvalidInput @throws NotFound and NotAllowed in the same cases as `claimTurn`
 * @throws Conflict if the token has no live claim on the turn
 */
export async function renewClaim(deps: Platform, viewer: Viewer, input: RenewClaimInput): Promise<Claim> {
  authorize(viewer, 'renewClaim')
  const { turnId, claimToken, ttlSeconds: ttl } = parse(renewClaimInput, input)
  const decide = ({ claims }: ClaimableTurn) => {
    const decision = decideRenewal(claims, { actor: viewer.actor, tokenHash: hashOfWriter(claimToken) })
    if (decision.outcome === 'refused') throw notHeld(turnId, decision.claim)
    return decision
  }
  const apply = async ({ outcome, claim }: ReturnType<typeof decide>, { tx }: Locked) =>
    outcome === 'kept' ? claim : extendClaim(tx, claim, ttl ?? CLAIM_TTL.default)
  return change(deps, viewer, turnId, { decide, apply })
}

/**
 * Releases a claim, so that the inbox delivers the turn again. With `dismiss`, also ends the viewer's wake-up, because
 * the turn needs no answer from it; this is possible even if the claim was already released or has expired. A repeated
 * call changes nothing.
 * @throws InvalidInput @throws NotFound and NotAllowed in the same cases as `claimTurn`
 * @throws Conflict if the token has no claim on the turn, or if a turn answers or has answered with the claim; with
 * `dismiss`, also if the viewer has another live claim on the turn, or a run of the server answers it for the viewer
 */
export async function releaseClaim(deps: Platform, viewer: Viewer, input: ReleaseClaimInput): Promise<Claim> {
  authorize(viewer, 'releaseClaim')
  const { turnId, claimToken, dismiss } = parse(releaseClaimInput, input)
  const decide = ({ claims, runId, runActor }: ClaimableTurn) => {
    const decision = decideRelease(claims, { actor: viewer.actor, tokenHash: hashOfWriter(claimToken) })
    if (decision.outcome === 'refused') throw notHeld(turnId, decision.claim)
    const other = claims.find((claim) => claim !== decision.claim && claim.actor === viewer.actor && isLive(claim))
    if (dismiss && other) throw taken(turnId, other)
    if (dismiss && runActor === viewer.actor) throw running(turnId, runId!, runActor)
    return decision
  }
  const apply = async (decision: ReturnType<typeof decide>, { tx, turn, record }: Locked) => {
    if (decision.outcome === 'released') await endClaim(tx, decision.claim, decision.as)
    if (dismiss) await endWakeUp(tx, { turnId: turn.firstId, actor: viewer.actor })
    if (decision.outcome === 'released') await record('CLAIM_RELEASED', viewer.actor)
    return decision.claim
  }
  return change(deps, viewer, turnId, { decide, apply })
}

/** The parameters of `apply` in `change`. The transaction has locked the turn's conversation. */
type Locked = {
  tx: Tx
  turn: ClaimableTurn
  /** Writes an entry about the turn, which is announced after the commit. */
  record: (kind: 'CLAIMED' | 'CLAIM_RELEASED', actor: string) => Promise<void>
}

type Change<Decision> = {
  decide(turn: ClaimableTurn): Decision
  apply(decision: Decision, locked: Locked): Promise<ClaimRow>
}

/**
 * Changes a claim on the turn, and returns the claim. `decide` is called twice: first without a lock, so that calls
 * that it refuses do not wait for the lock; then under the conversation's lock, where `apply` carries out its decision.
 */
async function change<Decision>(
  deps: Platform,
  viewer: Viewer,
  turnId: string,
  { decide, apply }: Change<Decision>,
): Promise<Claim> {
  const { tenant } = viewer
  const { conversationId } = await readDecidable(deps.db.of(tenant), viewer, turnId, decide)
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    if (!(await lockJournal(tx, viewer, conversationId))) throw new NotFound('turn', turnId)
    const { turn, decision } = await readDecidable(tx, viewer, turnId, decide)
    const record = recorder(deps, tx, afterCommit, { tenant, conversationId, turnId: turn.firstId })
    return toClaim(await apply(decision, { tx, turn, record }))
  })
}

/** Reads the turn and decides the call. @throws NotFound @throws NotAllowed and the errors of `decide` */
async function readDecidable<Decision>(
  db: Tx,
  viewer: Viewer,
  turnId: string,
  decide: (turn: ClaimableTurn) => Decision,
): Promise<{ conversationId: string; turn: ClaimableTurn; decision: Decision }> {
  const turn = await readClaimableTurn(db, viewer, turnId)
  if (!turn || !isWithinReach(viewer, turn.conversationId)) throw new NotFound('turn', turnId)
  if (!turn.isPresent) throw notParticipant(viewer.actor)
  return { conversationId: turn.conversationId, turn, decision: decide(turn) }
}

const toClaim = ({ turnId, conversationId, slot, actor, state, expiresAt }: ClaimRow): Claim => ({
  turnId,
  conversationId,
  actor,
  scope: scopeOf(slot),
  expiresAt: state === 'ANSWERING' ? null : expiresAt,
})

/** Returns a function that writes entries about the turn, which are announced after the commit. */
function recorder(
  deps: Platform,
  tx: Tx,
  afterCommit: AfterCommit,
  { tenant, conversationId, turnId }: { tenant: string; conversationId: string; turnId: string },
): Locked['record'] {
  return async (kind, actor) => {
    const seq = await writeEntry(tx, conversationId, kind, { turnId, actor })
    afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: seq, last: seq }]))
  }
}

/** Returns the error for a wake-up that ended by a turn without a claim, or because the turn needs no answer. */
const wakeUpOver = (turnId: string, answerId: string | null, actor: string) =>
  answerId === null
    ? new Conflict(`${quoted(actor)} has dismissed turn ${turnId}: it needs no answer.`)
    : answered(turnId, answerId, actor)

/** Returns the error for a turn that a run of the server answers. The run may have no claim while it waits. */
const running = (turnId: string, runId: string, actor: string) =>
  new Conflict(
    `${quoted(actor)} answers turn ${turnId} by run ${runId}, which has not ended. Wait for it, or cancel it.`,
  )

const quoted = (actor: string) => JSON.stringify(actor)

const notCommitted = (turnId: string, status: Turn['status']) =>
  new Conflict(
    status === 'STREAMING'
      ? `Turn ${turnId} is still open. Claim it once it is committed.`
      : `Turn ${turnId} is ${status}, so there is nothing to answer.`,
  )

const answered = (turnId: string, answerId: string, actor: string) =>
  new Conflict(`Turn ${turnId} was already answered by turn ${answerId} of ${quoted(actor)}.`)

/** Returns the error for a turn that another claim prevents from being claimed. */
function taken(turnId: string, { actor, state, answerId, expiresAt }: ClaimRow): Conflict {
  if (state === 'ANSWERED') return answered(turnId, answerId!, actor)
  const until = state === 'ANSWERING' ? `while it writes turn ${answerId}` : `until ${expiresAt.toISOString()}`
  return new Conflict(
    `${quoted(actor)} has claimed turn ${turnId} ${until}. `
      + 'The inbox delivers it again if that claim ends without an answer.',
  )
}

/** Returns the error for a token without a live claim on the turn. `claim` is its former claim, or null. */
const notHeld = (turnId: string, claim: ClaimRow | null) =>
  claimNotHeld({ turnId, state: claim?.state ?? 'NONE', answerId: claim?.answerId ?? null })

/** Maximum number of conversations that the sweep reads at once, and of claims that one transaction ends. */
const SWEEP_BATCH = 100

/**
 * Ends all expired claims, so that the inbox delivers their turns again, and returns their number. Any number of
 * processes may run it.
 */
export async function endExpiredClaims(deps: Platform): Promise<number> {
  let count = 0
  for (;;) {
    const due = await readExpiredConversations(deps.db, SWEEP_BATCH)
    let ended = 0
    for (const { tenant, conversationId } of due) ended += await endExpiredIn(deps, tenant, conversationId)
    count += ended
    // If none was ended, another process has ended the claims, or their conversations were deleted.
    if (due.length < SWEEP_BATCH || ended === 0) return count
  }
}

async function endExpiredIn(deps: Platform, tenant: string, conversationId: string): Promise<number> {
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    if (!(await lockJournal(tx, { tenant, actor: null }, conversationId))) return 0
    const expired = await readExpiredClaims(tx, conversationId, SWEEP_BATCH)
    for (const claim of expired) {
      await endClaim(tx, claim, 'EXPIRED')
      await recorder(deps, tx, afterCommit, { tenant, conversationId, turnId: claim.turnId })(
        'CLAIM_RELEASED',
        claim.actor,
      )
    }
    return expired.length
  })
}
