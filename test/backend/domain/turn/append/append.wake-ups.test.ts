// The participants that turns mention and wake up, the answers that end wake-ups, and the loop guard.

import { describe, expect, it } from 'vitest'
import { updateConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { eraseTurn } from '../../../../../src/domain/trust/erasure/erase-turn.ts'
import { eraseUser } from '../../../../../src/domain/trust/erasure/erase-user.ts'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { updateParticipant } from '../../../../../src/domain/conversation/participant/update-participant.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import type { PartInput } from '../../../../../src/domain/turn/content.ts'
import { getTurns, type Turn } from '../../../../../src/domain/turn/turn.ts'
import { readJournal } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../../support/backend.ts'
import { read } from '../../../../support/reading.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const WRITER = 'the token of the writer'

describe.each(backends)('wake-ups on $name', (backend) => {
  const world = useWorld(backend)

  type WakeUp = { turnId: string; actor: string; position: number; answerId: string | null; dropped: string | null }
  const wakeUpsIn = async (conversationId: string): Promise<WakeUp[]> =>
    (
      await sql(world.deps.pool).query(
        `SELECT turn_id AS "turnId", actor, position, answer_id AS "answerId", dropped_reason AS dropped
         FROM wake_up WHERE conversation_id = $1 ORDER BY position, actor`,
        [conversationId],
      )
    ).rows
  /** The participants that the turn woke up. */
  const wokenBy = async ({ id, conversationId }: Turn) =>
    (await wakeUpsIn(conversationId)).filter(({ turnId }) => turnId === id).map(({ actor }) => actor)
  const pendingIn = async (conversationId: string) =>
    (await wakeUpsIn(conversationId)).filter(({ answerId, dropped }) => answerId === null && dropped === null)
  const kindsIn = async (tenant: Tenant, conversationId: string) =>
    (await readJournal(world.deps.pool, tenant.name, conversationId, { after: 0, limit: 1000 })).map(({ kind }) => kind)
  const agent = (actor: string, respond: 'MENTIONED' | 'ADDRESSED' | 'ALWAYS' | 'NEVER' = 'MENTIONED') => ({
    actor,
    respond,
    kind: 'AGENT' as const,
  })
  /** Writes a streaming turn, and commits or aborts it. */
  async function stream(tenant: Tenant, conversationId: string, actor: string, text: string, end: 'commit' | 'abort') {
    const viewer = tenant.as(actor)
    const turn = { role: 'ASSISTANT' as const }
    const { turn: opened } = await openTurn(world.deps, viewer, { conversationId, turn, writerToken: WRITER })
    const given = { turnId: opened.id, writerToken: WRITER }
    await appendDelta(world.deps, viewer, { ...given, text })
    return end === 'commit' ? commitTurn(world.deps, viewer, given) : abortTurn(world.deps, viewer, given)
  }

  describe('mentions', () => {
    it('are the present participants named in the text, in the order of their names', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation(
        'ann',
        'planner',
        { actor: 'user:7', displayName: 'Ada Lovelace' },
        'gone',
      )
      await removeParticipant(world.deps, tenant.as('gone'), { conversationId, actor: 'gone' })
      const text = 'Hi @"ada lovelace", @Planner, @nobody, @gone, @"Ada Lovelace" and ann@ann.example'
      const turn = await tenant.append(conversationId, 'ann', text)
      expect(turn.mentions).toEqual(['user:7', 'planner'])
      expect((await getTurns(world.deps, tenant.as('ann'), [turn.id])).get(turn.id)).toEqual(turn)
      expect((await tenant.append(conversationId, 'ann', 'no names')).mentions).toBeNull()
    })

    it.each([
      ['an actor before a display name', '@bob', ['bob']],
      ['a display name before other case', '@Sam', ['x']],
      ['an actor in other case before a display name in other case', '@BOB', ['bob']],
      ['nobody for two equal display names', '@"Twin"', null],
      ['nobody for two actors that differ in case', '@CASE', null],
      ['the exact one of two actors that differ in case', '@case', ['case']],
      ['letters beyond ASCII in other case', '@"ÄRGER"', ['z']],
    ])('name %s', async (_, text, mentions) => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation(
        { actor: 'bob', displayName: 'Robert' },
        { actor: 'thief', displayName: 'bob' },
        { actor: 'x', displayName: 'Sam' },
        { actor: 'y', displayName: 'sam' },
        { actor: 'z', displayName: 'Ärger' },
        { actor: 't1', displayName: 'Twin' },
        { actor: 't2', displayName: 'Twin' },
        'case',
        'Case',
      )
      expect((await tenant.append(conversationId, 'bob', text)).mentions).toEqual(mentions)
    })

    it('of a streaming turn are found on commit', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      expect((await stream(tenant, conversationId, 'ann', 'Over to @bob.', 'commit')).mentions).toEqual(['bob'])
      expect((await stream(tenant, conversationId, 'ann', 'Over to @bob.', 'abort')).mentions).toBeNull()
    })

    it('of an edit are those of the newer version', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob', 'eve')
      const older = await tenant.append(conversationId, 'ann', '@bob')
      const edit = { turnId: older.id, turn: { role: 'USER' as const, content: '@eve' } }
      const { turn: newer } = await supersedeTurn(world.deps, tenant.as('ann'), edit)
      expect(newer.mentions).toEqual(['eve'])
      expect((await getTurns(world.deps, tenant.as('ann'), [older.id])).get(older.id)?.mentions).toEqual(['bob'])
    })

    it('and wake-ups of an erased turn are deleted', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('bot'))
      const kept = await tenant.append(conversationId, 'ann', '@bot first')
      const { id: turnId } = await tenant.append(conversationId, 'ann', '@bot second')
      const edit = { turnId, turn: { role: 'USER' as const, content: '@bot third' } }
      const { turn: newer } = await supersedeTurn(world.deps, tenant.as('ann'), edit)
      await eraseTurn(world.deps, tenant.as('ann'), { turnId: newer.id })
      const turns = await getTurns(world.deps, tenant.as('ann'), [turnId, newer.id])
      expect([...turns.values()].map(({ mentions }) => mentions)).toEqual([null, null])
      expect((await wakeUpsIn(conversationId)).map((each) => each.turnId)).toEqual([kept.id])
      await deleteConversation(world.deps, tenant.as('owner'), conversationId)
      expect(await wakeUpsIn(conversationId)).toEqual([])
    })
  })

  describe('of a turn', () => {
    it('are written for the participants that respond to it', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation(
        'ann',
        agent('mentioned'),
        agent('addressed', 'ADDRESSED'),
        agent('always', 'ALWAYS'),
        agent('never', 'NEVER'),
      )
      const append = (content: string, more = {}) => tenant.append(conversationId, 'ann', content, more)
      expect(await wokenBy(await append('hello'))).toEqual(['always'])
      expect(await wokenBy(await append('@mentioned @addressed @never'))).toEqual(['addressed', 'always', 'mentioned'])
      expect(await wokenBy(await append('private', { audience: ['addressed', 'mentioned', 'never'] }))).toEqual([
        'addressed',
      ])
      const own = await tenant.append(conversationId, 'addressed', 'mine', { role: 'ASSISTANT' })
      expect(await wokenBy(own)).toEqual(['always'])
      expect(await wokenBy(await append('and?', { replyToId: own.id }))).toEqual(['addressed', 'always'])
      expect(await wokenBy(await append('a result', { role: 'TOOL' }))).toEqual([])
      expect(await wokenBy(await append('imported', { createdAt: new Date('2024-01-01') }))).toEqual([])
    })

    it('are written for participants that see it only, and never for its author', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('bot', 'ALWAYS'), agent('late', 'ALWAYS'))
      await removeParticipant(world.deps, tenant.as('late'), { conversationId, actor: 'late' })
      const viewer = tenant.as('ann')
      const turn = { role: 'USER' as const }
      const { turn: opened } = await openTurn(world.deps, viewer, { conversationId, turn, writerToken: WRITER })
      const late = { actor: 'late', historyVisibility: 'SINCE_JOINED' as const }
      await addParticipant(world.deps, viewer, { conversationId, participant: late })
      const given = { turnId: opened.id, writerToken: WRITER }
      await appendDelta(world.deps, viewer, { ...given, text: '@bot @late' })
      expect(await wokenBy(await commitTurn(world.deps, viewer, given))).toEqual(['bot'])
      expect(await wokenBy(await tenant.append(conversationId, 'ann', '@late', { audience: ['bot'] }))).toEqual(['bot'])
      expect(await wokenBy(await tenant.append(conversationId, 'bot', '@bot @late'))).toEqual(['late'])
    })

    it('are written on commit of a streaming turn, and not on abort', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('bot'))
      expect(await wokenBy(await stream(tenant, conversationId, 'ann', '@bot', 'commit'))).toEqual(['bot'])
      expect(await wokenBy(await stream(tenant, conversationId, 'ann', '@bot', 'abort'))).toEqual([])
    })

    it('are not written while its author waits for results of tool calls', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('bot', 'ALWAYS'), agent('other', 'ALWAYS'))
      const call = { toolCall: { callId: 'c1', name: 'search', arguments: {} } }
      const append = async (parts: PartInput[], role: 'ASSISTANT' | 'TOOL' = 'ASSISTANT') =>
        wokenBy(await tenant.append(conversationId, 'bot', '', { content: undefined, parts, role }))
      expect(await append([{ text: 'Let me look.' }, call])).toEqual([])
      const result = { toolResult: { callId: 'c1', name: 'search', result: 1 } }
      expect(await append([result], 'TOOL')).toEqual([])
      expect(await append([{ text: 'Found.' }])).toEqual(['other'])
      const other = { toolCall: { callId: 'c2', name: 'search', arguments: {} } }
      expect(await append([other, { toolResult: { callId: 'c2', name: 'search', result: 1 } }])).toEqual(['other'])
    })

    it('are written once for repeated appends, and not for edits', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('bot'), agent('eve'))
      const turn = await tenant.append(conversationId, 'ann', '@bot', { clientId: 'c' })
      expect((await tenant.append(conversationId, 'ann', '@bot', { clientId: 'c' })).id).toBe(turn.id)
      const edit = { turnId: turn.id, turn: { role: 'USER' as const, content: '@bot @eve' } }
      await supersedeTurn(world.deps, tenant.as('ann'), edit)
      expect(await wakeUpsIn(conversationId)).toEqual([
        { turnId: turn.id, actor: 'bot', position: turn.position, answerId: null, dropped: null },
      ])
    })

    it('are written for each conversation and turn of one batch', async () => {
      const tenant = world.tenant()
      const ids = await Promise.all([1, 2, 3].map(() => tenant.newConversation('ann', agent('bot'), 'bob')))
      const plain = await tenant.newConversation('ann', 'bot')
      await Promise.all([...ids, plain].flatMap((id) => [1, 2].map((n) => tenant.append(id, 'ann', `@bot ${n}`))))
      for (const id of ids) expect(await pendingIn(id)).toHaveLength(2)
      expect(await pendingIn(plain)).toEqual([])
    })

    it('need no count of agent turns in a conversation without responding participants', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('bot', 'NEVER'))
      const responding = async () =>
        (
          await sql(world.deps.pool).query('SELECT responding, agent_turns FROM journal WHERE conversation_id = $1', [
            conversationId,
          ])
        ).rows[0]
      await tenant.append(conversationId, 'bot', 'hi @ann')
      expect(await responding()).toEqual({ responding: false, agent_turns: 0 })
      const update = (respond: 'ALWAYS' | null) =>
        updateParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'bot', respond })
      await update('ALWAYS')
      await tenant.append(conversationId, 'bot', 'hi')
      expect(await responding()).toEqual({ responding: true, agent_turns: 1 })
      await update(null)
      expect(await responding()).toEqual({ responding: false, agent_turns: 0 })
    })
  })

  describe('end', () => {
    it('with a reply of the participant to any version of the turn, once it waits for no results', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('bot'), agent('eve'))
      const turn = await tenant.append(conversationId, 'ann', '@bot @eve')
      const edit = { turnId: turn.id, turn: { role: 'USER' as const, content: 'edited' } }
      const { turn: newer } = await supersedeTurn(world.deps, tenant.as('ann'), edit)
      const reply = (content: string, more = {}) =>
        tenant.append(conversationId, 'bot', content, { role: 'ASSISTANT', ...more })
      await reply('not a reply')
      const call = { toolCall: { callId: 'c1', name: 'search', arguments: {} } }
      await reply('', { content: undefined, parts: [call], replyToId: newer.id })
      expect((await pendingIn(conversationId)).map(({ actor }) => actor)).toEqual(['bot', 'eve'])
      const answer = await reply('done', { replyToId: newer.id })
      await reply('once more', { replyToId: turn.id })
      expect(await wakeUpsIn(conversationId)).toMatchObject([
        { actor: 'bot', answerId: answer.id },
        { actor: 'eve', answerId: null },
      ])
    })

    it('when the participant leaves, or no longer responds', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('bot'), agent('eve'), agent('max'))
      await tenant.append(conversationId, 'ann', '@bot @eve @max')
      await removeParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'bot' })
      await updateParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'eve', respond: 'NEVER' })
      await updateParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'max', respond: 'ALWAYS' })
      expect(await wakeUpsIn(conversationId)).toMatchObject([
        { actor: 'bot', dropped: 'LEFT' },
        { actor: 'eve', dropped: 'NO_LONGER_RESPONDS' },
        { actor: 'max', dropped: null },
      ])
    })

    it('when the participant is erased as a user, together with its agent settings', async () => {
      const tenant = world.tenant()
      const settings = { provider: 'echo', instructions: 'Ann lives in Bath.' }
      const conversationId = await tenant.newConversation('ann', { ...agent('bot', 'ALWAYS'), agent: settings })
      await tenant.append(conversationId, 'ann', 'hi')
      await eraseUser(world.deps, tenant.as('bot'), { userId: 'bot' })
      expect(await wakeUpsIn(conversationId)).toEqual([])
      const stored = await world.deps.db
        .of(tenant.name)
        .participant.findFirst({ where: { conversationId, actor: 'bot' } })
      expect(stored).toMatchObject({ respond: 'NEVER', agent: null })
    })
  })

  describe('the loop guard', () => {
    const talk = (tenant: Tenant, conversationId: string, actor: string, to: string) =>
      tenant.append(conversationId, actor, `@${to}`, { role: 'ASSISTANT' })

    it('stops waking up participants after maxAgentTurns turns of agents', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('a'), agent('b'))
      await updateConversation(world.deps, tenant.as('ann'), { conversationId, maxAgentTurns: 2 })
      await tenant.append(conversationId, 'ann', '@a go')
      const woken: string[][] = []
      for (const [actor, to] of [
        ['a', 'b'],
        ['b', 'a'],
        ['a', 'b'],
        ['b', 'nobody'],
        ['b', 'a'],
      ] as const) {
        woken.push(await wokenBy(await talk(tenant, conversationId, actor, to)))
      }
      expect(woken).toEqual([['b'], ['a'], [], [], []])
      expect((await kindsIn(tenant, conversationId)).slice(-8)).toEqual([
        'APPENDED',
        'APPENDED',
        'APPENDED',
        'APPENDED',
        'WAKE_UPS_STOPPED',
        'APPENDED',
        'APPENDED',
        'WAKE_UPS_STOPPED',
      ])
      expect(await wokenBy(await tenant.append(conversationId, 'ann', '@a again'))).toEqual(['a'])
      expect(await wokenBy(await talk(tenant, conversationId, 'a', 'b'))).toEqual(['b'])
    })

    it('counts the turns of one append in their order, also those of streaming turns', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('a'), agent('b'))
      await updateConversation(world.deps, tenant.as('ann'), { conversationId, maxAgentTurns: 1 })
      const turn = (actor: string, to: string) => ({ actor, role: 'ASSISTANT' as const, content: `@${to}` })
      const { turns, lastSeq } = await appendTurns(world.deps, tenant.as('ann'), {
        conversationId,
        turns: [turn('a', 'b'), turn('b', 'a'), { ...turn('ann', 'b'), role: 'USER' }, turn('b', 'a'), turn('a', 'b')],
      })
      expect(await Promise.all(turns.map(wokenBy))).toEqual([['b'], [], ['b'], ['a'], []])
      expect(lastSeq).toBe(await tenant.lastSeq(conversationId))
      expect((await kindsIn(tenant, conversationId)).slice(-2)).toEqual(['WAKE_UPS_STOPPED', 'WAKE_UPS_STOPPED'])
      expect(await wokenBy(await stream(tenant, conversationId, 'b', '@a', 'commit'))).toEqual([])
      expect((await kindsIn(tenant, conversationId)).slice(-2)).toEqual(['COMMITTED', 'WAKE_UPS_STOPPED'])
    })

    it('notifies the viewers of the turn, and no others', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', agent('a'), agent('b'), 'eve')
      await updateConversation(world.deps, tenant.as('ann'), { conversationId, maxAgentTurns: 0 })
      const types = ['TurnAppended' as const, 'WakeUpsStopped' as const]
      const live = await read(world.deps, tenant.as('ann'), { conversationId, types })
      const turn = await tenant.append(conversationId, 'a', '@b', { role: 'ASSISTANT', audience: ['b', 'ann'] })
      await live.until('both events', ({ events }) => events.length === 2)
      await tenant.append(conversationId, 'ann', 'end')
      for (const actor of ['ann', 'b', 'eve']) {
        const later = await read(world.deps, tenant.as(actor), { conversationId, afterSeq: 0, types })
        await later.until('the last turn', ({ events }) => events.some((e) => 'turn' in e && e.turn?.text === 'end'))
        const stopped = later.events.filter(({ type }) => type === 'WakeUpsStopped')
        expect({ actor, stopped }).toEqual({ actor, stopped: actor === 'eve' ? [] : [live.events[1]] })
        await later.stop()
      }
      expect(live.events[1]).toMatchObject({ type: 'WakeUpsStopped', seq: turn.seq + 1, turn: { id: turn.id } })
      await live.stop()
    })
  })
})
