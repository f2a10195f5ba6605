// A tool result must name the tool of the call that it answers, whether the turn is appended, edited or committed.

import { describe, expect, it } from 'vitest'
import { commitTurn } from '../../../src/domain/streaming-turn/stream.ts'
import { appendTurn, appendTurns, openTurn } from '../../../src/domain/turn/append.ts'
import type { PartInput } from '../../../src/domain/turn/content.ts'
import { supersedeTurn } from '../../../src/domain/turn/supersede.ts'
import { backends } from '../../support/backend.ts'
import { useWorld } from '../../support/world.ts'
import { WRITER } from '../../support/writer.ts'

const call = (callId: string, name = 'search') => ({ toolCall: { callId, name, arguments: {} } })
const result = (callId: string, name = 'search') => ({ toolResult: { callId, name, result: null } })
const OTHER = /has a result of "run" for the call "c1", which calls "search"/

describe.each(backends)('the name of a tool result on $name', (backend) => {
  const world = useWorld(backend)

  const start = async () => {
    const tenant = world.tenant()
    const viewer = tenant.as('bot')
    const conversationId = await tenant.newConversation('ada', { actor: 'bot', kind: 'AGENT' })
    const append = (...parts: PartInput[]) =>
      appendTurn(world.deps, viewer, { conversationId, turn: { role: 'ASSISTANT', parts } }).then(({ turn }) => turn)
    return { tenant, viewer, conversationId, append }
  }

  it('must equal that of the call, in the conversation, in the turn and in the batch', async () => {
    const { viewer, conversationId, append } = await start()
    await append(call('c1'))
    await expect(append(result('c1', 'run'))).rejects.toThrow(OTHER)
    expect((await append(result('c1'))).parts).toEqual([
      { type: 'toolResult', callId: 'c1', name: 'search', result: null },
    ])
    await expect(append(call('c2'), result('c2', 'run'))).rejects.toThrow(/turn\.parts: has a result of "run"/)
    const turns = [call('c3'), result('c3', 'run')].map((part) => ({ role: 'ASSISTANT' as const, parts: [part] }))
    await expect(appendTurns(world.deps, viewer, { conversationId, turns })).rejects.toThrow(/turns\.1\.parts: has/)
  })

  it('must equal that of the call in edits and at the end of streaming turns', async () => {
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

  it('may be that of any call with the same id, if the id was reused', async () => {
    const { append } = await start()
    await append(call('c1'))
    await append(result('c1'))
    await append(call('c1', 'run'))
    await append(result('c1', 'run'))
    await expect(append(result('c1', 'other'))).rejects.toThrow(/calls "(search|run)" or "(search|run)"/)
  })
})
