// A tool result names the turn, the callId and the tool of its call, whether its turn is appended, edited or committed.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import type { ContentPart, PartInput } from '../../../../../src/domain/turn/content.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { getTurns, type Turn } from '../../../../../src/domain/turn/turn.ts'
import { InvalidInput } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

const call = (callId: string, name = 'search') => ({ toolCall: { callId, name, arguments: {} } })
const result = (callId: string, name = 'search') => ({ toolResult: { callId, name, result: null } })
const OTHER = /has a result of "run" for the call "c1", which calls "search"/

describe.each(backends)('a tool result on $name', (backend) => {
  const world = useWorld(backend)

  const start = async () => {
    const tenant = world.tenant()
    const viewer = tenant.as('bot')
    const conversationId = await tenant.newConversation('ada', { actor: 'bot', kind: 'AGENT' })
    const append = (...parts: PartInput[]) =>
      appendTurn(world.deps, viewer, { conversationId, turn: { role: 'ASSISTANT', parts } }).then(({ turn }) => turn)
    return { tenant, viewer, conversationId, append }
  }

  it('must have the name of the call, in the conversation, in the turn and in the batch', async () => {
    const { viewer, conversationId, append } = await start()
    const { id: callTurnId, seq: callPosition } = await append(call('c1'))
    await expect(append(result('c1', 'run'))).rejects.toThrow(OTHER)
    expect((await append(result('c1'))).parts).toEqual([
      { type: 'toolResult', callId: 'c1', name: 'search', result: null, callTurnId, callPosition },
    ])
    await expect(append(call('c2'), result('c2', 'run'))).rejects.toThrow(/turn\.parts: has a result of "run"/)
    const turns = [call('c3'), result('c3', 'run')].map((part) => ({ role: 'ASSISTANT' as const, parts: [part] }))
    await expect(appendTurns(world.deps, viewer, { conversationId, turns })).rejects.toThrow(/turns\.1\.parts: has/)
  })

  it('must have the name of the call in edits and at the end of streaming turns', async () => {
    const { viewer, conversationId, append } = await start()
    await append(call('c1'))
    const answer = await append(result('c1'))
    const turn = { role: 'ASSISTANT' as const, parts: [result('c1', 'run')] }
    await expect(supersedeTurn(world.deps, viewer, { turnId: answer.id, turn })).rejects.toThrow(OTHER)
    const { turn: open } = await openTurn(world.deps, viewer, {
      conversationId,
      writerToken: WRITER,
      turn: { role: 'ASSISTANT' },
    })
    const commit = (name: string) =>
      commitTurn(world.deps, viewer, { turnId: open.id, writerToken: WRITER, parts: [result('c1', name)] })
    await expect(commit('run')).rejects.toThrow(OTHER)
    expect((await commit('search')).status).toBe('COMMITTED')
  })

  it("does not reveal a call outside the view of the result's author", async () => {
    const { tenant, conversationId, append } = await start()
    await tenant.append(conversationId, 'ada', 'psst', {
      content: null,
      parts: [call('c9', 'secret')],
      audience: ['ada'],
    })
    await expect(append(result('c9', 'run'))).rejects.toThrow(/which is not in the conversation/)
  })

  /** Returns, for each result in the stored parts of a turn, the id of the turn with its call. */
  const callsOf = ({ parts }: Turn) =>
    ((parts ?? []) as ContentPart[]).flatMap((part) => (part.type === 'toolResult' ? [part.callTurnId] : []))
  const of = (callTurnId: string, callId = 'c1') => ({
    toolResult: { callId, name: 'search', result: null, callTurnId },
  })

  /** Appends calls with the same id by the agents "bot" and "eve". `by` appends more turns, such as those of "hand". */
  const twoCalls = async () => {
    const { tenant, conversationId, append } = await start()
    const by = (actor: string, ...parts: PartInput[]) =>
      appendTurn(world.deps, tenant.as(actor), { conversationId, turn: { role: 'ASSISTANT', parts } }).then(
        ({ turn }) => turn,
      )
    const mine = await append(call('c1'))
    const hers = await by('eve', call('c1'))
    return { tenant, conversationId, by, mine, hers }
  }

  it('of one of two agents with the same callId must name the turn of its call', async () => {
    const { tenant, conversationId, by, mine, hers } = await twoCalls()
    const before = await tenant.lastSeq(conversationId)
    const ambiguous = await by('hand', result('c1')).catch((error: Error) => error)
    expect(ambiguous).toBeInstanceOf(InvalidInput)
    expect((ambiguous as Error).message).toBe(
      `turn.parts: answers tool call "c1", which several turns made. Set callTurnId to one of ${hers.id}, ${mine.id}.`,
    )
    expect(await tenant.lastSeq(conversationId)).toBe(before)
    const [toHers, toMine] = [await by('hand', of(hers.id)), await by('hand', of(mine.id))]
    expect([callsOf(toHers), callsOf(toMine)]).toEqual([[hers.id], [mine.id]])
    // A call that has a result stays a candidate, because the result might be sent again.
    await expect(by('hand', result('c1'))).rejects.toThrow('several turns made')
    const read = await getTurns(world.deps, tenant.as('eve'), [toHers.id, toMine.id])
    expect([toHers, toMine].map(({ id }) => callsOf(read.get(id)!))).toEqual([[hers.id], [mine.id]])
    expect(read.get(toMine.id)).toEqual(toMine)
  })

  it('of two agents with the same callId reaches the agent that made the call, in every context', async () => {
    const { tenant, conversationId, by, mine, hers } = await twoCalls()
    const answer = (turnId: string, value: string) =>
      by('hand', { toolResult: { callId: 'c1', name: 'search', result: value, callTurnId: turnId } })
    await answer(mine.id, 'for bot')
    await answer(hers.id, 'for eve')
    for (const as of ['bot', 'eve']) {
      const { messages } = await buildContext(world.deps, tenant.as(as), { conversationId, as, tokenBudget: 10_000 })
      const results = messages.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === 'toolResult' ? [part.result] : [])),
      )
      expect(results).toEqual([`for ${as}`])
    }
  })

  it('fails with an error that names only candidates in the view of its author', async () => {
    const { tenant, conversationId, append } = await start()
    await tenant.append(conversationId, 'ada', '', { content: null, parts: [call('c1')], audience: ['ada'] })
    const mine = await append(call('c1'))
    expect(callsOf(await append(result('c1')))).toEqual([mine.id])
    const hers = await tenant.append(conversationId, 'eve', '', { content: null, parts: [call('c1')] })
    const error = await append(result('c1')).catch((reason: Error) => reason.message)
    expect(error).toMatch(new RegExp(`one of ${hers.id}, ${mine.id}\\.$`))
  })

  it('for an id that one agent used twice answers the only call without a result', async () => {
    const { append } = await start()
    const [first, again] = [await append(call('c1')), await append(call('c1'))]
    await expect(append(result('c1'))).rejects.toThrow(`one of ${again.id}, ${first.id}.`)
    expect(callsOf(await append(of(first.id)))).toEqual([first.id])
    expect(callsOf(await append(result('c1')))).toEqual([again.id])
    const run = await append(call('c1', 'run'))
    expect(callsOf(await append(result('c1', 'run')))).toEqual([run.id])
    await expect(append(result('c1', 'other'))).rejects.toThrow(/calls "run" or "search"/)
  })

  it('is rejected if the named turn has no such call, is in another conversation, or is outside the view', async () => {
    const { tenant, viewer, conversationId, append } = await start()
    const [other, plain] = [await start(), await append({ text: 'no call' })]
    const elsewhere = await other.append(call('c1'))
    const hidden = await tenant.append(conversationId, 'ada', '', {
      content: null,
      parts: [call('c1')],
      audience: ['ada'],
    })
    await append(call('c1'))
    for (const { id } of [plain, elsewhere, hidden, { id: `turn_${'0'.repeat(26)}` }]) {
      await expect(append(of(id))).rejects.toThrow(`"c1" of turn ${id}, which is not in the conversation`)
    }
    await expect(append(of('conv_1'))).rejects.toThrow('is not the id of a turn')
    expect(viewer.actor).toBe('bot')
  })

  it('answers the same call in every version of its turn, and keeps it in an edit', async () => {
    const { viewer, append } = await start()
    const first = await append(call('c1'))
    const { turn: edited } = await supersedeTurn(world.deps, viewer, {
      turnId: first.id,
      turn: { role: 'ASSISTANT', parts: [{ text: 'Wait.' }, call('c1')] },
    })
    expect(callsOf(await append(result('c1')))).toEqual([edited.id])
    expect(callsOf(await append(of(first.id)))).toEqual([first.id])
    await append(call('c1'))
    const answer = await append(of(first.id))
    const { turn: corrected } = await supersedeTurn(world.deps, viewer, {
      turnId: answer.id,
      turn: { role: 'TOOL', parts: [{ toolResult: { callId: 'c1', name: 'search', result: 'corrected' } }] },
    })
    expect(callsOf(corrected)).toEqual([first.id])
  })

  it('in a batch answers the call in the batch, even if a part of the batch was sent before', async () => {
    const { tenant, viewer, conversationId, append } = await start()
    await append(call('c1'))
    const turn = (clientId: string, part: PartInput, actor = 'bot') => ({
      clientId,
      actor,
      role: 'ASSISTANT' as const,
      parts: [part],
    })
    const batch = async (...turns: ReturnType<typeof turn>[]) =>
      (await appendTurns(world.deps, viewer, { conversationId, turns })).turns
    const [stored] = await batch(turn('call', call('c1')))
    const [repeated, answer] = await batch(turn('call', call('c1')), turn('result', result('c1')))
    expect(repeated!.id).toBe(stored!.id)
    expect(callsOf(answer!)).toEqual([stored!.id])
    expect((await getTurns(world.deps, viewer, [answer!.id])).get(answer!.id)).toEqual(answer)
    const both = [turn('a', call('c2')), turn('b', call('c2'), 'ada'), turn('c', result('c2'))]
    await expect(batch(...both)).rejects.toThrow('turns.2.parts: answers tool call "c2", which several turns of this')
    const inOrder = await batch(turn('d', call('c3')), turn('e', result('c3')), turn('f', call('c3')))
    expect(callsOf(inOrder[1]!)).toEqual([inOrder[0]!.id])
    expect(tenant.name).toBe(viewer.tenant)
  })

  it('in the commit of a streaming turn names its call like any other', async () => {
    const { tenant, conversationId, mine, hers } = await twoCalls()
    const viewer = tenant.as('bot')
    const opening = { conversationId, writerToken: WRITER, turn: { role: 'TOOL' as const } }
    const { id: turnId } = (await openTurn(world.deps, viewer, opening)).turn
    const commit = (...parts: PartInput[]) => commitTurn(world.deps, viewer, { turnId, writerToken: WRITER, parts })
    await expect(commit(result('c1'))).rejects.toThrow(`one of ${hers.id}, ${mine.id}.`)
    const committed = await commit(of(hers.id), call('c7'), result('c7'))
    expect(callsOf(committed)).toEqual([hers.id, turnId])
  })
})
