// Tests the visibility rule on tables of examples. Compares its SQL (store/sql/kernel/visible.ts), its TypeScript
// (domain/kernel/view.ts) and a simple oracle on random conversations, in pages, counts, unread counts and events.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { getConversations, updateConversation } from '../../../../src/domain/conversation/conversation.ts'
import { getConversationPage } from '../../../../src/domain/conversation/conversation-page.ts'
import { announceDeleted } from '../../../../src/domain/kernel/live/publisher.ts'
import { deleteConversation } from '../../../../src/domain/trust/erasure/delete-conversation.ts'
import { readEventsOf } from '../../../../src/domain/turn/journal/reader.ts'
import {
  addParticipant,
  markRead,
  removeParticipant,
} from '../../../../src/domain/conversation/participant/participant.ts'
import { getUnreadCounts } from '../../../../src/domain/conversation/participant/participant-details.ts'
import { appendDelta } from '../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../src/domain/turn/append/append.ts'
import { countOfTurns, pageOfTurns } from '../../../../src/domain/turn/history.ts'
import { updateParticipant } from '../../../../src/domain/conversation/participant/update-participant.ts'
import { pinTurn } from '../../../../src/domain/turn/pin.ts'
import { supersedeTurn } from '../../../../src/domain/turn/supersede.ts'
import { getTurns } from '../../../../src/domain/turn/turn.ts'
import {
  actAs,
  isOpenAt,
  NO_VIEW,
  OPEN_VIEW,
  sees,
  seesAllPublic,
  seesConversation,
  seesNoneOf,
  seesAllOf,
  viewClass,
  viewIn,
  type View,
} from '../../../../src/domain/kernel/view.ts'
import { visible } from '../../../../src/store/sql/kernel/visible.ts'
import { NotAllowed, NotFound } from '../../../../src/errors.ts'
import { backends } from '../../../support/backend.ts'
import { createConversationOracle, type ConversationOracle } from '../../../support/conversation-oracle.ts'
import { casesOf, isLong } from '../../../support/long.ts'
import { PATIENCE_MS } from '../../../support/patience.ts'
import { useWorld, type Tenant } from '../../../support/world.ts'
import { WRITER } from '../../../support/writer.ts'
import { sql } from '../../../support/sql.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'

describe('windows', () => {
  it.each<[number[], open: number[], closed: number[]]>([
    [[], [], [0, 1, 5]],
    [[1], [1, 2, 1e9, Infinity], [0]],
    [[3], [3, 4, Infinity], [1, 2]],
    [
      [1, 6],
      [1, 5],
      [6, 7, Infinity],
    ],
    [
      [1, 6, 9],
      [1, 5, 9, 10, Infinity],
      [6, 8],
    ],
    [
      [4, 6, 9, 12],
      [4, 5, 9, 11],
      [3, 6, 8, 12, Infinity],
    ],
    // The actor left with entry 5 and returned with entry 6, so no entry is hidden.
    [[1, 6, 6], [1, 5, 6, 7], []],
  ])('%j are open at %j and closed at %j', (windows, open, closed) => {
    expect(open.map((seq) => isOpenAt(windows, seq))).toEqual(open.map(() => true))
    expect(closed.map((seq) => isOpenAt(windows, seq))).toEqual(closed.map(() => false))
  })
})

