// Random claims, renewals, releases, answers, streaming answers and expiries of claims on one turn, in both scopes, by
// two participants with two tokens each. Calls in sequence have the outcomes and the stored state of a model; of
// concurrent calls, at most one answers in each scope. FC_SEED repeats the scripts of a run.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { claimTurn, endExpiredClaims, releaseClaim, renewClaim } from '../../../../../src/domain/agent/claim/claim.ts'
import {
  decideClaim,
  decideRelease,
  decideRenewal,
  slotOf,
  type ClaimScope,
} from '../../../../../src/domain/agent/claim/state.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { hashOfWriter } from '../../../../../src/domain/turn/append/turn-input.ts'
import { DomainError } from '../../../../../src/errors.ts'
import type { ClaimState } from '../../../../../src/store/sql/agent/claim/claim-columns.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import { backends } from '../../../../support/backend.ts'
import { casesOf, isExhaustive } from '../../../../support/long.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

const seed = Number(process.env.FC_SEED ?? Math.floor(Math.random() * 2 ** 31))

type Who = { actor: string; token: string }
type Call = ({ do: 'claim'; scope: ClaimScope } & Who) | ({ do: 'renew' | 'release' | 'answer' | 'open' } & Who)
type Step = Call | { do: 'commit' | 'abort' | 'expire' | 'sweep' }

const who = {
  actor: fc.constantFrom('bot', 'eve'),
  token: fc.constantFrom('token-of-process-one', 'token-of-process-two'),
}
const scope = fc.constantFrom<ClaimScope>('AGENT', 'TURN')
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('claim' as const), scope, ...who }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('renew' as const, 'release' as const, 'answer' as const, 'open' as const, 'open' as const),
      ...who,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('commit' as const, 'abort' as const, 'expire' as const, 'sweep' as const),
    }),
  },
)

type ModelClaim = { slot: string; actor: string; tokenHash: string; state: ClaimState; hasEnded: boolean }

/** A model of the claims on one turn, and of the journal entries that they write. */
function createModel() {
  let claims: ModelClaim[] = []
  const entries: string[] = []
  const end = (claim: ModelClaim, state: 'RELEASED' | 'EXPIRED') => {
    Object.assign(claim, { state, hasEnded: true })
    entries.push(`CLAIM_RELEASED ${claim.actor}`)
  }
  const held = (claimant: { actor: string; tokenHash: string }) =>
    claims.find(
      ({ actor, tokenHash, state }) => actor === claimant.actor && tokenHash === claimant.tokenHash && state === 'HELD',
    )
  /** The open turns, oldest first, each with the claim that it answers with. */
  const open: { claim: ModelClaim; actor: string }[] = []

  /** Applies the step, and returns whether it is accepted. */
  function apply(step: Step): boolean {
    switch (step.do) {
      case 'claim': {
        const request = { actor: step.actor, tokenHash: hashOfWriter(step.token), slot: slotOf(step.scope, step.actor) }
        const decision = decideClaim(claims, request)
        if (decision.outcome !== 'granted') return decision.outcome === 'repeated'
        for (const each of decision.replaced) end(each, 'EXPIRED')
        claims = claims.filter(({ slot }) => slot !== request.slot)
        claims.push({ ...request, state: 'HELD', hasEnded: false })
        claims.sort((a, b) => (a.slot < b.slot ? -1 : 1))
        entries.push(`CLAIMED ${step.actor}`)
        return true
      }
      case 'renew':
        return decideRenewal(claims, { actor: step.actor, tokenHash: hashOfWriter(step.token) }).outcome !== 'refused'
      case 'release': {
        const decision = decideRelease(claims, { actor: step.actor, tokenHash: hashOfWriter(step.token) })
        if (decision.outcome === 'released') end(decision.claim, decision.as)
        return decision.outcome !== 'refused'
      }
      case 'answer':
      case 'open': {
        const claim = held({ actor: step.actor, tokenHash: hashOfWriter(step.token) })
        if (!claim) return false
        entries.push(step.do === 'open' ? 'OPENED' : 'APPENDED')
        if (step.do === 'open') open.push({ claim, actor: step.actor })
        Object.assign(claim, step.do === 'open' ? { state: 'ANSWERING' } : { state: 'ANSWERED', hasEnded: true })
        return true
      }
      case 'commit':
      case 'abort': {
        const turn = open.shift()
        if (!turn) return true
        entries.push(step.do === 'commit' ? 'COMMITTED' : 'ABORTED')
        if (step.do === 'abort') end(turn.claim, 'RELEASED')
        else Object.assign(turn.claim, { state: 'ANSWERED', hasEnded: true })
        return true
      }
      case 'expire':
        for (const claim of claims) if (claim.state === 'HELD') claim.state = 'EXPIRED'
        return true
      case 'sweep':
        for (const claim of claims) {
          if (claim.state === 'EXPIRED' && !claim.hasEnded) end(claim, 'EXPIRED')
        }
        return true
    }
  }
  const stored = () => claims.map(({ slot, actor, state }) => `${slot}: ${actor} ${state}`).sort()
  return { apply, stored, entries }
}

