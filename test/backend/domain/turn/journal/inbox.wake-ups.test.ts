// Wake-ups, the turns that a participant is to answer, in its inbox: pending ones first, new ones live, and again if a
// claim ends without an answer. Also the list of pending wake-ups.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimTurn, endExpiredClaims, releaseClaim } from '../../../../../src/domain/agent/claim/claim.ts'
import { getWakeUps, wakeUpCursor } from '../../../../../src/domain/agent/claim/wake-up-page.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { readInbox } from '../../../../../src/domain/turn/journal/inbox.ts'
import { createInboxes, type InboxEvent, type InboxReason } from '../../../../../src/domain/turn/journal/inboxes.ts'
import { REPEAT_MS, REPEATS, spansOf } from '../../../../../src/domain/turn/journal/wake-ups.ts'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { InvalidInput } from '../../../../../src/errors.ts'
import { readTime } from '../../../../../src/store/sql/turn/journal/moments.ts'
import { readOfferedWakeUps } from '../../../../../src/store/sql/agent/wake-up/read-wake-ups.ts'
import { backends } from '../../../../support/backend.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'
import { isLong } from '../../../../support/long.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import { sql } from '../../../../support/sql.ts'
import { WRITER } from '../../../../support/writer.ts'
import { nextTime } from '../../../../support/next-time.ts'

const TOKEN = 'token-of-a-test-process'

it('each span of a check begins where the same span of the check before ended', () => {
  const at = (seconds: number) => new Date(1_000_000_000_000 + seconds * 1000)
  const [first, second] = [spansOf(at(0), at(10)), spansOf(at(10), at(23))]
  expect(first).toHaveLength(REPEATS)
  expect(first.map(({ until }) => until)).toEqual(second.map(({ since }) => since))
  expect(second.slice(0, 3)).toEqual([
    { since: at(0), until: at(13) },
    { since: at(-10), until: at(3) },
    { since: at(-30), until: at(-17) },
  ])
})