describe('a summary', () => {
  const windows = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 5 }).map((list) => list.sort((a, b) => a - b))
  it('is visible if the windows of the viewer cover all its turns, and absent if they cover none', () => {
    const three = fc.array(fc.integer({ min: 1, max: 22 }), { minLength: 3, maxLength: 3 })
    fc.assert(
      fc.property(windows, three, (list, seqs) => {
        const [fromPosition, toPosition, newestSeq] = seqs.sort((a, b) => a - b) as [number, number, number]
        const summary = { fromPosition, toPosition, newestSeq }
        const open = (from: number, to: number) =>
          Array.from({ length: to - from + 1 }, (_, n) => isOpenAt(list, from + n))
        expect(seesAllOf({ windows: list }, summary)).toBe(open(fromPosition, newestSeq).every(Boolean))
        expect(seesNoneOf({ windows: list }, summary)).toBe(!open(fromPosition, toPosition).some(Boolean))
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('a view', () => {
  const ann: View = { actor: 'ann', windows: [1, 6, 9], addressed: true }
  it.each<[view: View, seq: number, position: number, audience: string[] | null, boolean]>([
    [ann, 2, 2, null, true],
    [ann, 7, 7, null, false],
    [ann, 9, 9, null, true],
    // A version is visible only if its own entry and its position are both in open windows.
    [ann, 10, 2, null, true],
    [ann, 7, 2, null, false],
    [ann, 10, 7, null, false],
    [ann, 2, 2, ['ann'], true],
    [ann, 2, 2, ['bob', 'ann'], true],
    [ann, 2, 2, ['bob'], false],
    [ann, 7, 7, ['ann'], false],
    [OPEN_VIEW, 1, 1, null, true],
    [OPEN_VIEW, 1, 1, ['ann'], false],
    // The open view has no actor, so it matches neither the name "null" nor the empty name.
    [OPEN_VIEW, 1, 1, ['null', ''], false],
  ])('%j shows version %d at position %d for %j: %s', (view, seq, position, audience, seen) => {
    expect(sees(view, { seq, position, audience })).toBe(seen)
  })

  it("is the participant's own view, or for other actors the open view (OPEN) or no view (MEMBERS)", () => {
    for (const visibility of ['OPEN', 'MEMBERS'] as const) expect(viewIn(visibility, ann)).toBe(ann)
    expect(viewIn('OPEN', null)).toBe(OPEN_VIEW)
    expect(viewIn('MEMBERS', undefined)).toBe(NO_VIEW)
    expect([seesConversation(ann), seesConversation(OPEN_VIEW), seesConversation(NO_VIEW)]).toEqual([true, true, false])
    expect(sees(NO_VIEW, { seq: 1, position: 1, audience: null })).toBe(false)
    expect(viewClass(NO_VIEW)).not.toBe(viewClass(OPEN_VIEW))
  })

  it.each<[number[], boolean]>([
    [[1], true],
    [[0], true],
    [[2], false],
    [[1, 5], false],
    [[1, 5, 6], false],
  ])('with windows %j shows all public turns: %s', (windows, all) => {
    expect(seesAllPublic({ actor: 'ann', windows, addressed: false })).toBe(all)
  })

  it('has the same class as another view if and only if both show the same turns', () => {
    const view = (actor: string | null, windows: number[], addressed: boolean) =>
      viewClass({ actor, windows, addressed })
    expect(view('ann', [1], false)).toBe(view('bob', [1], false))
    expect(view('ann', [1], false)).toBe(viewClass(OPEN_VIEW))
    expect(view('ann', [1], true)).not.toBe(view('bob', [1], true))
    expect(view('ann', [1], true)).not.toBe(view('ann', [1], false))
    expect(view('ann', [1, 2], false)).not.toBe(view('ann', [12], false))
    // An actor's name must not be mistaken for windows.
    expect(view('2|b', [1], true)).not.toBe(view('b', [1, 2], true))
  })

  it('with `as` is read by a viewer with that actor and the same tenant', () => {
    const viewer = { tenant: 't', actor: 'ann' }
    expect(actAs(viewer, 'bob')).toEqual({ tenant: 't', actor: 'bob' })
    for (const as of [null, undefined, 'ann']) expect(actAs(viewer, as)).toBe(viewer)
  })
})

const ACTORS = ['ann', 'bob', 'cyd', 'dan'] as const
const VIEWERS = [...ACTORS, 'stranger']

const actor = fc.constantFrom(...ACTORS)
const audience = fc.option(fc.subarray([...ACTORS], { minLength: 1, maxLength: 3 }), { freq: 3 })
const history = fc.constantFrom('ALL', 'SINCE_JOINED')
const pick = fc.nat(1000)
const anyOp = fc.oneof(
  { weight: 2, arbitrary: fc.record({ op: fc.constant('join'), actor, history }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('leave'), actor }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('remove'), actor }) },
  { weight: 5, arbitrary: fc.record({ op: fc.constant('append'), actor, audience }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('supersede'), pick }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('open'), actor, audience }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom('commit', 'abort'), pick }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('read'), actor, pick }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('pin'), actor, pick }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('history'), actor, history, pick }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('visibility'), pick }) },
) as fc.Arbitrary<Op>
type Op = { op: string; actor: string; history: 'ALL' | 'SINCE_JOINED'; audience: string[] | null; pick: number }