describe.each(backends)('claims at random, on $name', (backend) => {
  const world = useWorld(backend)

  async function newTurn() {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot', 'eve')
    const { id: turnId, seq } = await tenant.append(conversationId, 'ann', 'What time is it?')
    return { tenant, conversationId, turnId, seq }
  }
  type Given = Awaited<ReturnType<typeof newTurn>>

  /** Returns a function that performs a step and returns whether the server accepted it. */
  function performer({ tenant, conversationId, turnId }: Given) {
    const open: { id: string; actor: string }[] = []
    const end = async (how: typeof commitTurn | typeof abortTurn) => {
      const turn = open.shift()
      if (turn) await how(world.deps, tenant.as(turn.actor), { turnId: turn.id, writerToken: WRITER })
    }
    async function call(step: Call): Promise<void> {
      const viewer = tenant.as(step.actor)
      const token = { turnId, claimToken: step.token }
      const turn = { role: 'ASSISTANT' as const, replyToId: turnId }
      if (step.do === 'claim') await claimTurn(world.deps, viewer, { ...token, scope: step.scope })
      if (step.do === 'renew') await renewClaim(world.deps, viewer, token)
      if (step.do === 'release') await releaseClaim(world.deps, viewer, token)
      const answer = { conversationId, claimToken: step.token }
      if (step.do === 'answer') {
        await appendTurn(world.deps, viewer, { ...answer, turn: { ...turn, content: 'Noon.' } })
      }
      if (step.do === 'open') {
        const { id } = (await openTurn(world.deps, viewer, { ...answer, turn, writerToken: WRITER })).turn
        await appendDelta(world.deps, viewer, { turnId: id, writerToken: WRITER, text: 'Noon.' })
        open.push({ id, actor: step.actor })
      }
    }
    return async (step: Step): Promise<boolean> => {
      try {
        if ('actor' in step) await call(step)
        else if (step.do === 'commit') await end(commitTurn)
        else if (step.do === 'abort') await end(abortTurn)
        else if (step.do === 'sweep') await endExpiredClaims(world.deps)
        else {
          // All claims get the same time, so that the sweep ends them in the order of their slots.
          await sql(world.deps.pool).query(
            `UPDATE claim SET expires_at = date_trunc('day', now()) - interval '1 hour'
             WHERE conversation_id = $1 AND ended_at IS NULL AND answer_id IS NULL`,
            [conversationId],
          )
        }
        return true
      } catch (error) {
        if (error instanceof DomainError && error.code === 'CONFLICT') return false
        throw error
      }
    }
  }

  async function stored({ conversationId, seq }: Given) {
    const db = world.deps.db.of(SYSTEM)
    const claims = await sql(world.deps.pool).query<{ line: string }>(
      `SELECT k.slot || ': ' || k.actor || ' ' || CASE WHEN k.ended_at IS NOT NULL THEN k.outcome::text
              WHEN k.answer_id IS NOT NULL THEN 'ANSWERING' WHEN k.expires_at <= now() THEN 'EXPIRED' ELSE 'HELD' END AS line
       FROM claim k WHERE k.conversation_id = $1`,
      [conversationId],
    )
    const entries = await db.entry.findMany({ where: { conversationId, seq: { gt: seq } }, orderBy: { seq: 'asc' } })
    return {
      claims: claims.rows.map(({ line }) => line).sort(),
      entries: entries.map(({ kind, actor }) => (actor ? `${kind} ${actor}` : kind)),
      seqs: entries.map((entry) => entry.seq - seq),
    }
  }

  const cases = isExhaustive ? 500 : casesOf(100)
  it(`agree with the model if the calls are made one after the other (${cases} cases, seed ${seed})`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24, size: 'max' }), async (script) => {
        const given = await newTurn()
        const perform = performer(given)
        const model = createModel()
        for (const [index, each] of script.entries()) {
          const expected = model.apply(each)
          expect([index, each, await perform(each)]).toEqual([index, each, expected])
        }
        const { claims, entries } = await stored(given)
        expect({ claims, entries }).toEqual({ claims: model.stored(), entries: model.entries })
      }),
      { seed, numRuns: cases },
    )
  })

  it(`allow at most one answer in each scope if the calls are concurrent (${cases} cases, seed ${seed})`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 2, maxLength: 8 }), { minLength: 4, maxLength: 4 }),
        async (scripts) => {
          const given = await newTurn()
          await Promise.all(
            scripts.map(async (script) => {
              const perform = performer(given)
              for (const each of script) await perform(each)
            }),
          )
          const { claims, entries, seqs } = await stored(given)
          expect(seqs).toEqual(seqs.map((_, index) => index + 1))
          const answered = claims.filter((line) => line.endsWith(' ANSWERED'))
          const answers = entries.filter((entry) => entry === 'APPENDED' || entry === 'COMMITTED')
          expect(answers).toHaveLength(answered.length)
          // If a claim of scope TURN was answered, it is the only answered claim.
          if (answered.some((line) => line.startsWith(':'))) expect(answered).toHaveLength(1)
          // Each claim writes one entry, and each end without an answer another one.
          await endExpiredClaims(world.deps)
          const after = await stored(given)
          const count = (kind: string) => after.entries.filter((entry) => entry.startsWith(kind)).length
          const unended = after.claims.filter((line) => !/ (?:RELEASED|EXPIRED)$/.test(line))
          expect(count('CLAIMED ') - count('CLAIM_RELEASED ')).toBe(unended.length)
        },
      ),
      { seed, numRuns: cases },
    )
  })
})
