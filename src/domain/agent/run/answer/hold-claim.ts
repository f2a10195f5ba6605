// Claims the turn that a run answers, in the name of the run's agent, and renews the claim while the run is executed. A
// waiting run has no claim, because the run itself excludes other claims.

import { randomBytes } from 'node:crypto'
import { every } from '../../../../runtime/clock.ts'
import { NotFound } from '../../../../errors.ts'
import type { RunRow } from '../../../../store/sql/agent/run/run-columns.ts'
import { claimTurn, releaseClaim, renewClaim } from '../../claim/claim.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { runLeaseSeconds } from '../state.ts'

export type HeldClaim = {
  token: string
  /** Ends the claim, unless the turn is answered. Never rejects. */
  release: () => Promise<void>
}

/**
 * Claims the turn for the agent, and renews the claim until it is released, or an answer ends it.
 * @param forRun id of a run that continues and claims the turn again; null for a new run
 * @throws Conflict if another claim excludes this one @throws NotFound @throws NotAllowed
 */
export async function holdClaim(
  deps: Platform,
  agent: Viewer,
  turnId: string,
  forRun: string | null = null,
): Promise<HeldClaim> {
  const claim = { turnId, claimToken: randomBytes(24).toString('base64url') }
  const ttlSeconds = Math.ceil(runLeaseSeconds(deps))
  await claimTurn(deps, agent, { ...claim, ttlSeconds }, forRun)
  const stopRenewing = every(deps.clock, (ttlSeconds * 1000) / 3, () => {
    // A renewal that takes long does not delay the next one.
    renewClaim(deps, agent, { ...claim, ttlSeconds }).catch(() => {})
  })
  return {
    token: claim.claimToken,
    async release() {
      void stopRenewing()
      // Refused if the turn is answered; if the database cannot be reached, the claim expires.
      await releaseClaim(deps, agent, claim).catch(() => {})
    },
  }
}

/**
 * Claims the turn again for a run that continues. Returns null if the turn did not wake up the agent, or was erased.
 * @throws Conflict if another claim excludes this one @throws NotAllowed if the agent has left
 */
export async function holdClaimAgain(deps: Platform, run: RunRow): Promise<HeldClaim | null> {
  const { tenant, actor, replyToId, id } = run
  if (replyToId === null) return null
  try {
    return await holdClaim(deps, { tenant, actor }, replyToId, id)
  } catch (error) {
    if (error instanceof NotFound) return null
    throw error
  }
}
