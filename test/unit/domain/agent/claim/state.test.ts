// The decisions about claims, as tables: the existing claims, the request, and its outcome.

import { describe, expect, it } from 'vitest'
import {
  decideClaim,
  decideRelease,
  decideRenewal,
  scopeOf,
  slotOf,
} from '../../../../../src/domain/agent/claim/state.ts'
import type { ClaimState } from '../../../../../src/store/sql/agent/claim/claim-columns.ts'

/**
 * Parses a claim from "actor/token slot state". The slot is the actor, or "*" for scope TURN. A claim in the state
 * `expired` has expired but not ended yet; EXPIRED has ended.
 */
const claim = (written: string) => {
  const [, actor, tokenHash, slot, state] = /^(\w+)\/(\w+) (\*|\w+) (\w+)$/.exec(written)!
  const isOver = ['RELEASED', 'EXPIRED', 'ANSWERED'].includes(state!)
  return {
    actor: actor!,
    tokenHash: tokenHash!,
    slot: slot === '*' ? '' : slot!,
    state: state!.toUpperCase() as ClaimState,
    hasEnded: isOver,
    written,
  }
}

describe('decideClaim', () => {
  it.each<[request: string, claims: string[], outcome: string]>([
    // Free
    ['bot/t bot', [], 'granted'],
    ['bot/t *', [], 'granted'],
    // Held by the same token
    ['bot/t bot', ['bot/t bot HELD'], 'repeated'],
    ['bot/t *', ['bot/t * HELD'], 'repeated'],
    ['bot/t bot', ['bot/t bot ANSWERING'], 'repeated'],
    // Held by another token of the same participant, or by another participant
    ['bot/u bot', ['bot/t bot HELD'], 'refused bot/t bot HELD'],
    ['bot/u bot', ['bot/t bot ANSWERING'], 'refused bot/t bot ANSWERING'],
    ['bot/u *', ['bot/t * HELD'], 'refused bot/t * HELD'],
    ['eve/u *', ['bot/t * ANSWERING'], 'refused bot/t * ANSWERING'],
    ['eve/t *', ['bot/t * HELD'], 'refused bot/t * HELD'],
    // Scopes: AGENT excludes the same participant, TURN excludes all
    ['eve/u eve', ['bot/t bot HELD'], 'granted'],
    ['eve/u eve', ['bot/t bot ANSWERED'], 'granted'],
    ['eve/u *', ['bot/t bot HELD'], 'refused bot/t bot HELD'],
    ['eve/u eve', ['bot/t * HELD'], 'refused bot/t * HELD'],
    ['bot/t *', ['bot/t bot HELD'], 'refused bot/t bot HELD'],
    ['bot/t bot', ['bot/t * HELD'], 'refused bot/t * HELD'],
    // Answered with any token
    ['bot/t bot', ['bot/t bot ANSWERED'], 'refused bot/t bot ANSWERED'],
    ['bot/u bot', ['bot/t bot ANSWERED'], 'refused bot/t bot ANSWERED'],
    ['eve/u *', ['bot/t bot ANSWERED'], 'refused bot/t bot ANSWERED'],
    ['eve/u eve', ['bot/t * ANSWERED'], 'refused bot/t * ANSWERED'],
    ['bot/u bot', ['bot/t bot HELD', 'eve/x * ANSWERED'], 'refused eve/x * ANSWERED'],
    // Ended
    ['bot/u bot', ['bot/t bot RELEASED'], 'granted'],
    ['bot/t bot', ['bot/t bot RELEASED'], 'granted'],
    ['bot/u bot', ['bot/t bot EXPIRED'], 'granted'],
    // Expired and not ended yet: ended first, if it concerns the request
    ['bot/u bot', ['bot/t bot expired'], 'granted after bot/t bot expired'],
    ['bot/t bot', ['bot/t bot expired'], 'granted after bot/t bot expired'],
    ['eve/u *', ['bot/t bot expired', 'bot/t * expired'], 'granted after bot/t bot expired, bot/t * expired'],
    ['eve/u eve', ['bot/t bot expired'], 'granted'],
    // A run that continues replaces the claim that its agent holds in the same slot
    ['bot/run bot', ['bot/t bot HELD'], 'granted after bot/t bot HELD'],
    ['bot/run bot', ['bot/t bot HELD', 'eve/x eve HELD'], 'granted after bot/t bot HELD'],
    ['bot/run bot', ['bot/run bot HELD'], 'repeated'],
    ['bot/run bot', ['bot/t bot ANSWERING'], 'refused bot/t bot ANSWERING'],
    ['bot/run bot', ['bot/t bot ANSWERED'], 'refused bot/t bot ANSWERED'],
    ['bot/run bot', ['bot/t * HELD'], 'refused bot/t * HELD'],
    ['bot/run bot', ['bot/t bot HELD', 'eve/x * HELD'], 'refused eve/x * HELD'],
  ])('%s with %j: %s', (request, claims, outcome) => {
    const { actor, tokenHash, slot } = claim(`${request} HELD`)
    const decision = decideClaim(claims.map(claim), {
      actor,
      tokenHash,
      slot,
      replacesOwn: request.startsWith('bot/run '),
    })
    const shown =
      decision.outcome === 'refused'
        ? `refused ${decision.by.written}`
        : decision.outcome === 'granted' && decision.replaced.length > 0
          ? `granted after ${decision.replaced.map(({ written }) => written).join(', ')}`
          : decision.outcome
    expect(shown).toBe(outcome)
  })
})

const CHANGES: [claims: string[], renewal: string, release: string][] = [
  [[], 'refused', 'refused'],
  [['bot/u bot HELD'], 'refused', 'refused'],
  [['eve/t eve HELD'], 'refused', 'refused'],
  [['bot/t bot HELD'], 'extended', 'released as RELEASED'],
  [['bot/t * HELD'], 'extended', 'released as RELEASED'],
  [['bot/t bot ANSWERING'], 'kept', 'refused bot/t bot ANSWERING'],
  [['bot/t bot ANSWERED'], 'refused bot/t bot ANSWERED', 'refused bot/t bot ANSWERED'],
  [['bot/t bot RELEASED'], 'refused bot/t bot RELEASED', 'repeated'],
  [['bot/t bot EXPIRED'], 'refused bot/t bot EXPIRED', 'repeated'],
  [['bot/t bot expired'], 'refused bot/t bot expired', 'released as EXPIRED'],
  [['bot/t * RELEASED', 'bot/t bot HELD'], 'extended', 'released as RELEASED'],
]

describe('a change of a claim by its token', () => {
  it.each(CHANGES)('with %j: renewal %s, release %s', (claims, renewal, release) => {
    const claimant = { actor: 'bot', tokenHash: 't' }
    const renewed = decideRenewal(claims.map(claim), claimant)
    const refused = (by: { written: string } | null) => (by ? `refused ${by.written}` : 'refused')
    expect(renewed.outcome === 'refused' ? refused(renewed.claim) : renewed.outcome).toBe(renewal)
    const released = decideRelease(claims.map(claim), claimant)
    const shown = released.outcome === 'released' ? `released as ${released.as}` : released.outcome
    expect(released.outcome === 'refused' ? refused(released.claim) : shown).toBe(release)
  })
})

it('the slot of a claim corresponds to its scope', () => {
  expect([slotOf('AGENT', 'bot'), slotOf('TURN', 'bot')]).toEqual(['bot', ''])
  expect([scopeOf('bot'), scopeOf('')]).toEqual(['AGENT', 'TURN'])
})
