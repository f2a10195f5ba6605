// Streaming turns with an audience: their readers in other processes get every delta, and no message on the bus
// contains the text.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { backends } from '../../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { deltasOf, range, read, sawSeq, textOf } from '../../../../support/reading.ts'

const writerToken = 'the-writer-of-this-test'

describe.each(backends)('the text of a streaming turn on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process

  beforeAll(async () => {
    site = await openSite(backend)
    one = await site.start()
    other = await site.start()
  })
  afterAll(() => site.close())

  async function stream(audience: string[] | null) {
    const ada = newViewer()
    const actors = ['ada', 'bob', 'eve'].map((actor) => ({ actor }))
    const {
      conversation: { id: conversationId },
    } = await createConversation(one.deps, ada, { participants: actors })
    const publish = vi.spyOn(one.deps.bus, 'publish')
    const {
      turn: { id: turnId },
    } = await openTurn(one.deps, ada, { conversationId, writerToken, turn: { role: 'ASSISTANT', audience } })
    const [bob, eve] = await Promise.all(
      ['bob', 'eve'].map((actor) => read(other.deps, { ...ada, actor }, { conversationId, afterSeq: 0 })),
    )
    let text = ''
    for (const n of range(1, 20)) {
      text += `canary ${n} 😀 `
      await appendDelta(one.deps, ada, { turnId, writerToken, text: `canary ${n} 😀 ` })
    }
    // A surrogate pair in two deltas.
    text += '😀'
    await appendDelta(one.deps, ada, { turnId, writerToken, text: '\ud83d' })
    await appendDelta(one.deps, ada, { turnId, writerToken, text: '\ude00' })
    await bob!.until('the streamed text', () => textOf(bob!, turnId) === text)
    const { seq } = await commitTurn(one.deps, ada, { turnId, writerToken })
    await Promise.all([
      bob!.until('the end', sawSeq(seq + 1)),
      ...(audience ? [] : [eve!.until('the end', sawSeq(seq + 1))]),
    ])
    const messages = publish.mock.calls.map(([, message]) => message)
    publish.mockRestore()
    await Promise.all([bob!.stop(), eve!.stop()])
    return { turnId, bob: bob!, eve: eve!, messages, text }
  }

  it('reaches its audience whole, and no other participant', async () => {
    const { turnId, bob, eve, text } = await stream(['bob'])
    expect(textOf(bob, turnId)).toBe(text)
    expect(deltasOf(eve, turnId)).toEqual([])
    expect(JSON.stringify(eve.events)).not.toContain('canary')
  })

  it('is not in any message on the bus, which reports only that the text has grown', async () => {
    const { messages } = await stream(['bob'])
    expect(messages.filter((message) => message.includes('"text"')).length).toBeGreaterThan(5)
    expect(messages.join()).not.toContain('canary')
    expect(messages.join()).not.toContain('\\ude00')
  })

  it('is in the messages on the bus if the turn has no audience, so that readers need no database', async () => {
    const { turnId, eve, messages, text } = await stream(null)
    expect(messages.join()).toContain('canary')
    expect(textOf(eve, turnId)).toBe(text)
  })
})
