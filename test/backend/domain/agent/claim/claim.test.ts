// Claims on turns: the calls that get a claim or answer with it, the ways in which it ends, and its journal entries and
// events. Expiry is simulated by moving `expires_at`, because only the database's clock counts.

import { afterEach, describe, expect, it } from 'vitest'
import { claimTurn, endExpiredClaims, releaseClaim, renewClaim } from '../../../../../src/domain/agent/claim/claim.ts'
import { eraseTurn } from '../../../../../src/domain/trust/erasure/erase-turn.ts'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortSilentTurns, abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import { backends } from '../../../../support/backend.ts'
import { read, sawSeq } from '../../../../support/reading.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

const ONE = 'token-of-the-first-process'
const TWO = 'token-of-the-second-process'

describe.each(backends)('a claim on $name', (backend) => {
  const world = useWorld(backend)

  async function start() {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bot', 'eve')
    const asked = await tenant.append(conversationId, 'ann', 'What time is it?')
    const bot = tenant.as('bot')
    const claim = (claimToken: string, more: Partial<Parameters<typeof claimTurn>[2]> = {}, viewer = bot) =>
      claimTurn(world.deps, viewer, { turnId: asked.id, claimToken, ...more })
    const answer = (claimToken: string, content = 'Noon.', viewer = bot, replyToId = asked.id) =>
      appendTurn(world.deps, viewer, { conversationId, turn: { role: 'ASSISTANT', content, replyToId }, claimToken })
    const open = async (claimToken: string, viewer = bot) =>
      (
        await openTurn(world.deps, viewer, {
          conversationId,
          turn: { role: 'ASSISTANT', replyToId: asked.id },
          writerToken: WRITER,
          claimToken,
        })
      ).turn.id
    const entries = async (after = asked.seq) => {
      const rows = await world.deps.db
        .of(SYSTEM)
        .entry.findMany({ where: { conversationId, seq: { gt: after } }, orderBy: { seq: 'asc' } })
      return rows.map(({ kind, actor }) => (actor ? `${kind} ${actor}` : kind))
    }
    const rows = () => world.deps.db.of(SYSTEM).claim.findMany({ where: { conversationId }, orderBy: { slot: 'asc' } })
    return {
      tenant,
      conversationId,
      asked,
      bot,
      eve: tenant.as('eve'),
      ann: tenant.as('ann'),
      claim,
      answer,
      open,
      entries,
      rows,
    }
  }
  const expire = (conversationId: string) =>
    sql(world.deps.pool).query(
      `UPDATE claim SET expires_at = clock_timestamp() - interval '1 ms' WHERE conversation_id = $1 AND ended_at IS NULL`,
      [conversationId],
    )
  afterEach(() => endExpiredClaims(world.deps))

  it('is granted to one token, returned again to it, and refused to other tokens with the holder and the expiry', async () => {
    const { claim, entries, asked, rows } = await start()
    const first = await claim(ONE)
    expect(first).toMatchObject({ turnId: asked.id, actor: 'bot', scope: 'AGENT', expiresAt: expect.any(Date) })
    expect(await claim(ONE)).toEqual(first)
    await expect(claim(TWO)).rejects.toThrow(
      new Conflict(
        `"bot" has claimed turn ${asked.id} until ${first.expiresAt!.toISOString()}. The inbox delivers it again if that `
          + 'claim ends without an answer.',
      ),
    )
    expect(await entries()).toEqual(['CLAIMED bot'])
    expect((await rows())[0]!.tokenHash).toMatch(/^[\da-f]{64}$/)
    expect(JSON.stringify(await rows())).not.toContain(ONE)
  })

  it('excludes other participants only for scope TURN', async () => {
    const { claim, eve } = await start()
    await claim(ONE)
    expect(await claim(TWO, {}, eve)).toMatchObject({ actor: 'eve', scope: 'AGENT' })
    const other = await start()
    await other.claim(ONE, { scope: 'TURN' })
    await expect(other.claim(TWO, {}, other.eve)).rejects.toThrow('"bot" has claimed')
    await expect(other.claim(TWO, { scope: 'TURN' }, other.eve)).rejects.toThrow('"bot" has claimed')
  })

  it('ends with one answer by appendTurn, which writes the only further entry', async () => {
    const { claim, answer, entries, rows, asked } = await start()
    await claim(ONE)
    const { turn } = await answer(ONE)
    expect(await rows()).toMatchObject([{ outcome: 'ANSWERED', answerId: turn.id }])
    await expect(answer(ONE)).rejects.toThrow(`This claim has ended: turn ${turn.id} has answered turn ${asked.id}.`)
    await expect(claim(TWO)).rejects.toThrow(`Turn ${asked.id} was already answered by turn ${turn.id} of "bot".`)
    await expect(claim(ONE)).rejects.toThrow('was already answered')
    await expect(
      renewClaim(world.deps, { ...(await start()).bot }, { turnId: asked.id, claimToken: ONE }),
    ).rejects.toThrow(NotFound)
    expect(await entries()).toEqual(['CLAIMED bot', 'APPENDED'])
  })

  it('allows one answer if many calls arrive at the same time', async () => {
    const { claim, answer, entries } = await start()
    await claim(ONE)
    const results = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => answer(ONE, `Answer ${n}`)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(Conflict)
    expect(await entries()).toEqual(['CLAIMED bot', 'APPENDED'])
  })

  it('is granted to one of many calls that arrive at the same time', async () => {
    const { claim, entries } = await start()
    const tokens = Array.from({ length: 8 }, (_, n) => `token-of-the-process-${n}`)
    const results = await Promise.allSettled(tokens.map((token) => claim(token)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await entries()).toEqual(['CLAIMED bot'])
  })

  it('lets an answer with a clientId be repeated', async () => {
    const { claim, conversationId, asked, bot } = await start()
    await claim(ONE)
    const turn = { role: 'ASSISTANT' as const, content: 'Noon.', replyToId: asked.id, clientId: 'a' }
    const first = await appendTurn(world.deps, bot, { conversationId, turn, claimToken: ONE })
    const again = await appendTurn(world.deps, bot, { conversationId, turn, claimToken: ONE })
    expect(again).toMatchObject({ deduplicated: true, turn: { id: first.turn.id } })
  })

  it('does not expire while a streaming turn answers, and ends as answered when that turn is committed', async () => {
    const { claim, open, conversationId, asked, bot, entries, rows } = await start()
    await claim(ONE, { ttlSeconds: 1 })
    const turnId = await open(ONE)
    await expire(conversationId)
    expect(await endExpiredClaims(world.deps)).toBe(0)
    expect(await claim(ONE)).toMatchObject({ expiresAt: null })
    expect(await renewClaim(world.deps, bot, { turnId: asked.id, claimToken: ONE })).toMatchObject({ expiresAt: null })
    await expect(claim(TWO)).rejects.toThrow(`"bot" has claimed turn ${asked.id} while it writes turn ${turnId}.`)
    await expect(releaseClaim(world.deps, bot, { turnId: asked.id, claimToken: ONE })).rejects.toThrow(
      `Turn ${turnId} answers turn ${asked.id} with this claim.`,
    )
    await expect(open(ONE)).rejects.toThrow(`Turn ${turnId} answers turn ${asked.id} with this claim.`)
    await appendDelta(world.deps, bot, { turnId, writerToken: WRITER, text: 'Noon.' })
    await commitTurn(world.deps, bot, { turnId, writerToken: WRITER })
    expect(await rows()).toMatchObject([{ outcome: 'ANSWERED', answerId: turnId }])
    expect(await entries()).toEqual(['CLAIMED bot', 'OPENED', 'COMMITTED'])
    await expect(claim(TWO)).rejects.toThrow('was already answered')
  })

  it.each(['abort', 'lease'])('is released if its streaming answer is aborted: %s', async (how) => {
    const { claim, open, conversationId, bot, entries, answer, asked, ann } = await start()
    await claim(ONE)
    const turnId = await open(ONE)
    const reading = await read(world.deps, ann, { conversationId, afterSeq: asked.seq })
    if (how === 'abort') await abortTurn(world.deps, bot, { turnId, writerToken: WRITER })
    else {
      await sql(world.deps.pool).query(`UPDATE stream SET renewed_at = now() - interval '1 hour' WHERE turn_id = $1`, [
        turnId,
      ])
      await abortSilentTurns(world.deps)
    }
    await reading.until('the release', ({ events }) => events.some(({ type }) => type === 'ClaimReleased'))
    expect(reading.events.map(({ type }) => type)).toEqual([
      'TurnClaimed',
      'TurnOpened',
      'TurnAborted',
      'ClaimReleased',
    ])
    await reading.stop()
    expect(await entries()).toEqual(['CLAIMED bot', 'OPENED', 'ABORTED', 'CLAIM_RELEASED bot'])
    await expect(answer(ONE)).rejects.toThrow(`This claim on turn ${asked.id} has been released. Claim the turn again.`)
    await claim(TWO)
    await answer(TWO)
  })

  it('can neither be renewed nor answered with once it has expired, and another token may claim the turn', async () => {
    const { claim, answer, conversationId, asked, bot, entries } = await start()
    await claim(ONE, { ttlSeconds: 1 })
    await expire(conversationId)
    const expired = `This claim on turn ${asked.id} has expired. Claim the turn again.`
    await expect(answer(ONE)).rejects.toThrow(expired)
    await expect(renewClaim(world.deps, bot, { turnId: asked.id, claimToken: ONE })).rejects.toThrow(expired)
    await claim(TWO)
    const foreign = `You have no claim on turn ${asked.id} with this claimToken.`
    await expect(answer(ONE)).rejects.toThrow(foreign)
    await expect(renewClaim(world.deps, bot, { turnId: asked.id, claimToken: ONE })).rejects.toThrow(foreign)
    await answer(TWO)
    expect(await entries()).toEqual(['CLAIMED bot', 'CLAIM_RELEASED bot', 'CLAIMED bot', 'APPENDED'])
  })

  it('is ended once after it has expired, even by concurrent sweeps', async () => {
    const { claim, conversationId, entries, eve } = await start()
    await Promise.all([claim(ONE), claim(TWO, {}, eve)])
    await expire(conversationId)
    const counts = await Promise.all([endExpiredClaims(world.deps), endExpiredClaims(world.deps)])
    expect(counts.reduce((sum, count) => sum + count)).toBe(2)
    expect((await entries()).slice(2).sort()).toEqual(['CLAIM_RELEASED bot', 'CLAIM_RELEASED eve'])
  })

  it('is extended by a renewal, which writes no entry', async () => {
    const { claim, asked, bot, entries } = await start()
    const first = await claim(ONE, { ttlSeconds: 1 })
    const renewed = await renewClaim(world.deps, bot, { turnId: asked.id, claimToken: ONE, ttlSeconds: 3600 })
    expect(renewed.expiresAt!.getTime() - first.expiresAt!.getTime()).toBeGreaterThan(3_590_000)
    expect(await entries()).toEqual(['CLAIMED bot'])
  })

  it('is released once, although the call is repeated', async () => {
    const { claim, asked, bot, entries } = await start()
    await claim(ONE)
    for (let call = 0; call < 2; call++) await releaseClaim(world.deps, bot, { turnId: asked.id, claimToken: ONE })
    expect(await entries()).toEqual(['CLAIMED bot', 'CLAIM_RELEASED bot'])
    await claim(TWO)
  })

  it('applies to all versions of a turn', async () => {
    const { claim, answer, asked, ann } = await start()
    const edit = { turnId: asked.id, turn: { role: 'USER' as const, content: 'What day is it?' } }
    const { turn: newer } = await supersedeTurn(world.deps, ann, edit)
    expect(await claim(ONE, { turnId: newer.id })).toMatchObject({ turnId: asked.id })
    await expect(claim(TWO)).rejects.toThrow('"bot" has claimed')
    await answer(ONE, 'Sunday.', undefined, newer.id)
    await expect(claim(TWO, { turnId: newer.id })).rejects.toThrow('was already answered')
  })

  it('answers only the claimed turn, and only for its holder', async () => {
    const { tenant, conversationId, claim, answer, eve, bot } = await start()
    await claim(ONE)
    const other = await tenant.append(conversationId, 'ann', 'And the day?')
    await expect(answer(ONE, 'Sunday.', bot, other.id)).rejects.toThrow('You have no claim')
    await expect(answer(ONE, 'Noon.', eve)).rejects.toThrow('You have no claim')
    const turn = { role: 'ASSISTANT' as const, content: 'Noon.' }
    await expect(appendTurn(world.deps, bot, { conversationId, turn, claimToken: ONE })).rejects.toThrow(
      InvalidInput.at('claimToken', 'needs turn.replyToId, the claimed turn').message,
    )
    await answer(ONE)
  })

  it('does not prevent replies without a claim', async () => {
    const { tenant, conversationId, asked, claim, answer } = await start()
    await claim(ONE)
    for (const actor of ['bot', 'eve']) await tenant.append(conversationId, actor, 'Soon.', { replyToId: asked.id })
    await answer(ONE)
  })

  it('is refused to actors who do not see the turn or are not in the conversation', async () => {
    const { tenant, conversationId, claim, ann, eve } = await start()
    const secret = await tenant.append(conversationId, 'ann', 'psst', { audience: ['bot'] })
    await expect(claim(ONE, { turnId: secret.id }, eve)).rejects.toThrow(NotFound)
    await expect(claim(ONE, { turnId: `turn_${'0'.repeat(26)}` })).rejects.toThrow(NotFound)
    await expect(claim(ONE, {}, tenant.as('stranger'))).rejects.toThrow(NotAllowed)
    await expect(claim(ONE, {}, world.tenant().as('bot'))).rejects.toThrow(NotFound)
    await removeParticipant(world.deps, ann, { conversationId, actor: 'bot' })
    await expect(claim(ONE)).rejects.toThrow(NotAllowed)
    await expect(claim('short')).rejects.toThrow(InvalidInput)
    for (const ttlSeconds of [0, 3601, 1.5]) await expect(claim(ONE, { ttlSeconds })).rejects.toThrow(InvalidInput)
  })

  it('is refused for a turn that is open, aborted or erased', async () => {
    const { conversationId, claim, ann } = await start()
    const opening = { conversationId, turn: { role: 'USER' as const }, writerToken: WRITER }
    const { id: turnId } = (await openTurn(world.deps, ann, opening)).turn
    await expect(claim(ONE, { turnId })).rejects.toThrow(`Turn ${turnId} is still open. Claim it once it is committed.`)
    await abortTurn(world.deps, ann, { turnId, writerToken: WRITER })
    await expect(claim(ONE, { turnId })).rejects.toThrow(`Turn ${turnId} is ABORTED, so there is nothing to answer.`)
    await eraseTurn(world.deps, ann, { turnId })
    await expect(claim(ONE, { turnId })).rejects.toThrow('is ERASED')
  })

  it('expires when its open answer is erased', async () => {
    const { claim, open, bot, entries } = await start()
    await claim(ONE)
    const turnId = await open(ONE)
    await eraseTurn(world.deps, bot, { turnId })
    await endExpiredClaims(world.deps)
    expect(await entries()).toEqual(['CLAIMED bot', 'OPENED', 'ERASED', 'CLAIM_RELEASED bot'])
    await claim(TWO)
  })

  it('is delivered to subscribers who see the turn, and to no others', async () => {
    const { tenant, conversationId, bot, ann } = await start()
    const secret = await tenant.append(conversationId, 'ann', 'psst', { audience: ['bot'] })
    const participant = { actor: 'new', historyVisibility: 'SINCE_JOINED' as const }
    await addParticipant(world.deps, ann, { conversationId, participant })
    const afterSeq = await tenant.lastSeq(conversationId)
    const readings = await Promise.all(
      ['ann', 'eve', 'new'].map((actor) => read(world.deps, tenant.as(actor), { conversationId, afterSeq })),
    )
    await claimTurn(world.deps, bot, { turnId: secret.id, claimToken: ONE })
    await releaseClaim(world.deps, bot, { turnId: secret.id, claimToken: ONE })
    const { seq } = await tenant.append(conversationId, 'ann', 'next')
    await Promise.all(readings.map((reading) => reading.until('the next turn', sawSeq(seq))))
    const [seen, eve, late] = readings.map(({ events }) => events.map(({ type }) => type))
    expect(seen).toEqual(['TurnClaimed', 'ClaimReleased', 'TurnAppended'])
    expect(readings[0]!.events[0]).toMatchObject({ turn: { id: secret.id }, participant: { actor: 'bot' } })
    expect(JSON.stringify(readings[0]!.events)).not.toContain(ONE)
    expect([eve, late]).toEqual([['TurnAppended'], ['TurnAppended']])
    await Promise.all(readings.map((reading) => reading.stop()))
  })
})