describe.each(backends)('views on $name', (backend) => {
  const world = useWorld(backend)

  it('contain the same turns in SQL as in TypeScript', async () => {
    const versions = fc
      .record({
        seq: fc.integer({ min: 1, max: 20 }),
        position: fc.integer({ min: 1, max: 20 }),
        audience: fc.option(fc.subarray(['ann', 'bob', 'null', ''])),
      })
      .map((turn) => ({ ...turn, position: Math.min(turn.seq, turn.position) }))
    const windows = fc
      .array(fc.integer({ min: 0, max: 21 }), { minLength: 1, maxLength: 6 })
      .map((all) => all.sort((a, b) => a - b))
    await fc.assert(
      fc.asyncProperty(
        windows,
        fc.constantFrom('ann', 'bob', null),
        fc.array(versions, { minLength: 1, maxLength: 20 }),
        async (open, name, turns) => {
          const { rows } = await sql(world.deps.pool).query(
            `SELECT coalesce(${visible().text}, false) AS seen
           FROM (SELECT $1::integer[] AS windows, $2::text AS actor) v,
                jsonb_to_recordset($3::jsonb) AS t(seq integer, root_seq integer, audience text[])`,
            [open, name, JSON.stringify(turns.map(({ position, ...turn }) => ({ ...turn, root_seq: position })))],
          )
          const view = { actor: name, windows: open, addressed: true }
          expect(rows.map(({ seen }) => seen)).toEqual(turns.map((turn) => sees(view, turn)))
        },
      ),
      { numRuns: casesOf(150) },
    )
  })

  it('match the oracle on random conversations in pages, counts, unread counts and events, for every viewer', async () => {
    const occurrences = { private: 0, superseded: 0, hidden: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(anyOp, { minLength: 5, maxLength: 35, size: 'max' }), async (ops) => {
        const tenant = world.tenant()
        const conversationId = await tenant.newConversation()
        const oracle = createConversationOracle()
        for (const [index, op] of ops.entries()) await play(tenant, conversationId, oracle, op, index)
        expect(await tenant.lastSeq(conversationId)).toBe(oracle.head)
        for (const name of VIEWERS) await expectReads(tenant, conversationId, oracle, name)
        await expectEvents(tenant, conversationId, oracle)
        occurrences.private += oracle.turns.filter(({ audience }) => audience).length
        occurrences.superseded += oracle.turns.filter(oracle.isSuperseded).length
        occurrences.hidden += ACTORS.filter((name) => oracle.page(name, true).length < oracle.turns.length).length
      }),
      { numRuns: casesOf(40) },
    )
    // Without enough of these cases, the comparison proves little. A short run may have none of one kind.
    for (const [kind, count] of Object.entries(occurrences)) if (isLong) expect(count, kind).toBeGreaterThanOrEqual(10)
  })

  /** Applies the same step to the conversation and the oracle; skips steps that are impossible now. */
  async function play(
    tenant: Tenant,
    conversationId: string,
    oracle: ConversationOracle,
    op: Op,
    index: number,
  ): Promise<void> {
    const { deps } = world
    const viewer = tenant.as(op.actor)
    const input = { conversationId, actor: op.actor }
    const content = 'word '.repeat(1 + (index % 7))
    const present = op.audience?.filter((each) => oracle.isParticipant(each)) ?? []
    const turnAudience = present.length ? present : null
    switch (op.op) {
      case 'join': {
        const participant = { actor: op.actor, historyVisibility: op.history }
        if (oracle.isMembersOnly && !oracle.isParticipant(op.actor)) {
          const refused = addParticipant(deps, viewer, { conversationId, participant })
          await expect(refused).rejects.toThrow(oracle.wasParticipant(op.actor) ? NotAllowed : NotFound)
        }
        const by = oracle.isMembersOnly ? oracle.present()[0] : op.actor
        if (by === undefined) return
        await addParticipant(deps, tenant.as(by), { conversationId, participant })
        return oracle.join(op.actor, op.history)
      }
      case 'visibility': {
        const participants = oracle.present()
        const by = participants[op.pick % participants.length]
        if (by === undefined) return
        const visibility = oracle.isMembersOnly ? 'OPEN' : 'MEMBERS'
        await updateConversation(deps, tenant.as(by), { conversationId, visibility })
        return oracle.setMembersOnly(!oracle.isMembersOnly)
      }
      case 'leave': {
        if (!oracle.isParticipant(op.actor)) return
        await removeParticipant(deps, viewer, input)
        return oracle.leave(op.actor)
      }
      case 'remove': {
        if (!oracle.isParticipant(op.actor)) return
        const by = oracle.isMembersOnly ? oracle.present().find((each) => each !== op.actor) : 'owner'
        if (by === undefined) return
        await removeParticipant(deps, tenant.as(by), input)
        return oracle.leave(op.actor, true)
      }
      case 'append': {
        if (!oracle.seesConversation(op.actor)) {
          return expect(tenant.append(conversationId, op.actor, content)).rejects.toThrow(NotFound)
        }
        if (oracle.isRemoved(op.actor) || (oracle.isMembersOnly && !oracle.isParticipant(op.actor))) {
          return expect(tenant.append(conversationId, op.actor, content)).rejects.toThrow(NotAllowed)
        }
        const { id, tokenCount } = await tenant.append(conversationId, op.actor, content, { audience: turnAudience })
        return oracle.append({ id, actor: op.actor, status: 'COMMITTED', tokens: tokenCount, audience: turnAudience })
      }
      case 'open': {
        if (oracle.isRemoved(op.actor) || (oracle.isMembersOnly && !oracle.isParticipant(op.actor))) return
        const turn = { role: 'ASSISTANT' as const, audience: turnAudience }
        const {
          turn: { id },
        } = await openTurn(deps, viewer, { writerToken: WRITER, conversationId, turn })
        await appendDelta(deps, viewer, { writerToken: WRITER, turnId: id, text: content })
        return oracle.append({ id, actor: op.actor, status: 'STREAMING', tokens: 0, audience: turnAudience })
      }
      case 'commit':
      case 'abort': {
        const open = oracle.turns.filter(({ status }) => status === 'STREAMING')
        const turn = open[op.pick % open.length]
        if (!turn) return
        // An author who has left could not see the result, so the step is skipped.
        if (!oracle.isParticipant(turn.actor)) return
        const close = op.op === 'commit' ? commitTurn : abortTurn
        const { tokenCount } = await close(deps, tenant.as(turn.actor), { writerToken: WRITER, turnId: turn.id })
        return oracle.close(turn, op.op === 'commit' ? 'COMMITTED' : 'ABORTED', tokenCount)
      }
      case 'supersede': {
        const newest = oracle.turns.filter(
          (turn) => turn.status !== 'STREAMING' && !oracle.isSuperseded(turn) && oracle.isParticipant(turn.actor),
        )
        const turn = newest[op.pick % newest.length]
        if (!turn) return
        const {
          turn: { id, tokenCount },
        } = await supersedeTurn(deps, tenant.as(turn.actor), {
          turnId: turn.id,
          turn: { role: 'USER', content: `${content} again` },
        })
        return oracle.supersede(turn, id, tokenCount)
      }
      case 'history': {
        const participants = oracle.present()
        const by = oracle.isMembersOnly ? participants[op.pick % participants.length] : 'owner'
        if (by === undefined) return
        const update = { conversationId, actor: op.actor, historyVisibility: op.history }
        const updating = updateParticipant(deps, tenant.as(by), update)
        if (!oracle.wasParticipant(op.actor)) return expect(updating).rejects.toThrow(NotFound)
        expect((await updating).historyVisibility).toBe(op.history)
        return oracle.setHistory(op.actor, op.history)
      }
      case 'pin': {
        const turn = oracle.turns[op.pick % oracle.turns.length]
        if (!turn) return
        const pinning = pinTurn(deps, viewer, { turnId: turn.id })
        const seesIt = oracle.page(op.actor, true).includes(turn)
        if (!seesIt) return expect(pinning).rejects.toThrow(NotFound)
        if (!oracle.isParticipant(op.actor)) return expect(pinning).rejects.toThrow(NotAllowed)
        expect((await pinning).turn.id).toBe(
          oracle.page(op.actor).find(({ position }) => position === turn.position)!.id,
        )
        return oracle.pin(turn)
      }
      case 'read': {
        if (!oracle.isParticipant(op.actor)) return
        const seq = op.pick % (oracle.head + 1)
        await markRead(deps, viewer, { conversationId, seq })
        return oracle.markRead(op.actor, seq)
      }
    }
  }

  async function expectReads(
    tenant: Tenant,
    conversationId: string,
    oracle: ConversationOracle,
    name: string,
  ): Promise<void> {
    const { deps } = world
    const viewer = tenant.as(name)
    for (const includeSuperseded of [false, true]) {
      for (const end of [{ first: 200 }, { last: 200 }]) {
        const page = (await pageOfTurns(deps, viewer, [conversationId], { ...end, includeSuperseded })).get(
          conversationId,
        )!
        expect(
          page.items.map(({ id, status }) => [id, status]),
          `page of ${name}`,
        ).toEqual(oracle.page(name, includeSuperseded).map(({ id, status }) => [id, status]))
      }
    }
    const pinned = await pageOfTurns(deps, viewer, [conversationId], { first: 200, filter: { pinned: true } })
    expect(
      pinned.get(conversationId)!.items.map(({ id }) => id),
      `pinned turns for ${name}`,
    ).toEqual(oracle.page(name).flatMap((turn) => (turn.pinned ? [turn.id] : [])))
    const isSeen = oracle.seesConversation(name)
    expect((await getConversations(deps, viewer, [conversationId])).size, `conversation for ${name}`).toBe(
      Number(isSeen),
    )
    expect((await countOfTurns(deps, viewer, [conversationId])).get(conversationId), `count of ${name}`).toEqual(
      isSeen ? oracle.count(name) : undefined,
    )
    const found = await getTurns(
      deps,
      viewer,
      oracle.turns.map(({ id }) => id),
    )
    expect([...found.keys()].sort(), `turns ${name} finds by id`).toEqual(
      oracle
        .page(name, true)
        .map(({ id }) => id)
        .sort(),
    )
    const participants = ACTORS.filter((each) => oracle.wasParticipant(each))
    const requests = participants.map((each) => ({ conversationId, actor: each }))
    const unread = await getUnreadCounts(deps, viewer, requests)
    expect(unread, `unread counts as ${name} sees them`).toEqual(participants.map((each) => oracle.unread(name, each)))
    const listed = async (hasUnread: boolean) =>
      (await getConversationPage(deps, viewer, { filter: { hasUnread } })).items.some(({ id }) => id === conversationId)
    const hasUnread = oracle.wasParticipant(name) && oracle.unread(name, name) > 0
    expect([await listed(true), await listed(false)], `unread conversations of ${name}`).toEqual([
      hasUnread,
      !hasUnread && oracle.seesConversation(name),
    ])
  }

  /** Reads from the beginning as every viewer at once; deleting the conversation ends the streams. */
  async function expectEvents(tenant: Tenant, conversationId: string, oracle: ConversationOracle): Promise<void> {
    const outsiders = VIEWERS.filter((name) => !oracle.seesConversation(name))
    for (const name of outsiders) {
      await expect(readEventsOf(world.deps, tenant.as(name), { conversationId, afterSeq: 0 })).rejects.toThrow(NotFound)
    }
    const readings = await Promise.all(
      VIEWERS.filter(oracle.seesConversation).map(async (name) => {
        const events: unknown[] = []
        const enough = oracle.events(name).length
        const stream = await readEventsOf(world.deps, tenant.as(name), { conversationId, afterSeq: 0 })
        let reached = () => {}
        const caughtUp = new Promise<void>((resolve) => (reached = resolve))
        if (enough === 0) reached()
        const finished = (async () => {
          for await (const event of stream) {
            if (event.seq === null) continue
            const turn = event.type === 'TurnSuperseded' ? event.by : 'turn' in event ? event.turn : undefined
            events.push({ seq: event.seq, type: event.type, turn: turn?.id })
            if (events.length === enough) reached()
          }
        })()
        return { name, events, caughtUp, finished }
      }),
    )
    const timeout = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS).unref())
    await Promise.race([Promise.all(readings.map(({ caughtUp }) => caughtUp)), timeout])
    const by = oracle.isMembersOnly ? oracle.present()[0] : 'owner'
    // No actor may delete a MEMBERS conversation that all participants have left.
    if (by === undefined) await world.deps.db.of(SYSTEM).conversation.delete({ where: { id: conversationId } })
    await (by === undefined
      ? announceDeleted(world.deps, tenant.name, conversationId, [])
      : deleteConversation(world.deps, tenant.as(by), conversationId))
    for (const { name, events, finished } of readings) {
      await finished
      expect(events, `events of ${name}`).toEqual(oracle.events(name))
    }
  }
})