describe.each(backends)('wake-ups in an inbox, on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ann: Viewer
  let conversationId: string
  let inboxes: AsyncIterator<InboxEvent>[]
  /** The conversations with which tests wait for all earlier events. */
  const later = new Set<string>()

  beforeAll(async () => {
    site = await openSite(backend)
    one = await site.start()
    other = await site.start()
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    inboxes = []
    ann = newViewer('ann')
    const agent = { kind: 'AGENT' as const, respond: 'MENTIONED' as const }
    const participants = [{ actor: 'ann' }, { actor: 'bot', ...agent }, { actor: 'eve', ...agent }]
    conversationId = (await createConversation(one.deps, ann, { participants })).conversation.id
  })
  afterEach(async () => {
    for (const inbox of inboxes) await inbox.return!()
  })

  const as = (actor: string): Viewer => ({ tenant: ann.tenant, actor })
  const ask = async (content: string, audience?: string[]) =>
    (await appendTurn(one.deps, ann, { conversationId, turn: { role: 'USER', content, audience } })).turn.id
  const claim = (actor: string, turnId: string, scope?: 'AGENT' | 'TURN', { deps } = one) =>
    claimTurn(deps, as(actor), { turnId, claimToken: TOKEN, scope })
  const release = (actor: string, turnId: string, dismiss?: boolean) =>
    releaseClaim(one.deps, as(actor), { turnId, claimToken: TOKEN, dismiss })
  const answer = (actor: string, replyToId: string) =>
    appendTurn(one.deps, as(actor), {
      conversationId,
      turn: { role: 'ASSISTANT', content: 'Noon.', replyToId },
      claimToken: TOKEN,
    })
  const expireOnly = () =>
    sql(one.deps.pool).query(
      `UPDATE claim SET expires_at = clock_timestamp() - interval '1 ms' WHERE conversation_id = $1 AND ended_at IS NULL`,
      [conversationId],
    )
  const expire = async () => {
    await expireOnly()
    await endExpiredClaims(one.deps)
  }

  async function listen(
    actor: string,
    reasons: InboxReason[] | null = ['WAKE_UP'],
    { deps }: Pick<Process, 'deps'> = other,
  ) {
    const iterable = await readInbox(deps, as(actor), { reasons })
    inboxes.push(iterable)
    const events: InboxEvent[] = []
    void (async () => {
      for await (const event of iterable) events.push(event)
    })()
    const wakeUps = () => events.filter(({ reason }) => reason === 'WAKE_UP')
    return {
      /** The events in all conversations but the later ones of `got`. */
      events: () => events.filter((event) => !later.has(event.conversationId)),
      /** Waits until wake-ups for exactly these turns were delivered: a wake-up in another conversation is the next. */
      async got(...turnIds: string[]) {
        const participants = [{ actor: 'asker' }, { actor, respond: 'ALWAYS' as const }]
        const { conversation } = await createConversation(one.deps, as('asker'), { participants })
        later.add(conversation.id)
        const turn = { role: 'USER' as const, content: 'Are you there?' }
        const asked = await appendTurn(one.deps, as('asker'), { conversationId: conversation.id, turn })
        await expect.poll(() => wakeUps().some(({ turnId }) => turnId === asked.turn.id)).toBe(true)
        await deleteConversation(one.deps, as('asker'), conversation.id)
        const before = wakeUps().filter(({ conversationId }) => !later.has(conversationId))
        expect(before.map(({ turnId }) => turnId)).toEqual(turnIds)
      },
    }
  }
  const listed = async (actor: string) =>
    (await getWakeUps(one.deps, as(actor), {})).items.map(({ turnId, claim: live }) =>
      live ? `${turnId} ${live.actor} ${live.scope}` : turnId,
    )

  it('are delivered first, oldest first, without turns that are claimed or answered', async () => {
    const [first, second, third] = [await ask('@bot one'), await ask('@bot two'), await ask('@bot three')]
    await claim('bot', second)
    await claim('bot', third)
    await answer('bot', third)
    const fourth = await ask('@bot four')
    const { events, got } = await listen('bot', null)
    await got(first, fourth)
    await expect.poll(() => events().map(({ reason }) => reason)).toEqual(['WAKE_UP', 'WAKE_UP', 'UNREAD'])
    expect(await listed('bot')).toEqual([first, `${second} bot AGENT`, fourth])
    expect(await listed('eve')).toEqual([])
  })

  it('are delivered live to the participants that the turn wakes up, and to no others', async () => {
    const [bot, eve, person] = [await listen('bot'), await listen('eve'), await listen('ann')]
    const first = await ask('@bot one')
    const both = await ask('@bot and @eve')
    await ask('Nobody in particular')
    await bot.got(first, both)
    await eve.got(both)
    await person.got()
    const secret = await ask('@bot and @eve, between us', ['bot'])
    await bot.got(first, both, secret)
    await eve.got(both)
  })

  it('are delivered with the commit of a streaming turn, not before', async () => {
    const bot = await listen('bot')
    const input = { conversationId, turn: { role: 'USER' as const }, writerToken: WRITER }
    const { id: turnId } = (await openTurn(one.deps, ann, input)).turn
    await appendDelta(one.deps, ann, { turnId, writerToken: WRITER, text: '@bot one' })
    await bot.got()
    await commitTurn(one.deps, ann, { turnId, writerToken: WRITER })
    await bot.got(turnId)
  })

  it('are delivered again when a claim is released or has expired, and not when it was answered', async () => {
    const bot = await listen('bot')
    const first = await ask('@bot one')
    await bot.got(first)
    await claim('bot', first)
    await release('bot', first)
    await bot.got(first, first)
    await claim('bot', first)
    await expire()
    await bot.got(first, first, first)
    await claim('bot', first)
    await answer('bot', first)
    await expire()
    await bot.got(first, first, first)
    expect(await listed('bot')).toEqual([])
  })

  it('of several participants end with one answer of scope TURN, and are delivered to all when it is released', async () => {
    const [bot, eve] = [await listen('bot'), await listen('eve')]
    const both = await ask('@bot and @eve')
    await Promise.all([bot.got(both), eve.got(both)])
    await claim('bot', both, 'TURN')
    expect(await listed('eve')).toEqual([`${both} bot TURN`])
    await release('bot', both)
    await Promise.all([bot.got(both, both), eve.got(both, both)])
    await claim('eve', both, 'TURN')
    await answer('eve', both)
    expect([await listed('bot'), await listed('eve')]).toEqual([[], []])
    await expect(claim('bot', both)).rejects.toThrow(`Turn ${both} was already answered`)
  })

  it('of one participant remain when another one answers with scope AGENT', async () => {
    const both = await ask('@bot and @eve')
    await claim('bot', both)
    await answer('bot', both)
    expect([await listed('bot'), await listed('eve')]).toEqual([[], [both]])
  })

  it('end when the participant dismisses the turn', async () => {
    const bot = await listen('bot')
    const first = await ask('@bot one')
    await bot.got(first)
    await claim('bot', first)
    await release('bot', first, true)
    await bot.got(first)
    expect(await listed('bot')).toEqual([])
    await expect(claim('bot', first)).rejects.toThrow(`"bot" has dismissed turn ${first}`)
  })

  it.each(['released', 'expired', 'expired and ended'])(
    'end when the participant dismisses the turn after its claim was %s',
    async (how) => {
      const first = await ask('@bot one')
      await claim('bot', first)
      if (how === 'released') await release('bot', first)
      else if (how === 'expired') await expireOnly()
      else await expire()
      expect(await listed('bot')).toEqual([first])
      for (let call = 0; call < 2; call++) await release('bot', first, true)
      expect(await listed('bot')).toEqual([])
      await expect(claim('bot', first)).rejects.toThrow(`"bot" has dismissed turn ${first}`)
      const entries = await one.deps.db.of(SYSTEM).entry.findMany({ where: { conversationId, kind: 'CLAIM_RELEASED' } })
      expect(entries).toHaveLength(1)
    },
  )

  it('are not dismissed while the participant has another live claim on the turn', async () => {
    const first = await ask('@bot one')
    await claim('bot', first, 'TURN')
    await release('bot', first)
    const other = { turnId: first, claimToken: 'the token of another process' }
    await claimTurn(one.deps, as('bot'), other)
    await expect(release('bot', first, true)).rejects.toThrow(`"bot" has claimed turn ${first} until`)
    expect(await release('bot', first)).toMatchObject({ scope: 'TURN' })
    await releaseClaim(one.deps, as('bot'), other)
    expect(await listed('bot')).toEqual([first])
    // A live claim of another participant does not prevent a dismissal.
    await claim('eve', first)
    await release('bot', first, true)
    expect(await listed('bot')).toEqual([])
  })

  it('end with a reply without a claim, after which the turn cannot be claimed', async () => {
    const first = await ask('@bot one')
    const turn = { role: 'ASSISTANT' as const, content: 'Noon.', replyToId: first }
    const { turn: reply } = await appendTurn(one.deps, as('bot'), { conversationId, turn })
    await expect(claim('bot', first)).rejects.toThrow(
      `Turn ${first} was already answered by turn ${reply.id} of "bot".`,
    )
  })

  it('stay pending while the answer waits for results of its tool calls', async () => {
    const first = await ask('@bot one')
    await claim('bot', first)
    const turn = { role: 'ASSISTANT' as const, replyToId: first }
    const parts = [{ toolCall: { callId: 'c', name: 'clock', arguments: {} } }]
    const given = { conversationId, claimToken: TOKEN }
    await appendTurn(one.deps, as('bot'), { ...given, turn: { ...turn, parts } })
    expect(await listed('bot')).toEqual([`${first} bot AGENT`])
    const { id: turnId } = (await openTurn(one.deps, as('bot'), { ...given, turn, writerToken: WRITER })).turn
    const more = [{ toolCall: { callId: 'd', name: 'clock', arguments: {} } }]
    await commitTurn(one.deps, as('bot'), { turnId, writerToken: WRITER, parts: more })
    expect(await claim('bot', first)).toMatchObject({ expiresAt: expect.any(Date) })
    await answer('bot', first)
    expect(await listed('bot')).toEqual([])
  })

  it('are not delivered to a participant that has left', async () => {
    await ask('@bot one')
    await removeParticipant(one.deps, as('bot'), { conversationId, actor: 'bot' })
    await (await listen('bot')).got()
    expect(await listed('bot')).toEqual([])
  })

  it('are listed in pages', async () => {
    const ids = [await ask('@bot one'), await ask('@bot two'), await ask('@bot three')]
    const page = await getWakeUps(one.deps, as('bot'), { first: 2 })
    expect([page.items.map(({ turnId }) => turnId), page.hasNextPage]).toEqual([ids.slice(0, 2), true])
    const after = wakeUpCursor(page.items[1]!)
    const rest = await getWakeUps(one.deps, ann, { as: 'bot', after })
    expect([rest.items.map(({ turnId }) => turnId), rest.hasNextPage]).toEqual([[ids[2]], false])
    await expect(getWakeUps(one.deps, ann, { after: 'x' })).rejects.toThrow(InvalidInput)
    await expect(readInbox(one.deps, ann, { reasons: [] })).rejects.toThrow(InvalidInput)
  })

  it('without a live claim are found in the spans in which the turn was written or a claim was released', async () => {
    const { pool } = one.deps
    const now = () => readTime(pool, ann.tenant)
    const offered = async (from: Date, to: Date) =>
      (
        await readOfferedWakeUps(pool, ann.tenant, { actors: ['bot', 'eve'], spans: [{ since: from, until: to }] }, 10)
      ).map(({ turnId, actor }) => `${turnId} ${actor}`)
    const start = await now()
    // Times have a precision of 1 ms, and a span excludes its start.
    await nextTime()
    const [first, second] = [await ask('@bot one'), await ask('@bot two')]
    await nextTime()
    const middle = await now()
    await claim('bot', first)
    await claim('bot', second)
    expect(await offered(start, middle)).toEqual([])
    await nextTime()
    await release('bot', first)
    await nextTime()
    const end = await now()
    expect(await offered(start, middle)).toEqual([`${first} bot`])
    expect(await offered(middle, end)).toEqual([`${first} bot`])
    await claim('bot', first)
    await answer('bot', first)
    expect(await offered(start, end)).toEqual([])
  })

  it('arrive although the bus has lost the message', async () => {
    const clock = fakeClock()
    const { deps } = other
    const clocked = { ...deps, clock, inboxes: createInboxes({ ...deps, clock }) }
    const bot = await listen('bot', ['WAKE_UP'], { deps: clocked })
    other.wire.drop = () => true
    const first = await ask('@bot one')
    // The check looks for wake-ups that are 10 to 20 s old by the clock of the database.
    await sql(deps.pool).query(
      `UPDATE wake_up SET created_at = created_at - interval '15 s' WHERE conversation_id = $1`,
      [conversationId],
    )
    await clock.advance(REPEAT_MS)
    await expect.poll(bot.events).toMatchObject([{ reason: 'WAKE_UP', turnId: first }])
    other.wire.drop = () => false
  })

  describe.runIf(isLong)('arrive', () => {
    it('although the consumer fell behind by more than the buffer', async () => {
      const iterable = await readInbox(other.deps, as('bot'), { reasons: ['WAKE_UP'] })
      inboxes.push(iterable)
      const seen = new Set<string>()
      const { events } = await listen('bot')
      const ids: string[] = []
      for (let batch = 0; batch < 6; batch++) {
        const turns = Array.from({ length: 400 }, (_, n) => ({ role: 'USER' as const, content: `@bot ${batch} ${n}` }))
        ids.push(...(await appendTurns(one.deps, ann, { conversationId, turns })).turns.map(({ id }) => id))
        await expect.poll(() => events().some(({ turnId }) => turnId === ids.at(-1))).toBe(true)
      }
      void (async () => {
        for await (const { turnId } of iterable) seen.add(turnId!)
      })()
      await expect.poll(() => ids.filter((id) => !seen.has(id)).length).toBe(0)
    })
  })
})
